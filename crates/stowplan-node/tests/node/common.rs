//! A service folder with an agent that is nothing but a socket.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketAddrUnix, SocketFlags, SocketType, accept, bind,
    listen, recv, send, socket_with,
};
pub use stowplan_testkit::process_plan as process;
use stowplan_testkit::{callback_plan, node_plan, service_plan, timer_plan};
use stowplan_wire::announce::{Announcement, Control, MAX_PACKET};
use stowplan_wire::ring;
use stowplan_wire::service::*;

/// How long a test waits for something before it calls it a failure: a machine under load is slow,
/// never this slow.
const PATIENCE: Duration = Duration::from_secs(60);

/// A run folder, its launcher and the agent's side of the socket.
pub struct Service {
    pub folder: tempfile::TempDir,
    listener: OwnedFd,
    connections: Vec<OwnedFd>,
    pub launcher: Child,
    /// Everything announced so far.
    pub said: Vec<Announcement>,
}

impl Service {
    /// Starts a service.
    pub fn start(plan: &ServicePlan) -> Self {
        Self::start_with(plan, |_| {})
    }

    /// Starts a service whose folder was changed first.
    pub fn start_with(plan: &ServicePlan, change: impl FnOnce(&Path)) -> Self {
        let folder = tempfile::Builder::new()
            .prefix("stowplan-test-")
            .tempdir_in("/dev/shm")
            .unwrap();
        let path = folder.path();
        fs::write(path.join("plan.json"), serde_json::to_vec(plan).unwrap()).unwrap();
        fs::write(path.join("cyclonedds.xml"), include_str!("cyclonedds.xml")).unwrap();
        fs::create_dir(path.join("files")).unwrap();
        fs::write(path.join("files/lib"), vec![7; 100_000]).unwrap();
        for process in &plan.processes {
            let file = File::create(path.join(format!("{}.ring", process.name))).unwrap();
            file.set_len(ring::file_bytes(8 << 20)).unwrap();
        }
        change(path);
        let listener = socket_with(
            AddressFamily::UNIX,
            SocketType::SEQPACKET,
            SocketFlags::CLOEXEC,
            None,
        )
        .unwrap();
        bind(
            &listener,
            &SocketAddrUnix::new(path.join("announce.sock")).unwrap(),
        )
        .unwrap();
        listen(&listener, 64).unwrap();
        let launcher = Command::new(env!("CARGO_BIN_EXE_stowplan-node"))
            .arg("launch")
            .arg(path.join("plan.json"))
            .arg("--files")
            .arg(path.join("files"))
            .spawn()
            .unwrap();
        Self {
            folder,
            listener,
            connections: Vec::new(),
            launcher,
            said: Vec::new(),
        }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Listens until so many announcements meet the condition.
    pub fn until(&mut self, count: usize, met: impl Fn(&Announcement) -> bool) {
        let deadline = Instant::now() + PATIENCE;
        while self.said.iter().filter(|said| met(said)).count() < count {
            assert!(Instant::now() < deadline, "heard only {:#?}", self.said);
            self.listen();
        }
    }

    /// Takes in what is said, waiting for at most a second.
    pub fn listen(&mut self) {
        let mut fds = vec![PollFd::from_borrowed_fd(
            self.listener.as_fd(),
            PollFlags::IN,
        )];
        for connection in &self.connections {
            fds.push(PollFd::from_borrowed_fd(connection.as_fd(), PollFlags::IN));
        }
        let second = Timespec {
            tv_sec: 1,
            tv_nsec: 0,
        };
        poll(&mut fds, Some(&second)).unwrap();
        let ready: Vec<bool> = fds.iter().map(|fd| !fd.revents().is_empty()).collect();
        drop(fds);
        let mut ended = Vec::new();
        for (index, connection) in self.connections.iter().enumerate() {
            if !ready[index + 1] {
                continue;
            }
            let mut packet = vec![0; MAX_PACKET];
            let size = match recv(connection, &mut packet[..], RecvFlags::empty()) {
                Ok((size, _)) => size,
                // It ended without reading the last request; what it said before comes next.
                Err(rustix::io::Errno::CONNRESET) => continue,
                Err(error) => panic!("{error}"),
            };
            if size == 0 {
                ended.push(index);
            } else {
                self.said
                    .push(serde_json::from_slice(&packet[..size]).unwrap());
            }
        }
        for index in ended.into_iter().rev() {
            drop(self.connections.remove(index));
        }
        if ready[0] {
            self.connections.push(accept(&self.listener).unwrap());
        }
    }

    /// Tells everybody.
    pub fn tell(&self, control: &Control) {
        let packet = serde_json::to_vec(control).unwrap();
        for connection in &self.connections {
            send(connection, &packet, SendFlags::NOSIGNAL).unwrap();
        }
    }

    /// Waits for the launcher's end.
    pub fn wait(&mut self) -> ExitStatus {
        let deadline = Instant::now() + PATIENCE;
        loop {
            if let Some(status) = self.launcher.try_wait().unwrap() {
                // What was said before the end.
                while !self.connections.is_empty() {
                    self.listen();
                }
                return status;
            }
            assert!(Instant::now() < deadline, "the launcher does not end");
            self.listen();
        }
    }

    /// Counters of a process: recorded, discarded, published, taken.
    #[expect(clippy::type_complexity, reason = "four maps of a test")]
    pub fn counters(
        &self,
        name: &str,
    ) -> (
        &BTreeMap<String, u64>,
        &BTreeMap<String, u64>,
        &BTreeMap<u32, u64>,
        &BTreeMap<u32, u64>,
    ) {
        self.said
            .iter()
            .find_map(|said| match said {
                Announcement::Counters {
                    process,
                    recorded,
                    discarded,
                    published,
                    taken,
                    ..
                } if process == name => Some((recorded, discarded, published, taken)),
                _ => None,
            })
            .unwrap_or_else(|| panic!("no counters of {name} in {:#?}", self.said))
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        // A test that failed leaves nothing behind; one that passed has waited already.
        let _ended = self.launcher.kill();
        let _reaped = self.launcher.wait();
    }
}

/// Runs a service for a window and stops it.
pub fn measure(plan: &ServicePlan, window_ns: u64) -> Service {
    let mut service = Service::start(plan);
    let processes = plan.processes.len();
    service.until(1, |said| matches!(said, Announcement::Launched { .. }));
    service.until(processes, |said| {
        matches!(said, Announcement::Matched { .. })
    });
    let t_arm_ns = now() + 100_000_000;
    let t_disarm_ns = t_arm_ns + window_ns;
    service.tell(&Control::Arm {
        t_arm_ns,
        t_disarm_ns,
    });
    service.until(processes + 1, |said| {
        matches!(said, Announcement::Armed { .. })
    });
    let heard = service.said.len();
    while now() < t_disarm_ns {
        service.listen();
    }
    assert_eq!(service.said.len(), heard, "nothing is said while armed");
    service.tell(&Control::Stop);
    let status = service.wait();
    assert!(status.success(), "{status}");
    service
}

pub fn now() -> u64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    time.tv_sec.cast_unsigned() * 1_000_000_000 + time.tv_nsec.cast_unsigned()
}

