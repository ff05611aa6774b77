use std::net::{Ipv4Addr, SocketAddrV4};

use rustix::net::{AddressFamily, SocketType, bind, getsockname, listen, socket};
use stowplan_model::Name;
use stowplan_wire::deployment::{Access, IsolationPlan, ServiceStart};

use super::*;

fn service(ready: Ready) -> RealService {
    RealService {
        name: Name::new("pong").unwrap(),
        rootfs: None,
        image: None,
        mounts: Vec::new(),
        devices: Vec::new(),
        user: None,
        working_dir: None,
        command: vec!["pong".to_owned()],
        env: Vec::new(),
        publishes: Vec::new(),
        subscribes: Vec::new(),
        participants: 1,
        trace: false,
        ready,
        ready_timeout_ns: 5_000_000_000,
    }
}

fn event(kind: EngineEventKind, t_ns: u64) -> EngineEvent {
    EngineEvent {
        service: "pong".to_owned(),
        kind,
        t_ns,
        clock: String::new(),
    }
}

fn started(ready: Ready) -> RealServices {
    let mut real = RealServices::new(&[service(ready)], &[]);
    real.engine_event(&event(EngineEventKind::Started, 7))
        .unwrap();
    real
}

#[test]
fn one_that_is_ready_when_it_runs_is_ready_when_the_engine_says_so() {
    let real = started(Ready::Started);
    assert!(real.are_ready());
    assert_eq!(
        real.progress()["pong"],
        RealProgress {
            started_ns: Some(7),
            ready_ns: Some(7)
        }
    );
}

#[test]
fn one_that_is_ready_when_it_exits_may_exit_and_no_other() {
    let exited = |status| event(EngineEventKind::Exited(status), 9);
    let mut exits = started(Ready::Exit);
    assert!(!exits.are_ready());
    assert_eq!(exits.engine_event(&exited(0)).unwrap(), None);
    assert_eq!(exits.progress()["pong"].ready_ns, Some(9));
    assert!(exits.has_ended("pong"));
    let failed = started(Ready::Exit).engine_event(&exited(3)).unwrap_err();
    assert_eq!(failed.to_string(), "service 'pong' ended with status 3");

    let mut stays = started(Ready::Started);
    let odd = stays.engine_event(&exited(0)).unwrap().unwrap();
    assert_eq!(odd, "service 'pong' ended before the run did");
    let early = started(Ready::Port(1)).engine_event(&exited(0));
    assert_eq!(early.unwrap_err().what, "ended before it was ready");
    let killed = started(Ready::Port(1)).engine_event(&exited(139));
    assert_eq!(killed.unwrap_err().what, "was ended by signal 11");
}

#[test]
fn time_counts_from_the_start_and_for_topics_from_the_launch_of_the_partners() {
    let log = started(Ready::LogLine("up".to_owned()));
    assert!(log.must_be_looked_at());
    assert_eq!(log.overdue(5_000_000_007, None), None);
    let (fault, timeout) = log.overdue(5_000_000_008, None).unwrap();
    assert_eq!(fault.to_string(), "service 'pong' wrote no line with 'up'");
    assert_eq!(timeout, Duration::from_secs(5));

    let topic = started(Ready::TopicMatched("/x".to_owned()));
    assert_eq!(topic.overdue(u64::MAX, None), None);
    assert!(topic.overdue(5_000_000_008, Some(8)).is_none());
    assert!(topic.overdue(5_000_000_009, Some(8)).is_some());
}

#[test]
fn a_topic_is_matched_when_the_last_process_on_it_says_so() {
    let on: BTreeSet<_> = [("a", "p"), ("b", "q")]
        .map(|(s, p)| (s.to_owned(), p.to_owned()))
        .into();
    let said = |service: &str, process: &str, t_ns| Announced {
        host: "here".to_owned(),
        service: service.to_owned(),
        pid: 1,
        announcement: Announcement::Matched {
            process: process.to_owned(),
            endpoints: 1,
            t_ns,
        },
    };
    let mut announced = vec![said("a", "p", 40), said("a", "q", 50)];
    assert_eq!(last_matched(&on, &announced), None);
    announced.push(said("b", "q", 30));
    assert_eq!(last_matched(&on, &announced), Some(40));
}

#[test]
fn files_are_found_as_the_program_sees_them() {
    let own = std::process::id();
    assert!(file_exists(own, "/proc/self/status"));
    assert!(!file_exists(own, "/proc/self/no-such-file"));
}

#[test]
fn a_port_is_open_from_listen_on() {
    let own = std::process::id();
    // Bound without SO_REUSEADDR to all addresses, so nobody else listens on the port meanwhile.
    let socket = socket(AddressFamily::INET, SocketType::STREAM, None).unwrap();
    bind(&socket, &SocketAddrV4::new(Ipv4Addr::UNSPECIFIED, 0)).unwrap();
    let address = SocketAddrV4::try_from(getsockname(&socket).unwrap()).unwrap();
    assert!(!listens(own, address.port()));
    listen(&socket, 1).unwrap();
    assert!(listens(own, address.port()));
}

#[test]
fn only_sockets_that_listen_have_a_port() {
    let line = |state| format!("   0: 0100007F:1F90 00000000:0000 {state} 00000000:00000000 00:0");
    assert_eq!(listener(&line("0A")), Some(8080));
    assert_eq!(listener(&line("01")), None, "a connection");
    assert_eq!(listener("nonsense"), None);
}

#[test]
fn programs_get_the_domain_unless_the_stack_says_another() {
    let program = |env: &[(&str, &str)]| {
        ServiceStart::new(
            "pong",
            Program::Command {
                command: vec!["pong".to_owned()],
                env: env
                    .iter()
                    .map(|(k, v)| ((*k).into(), (*v).into()))
                    .collect(),
                rootfs: None,
                access: Access::default(),
            },
        )
    };
    let off = IsolationPlan::default();
    let mut deployment = DeploymentPlan {
        run: "r".to_owned(),
        run_dir: "/runs/r".to_owned(),
        variant: None,
        image_dir: String::new(),
        services: vec![program(&[]), program(&[("ROS_DOMAIN_ID", "7")])],
        isolation: off,
        parallelism: 0,
    };
    surround(&mut deployment, 120);
    let env = |index: usize| match &deployment.services[index].program {
        Program::Command { env, .. } => env.clone(),
        Program::Node => panic!("a node"),
    };
    let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    let uri = pair("CYCLONEDDS_URI", "file:///runs/r/pong/cyclonedds.xml");
    assert_eq!(env(0), [uri.clone(), pair("ROS_DOMAIN_ID", "120")]);
    assert_eq!(env(1), [pair("ROS_DOMAIN_ID", "7"), uri]);
}