pub fn constant(value: f64) -> DistributionPlan {
    DistributionPlan::Constant(value)
}

pub fn topic(name: &str) -> TopicPlan {
    TopicPlan {
        name: name.into(),
        bytes: constant(1_001.0),
        largest_replayed: 0,
        reliable: true,
        transient_local: false,
        depth: 5,
        intra_process: false,
        serialisation: None,
        dds: None,
        frames: None,
    }
}

pub fn timer(id: u32, period_ms: u64, publishes: &[(u32, u32, u32)], uses: &[u32]) -> CallbackPlan {
    let trigger = timer_plan(period_ms * 1_000_000, 1_000_000);
    callback(id, trigger, publishes, uses)
}

pub fn subscription(
    id: u32,
    topic: u32,
    expected_publishers: u32,
    publishes: &[(u32, u32, u32)],
) -> CallbackPlan {
    let trigger = TriggerPlan::Subscription {
        topic,
        expected_publishers,
    };
    callback(id, trigger, publishes, &[])
}

/// `publishes`: publisher id, topic, expected subscriptions.
fn callback(
    id: u32,
    trigger: TriggerPlan,
    publishes: &[(u32, u32, u32)],
    uses: &[u32],
) -> CallbackPlan {
    CallbackPlan {
        iterations: DistributionPlan::Uniform {
            low: 10_000.0,
            high: 100_000.0,
        },
        working_set_bytes: 4096,
        publishes: publishes
            .iter()
            .map(|&(id, topic, expected_subscriptions)| PublisherPlan {
                id,
                topic,
                expected_subscriptions,
            })
            .collect(),
        uses: uses.to_vec(),
        ..callback_plan(id, trigger)
    }
}

pub fn node(name: &str, callbacks: Vec<CallbackPlan>) -> NodePlan {
    NodePlan {
        files: vec![FileUse {
            path: "lib".into(),
            touched: 0.5,
            relocated_bytes: 4_096,
        }],
        start_iterations: 10_000,
        memory_bytes: 100_000,
        ..node_plan(name, callbacks)
    }
}

pub fn service(domain: u32, topics: Vec<TopicPlan>, processes: Vec<ProcessPlan>) -> ServicePlan {
    ServicePlan {
        domain,
        seed: 7,
        record_callback_cpu: true,
        launch: Some(LaunchPlan {
            start_iterations: 10_000,
            entity_iterations: 1_000,
            files: vec![FileUse {
                path: "lib".into(),
                touched: 1.0,
                relocated_bytes: 0,
            }],
            memory_bytes: 100_000,
        }),
        topics,
        processes,
        ..service_plan("test", "hello")
    }
}
