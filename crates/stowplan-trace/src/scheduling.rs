//! What the kernel's scheduler did with the threads that run callbacks, from its events
//! `sched_switch`, `sched_wakeup`, `sched_wakeup_new` and `sched_waking` (`include/trace/events/sched.h`)
//! in a kernel trace beside that of ROS 2.
//!
//! A thread is *preempted* from a switch out while it could have gone on (`prev_state` 0) until its
//! next switch in, on whichever CPU. A call counts if the kernel's events cover it whole.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

use crate::callback_cpu::CallbackCpu;
use crate::distribution::Distribution;
use crate::durations::{Budget, Durations};
use crate::event::Switch;
use crate::ids::{CallbackId, ThreadId};

/// What the calls of a callback got of the CPUs.
#[derive(Debug, Clone, Default)]
pub struct Scheduled {
    /// CPU time of the calls.
    pub(crate) cpu: CallbackCpu,
    preempted: Durations,
    /// By the name of the thread that had the CPU meanwhile, nanoseconds of all calls.
    pub behind_ns: BTreeMap<String, u64>,
}

impl Scheduled {
    /// How long a call was preempted.
    #[must_use]
    pub fn preempted(&self) -> Option<Distribution> {
        self.preempted.clone().distribution()
    }
}

/// What a thread is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Running,
    Preempted,
    /// Asleep, or woken and not yet on a CPU.
    Away,
}

/// A thread as the kernel knows it.
#[derive(Debug)]
struct Task {
    state: State,
    since_ns: i64,
    cpu_ns: i64,
    preempted_ns: i64,
    /// Since the call that runs began, by name.
    behind_ns: FxHashMap<String, i64>,
}

impl Task {
    /// CPU time and time preempted until now.
    fn until(&self, now_ns: i64) -> (i64, i64) {
        let span = now_ns - self.since_ns;
        match self.state {
            State::Running => (self.cpu_ns + span, self.preempted_ns),
            State::Preempted => (self.cpu_ns, self.preempted_ns + span),
            State::Away => (self.cpu_ns, self.preempted_ns),
        }
    }

    fn become_(&mut self, state: State, now_ns: i64) {
        (self.cpu_ns, self.preempted_ns) = self.until(now_ns);
        (self.state, self.since_ns) = (state, now_ns);
    }
}

/// A CPU: who has it since when, and who waits for it though it could go on.
#[derive(Debug, Default)]
struct Cpu {
    holder: Option<(i64, String)>,
    since_ns: i64,
    preempted: Vec<i64>,
}

/// A call that runs.
#[derive(Debug)]
struct Call {
    callback: CallbackId,
    start_ns: i64,
    before: (i64, i64),
}

/// A call that has ended, and whose figures hold once a later event of the kernel is there.
#[derive(Debug)]
struct Ended {
    callback: CallbackId,
    cpu_ns: i64,
    preempted_ns: i64,
    behind_ns: FxHashMap<String, i64>,
}

/// A host whose kernel is traced.
#[derive(Debug)]
struct Host {
    /// From here on the trace has all that its scheduler did.
    whole_from_ns: i64,
    tasks: FxHashMap<i64, Task>,
    cpus: FxHashMap<u64, Cpu>,
    ended: Vec<Ended>,
}

/// The schedulers of all hosts.
#[derive(Debug, Default)]
pub(crate) struct Schedulers {
    hosts: FxHashMap<String, Host>,
    calls: FxHashMap<ThreadId, Vec<Call>>,
    found: FxHashMap<CallbackId, Scheduled>,
    budget: Budget,
}

impl Schedulers {
    /// Whether any kernel is traced.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.hosts.is_empty()
    }

    fn host(&mut self, name: &str, now_ns: i64) -> &mut Host {
        if !self.hosts.contains_key(name) {
            let host = Host {
                whole_from_ns: now_ns,
                tasks: FxHashMap::default(),
                cpus: FxHashMap::default(),
                ended: Vec::new(),
            };
            self.hosts.insert(name.to_owned(), host);
        }
        self.settle(name);
        self.hosts.get_mut(name).expect("it was inserted above")
    }

    /// An event of this kernel is there: what ended before it is whole.
    fn settle(&mut self, host: &str) {
        let Some(host) = self.hosts.get_mut(host) else {
            return;
        };
        for ended in host.ended.drain(..) {
            let found = self.found.entry(ended.callback).or_default();
            found
                .cpu
                .add(ended.cpu_ns.unsigned_abs(), 0, &mut self.budget);
            found.preempted.add(ended.preempted_ns, &mut self.budget);
            for (name, ns) in ended.behind_ns {
                *found.behind_ns.entry(name).or_default() += ns.unsigned_abs();
            }
        }
    }

    /// A CPU of a host goes from one thread to another.
    pub fn switch(&mut self, host: &str, now_ns: i64, switch: Switch<'_>) {
        self.host(host, now_ns).switch(now_ns, switch);
    }

    /// Another event of the scheduler.
    pub fn other(&mut self, host: &str, now_ns: i64) {
        self.host(host, now_ns);
    }

    /// Events of this kernel are missing until `to_ns`.
    pub fn lose(&mut self, host: &str, to_ns: i64) {
        if let Some(host) = self.hosts.get_mut(host) {
            host.whole_from_ns = to_ns;
            host.tasks.clear();
            host.cpus.clear();
            host.ended.clear();
        }
    }

    /// A callback starts on a thread of a host.
    pub fn start(
        &mut self,
        host: &str,
        (thread, tid): (ThreadId, i64),
        callback: CallbackId,
        now_ns: i64,
    ) {
        let Some(host) = self.hosts.get_mut(host) else {
            return;
        };
        let task = host.task(tid, now_ns);
        task.behind_ns.clear();
        let call = Call {
            callback,
            start_ns: now_ns,
            before: task.until(now_ns),
        };
        self.calls.entry(thread).or_default().push(call);
    }

    /// A callback ends on a thread of a host.
    pub fn end(
        &mut self,
        host: &str,
        (thread, tid): (ThreadId, i64),
        callback: CallbackId,
        now_ns: i64,
    ) {
        let (Some(host), Some(calls)) = (self.hosts.get_mut(host), self.calls.get_mut(&thread))
        else {
            return;
        };
        let Some(at) = calls.iter().rposition(|call| call.callback == callback) else {
            return;
        };
        let call = calls.swap_remove(at);
        calls.truncate(at);
        if call.start_ns < host.whole_from_ns {
            return;
        }
        let task = host.task(tid, now_ns);
        let (cpu_ns, preempted_ns) = task.until(now_ns);
        let behind_ns = std::mem::take(&mut task.behind_ns);
        host.ended.push(Ended {
            callback,
            cpu_ns: cpu_ns - call.before.0,
            preempted_ns: preempted_ns - call.before.1,
            behind_ns,
        });
    }

    /// What was found.
    pub fn finish(self) -> FxHashMap<CallbackId, Scheduled> {
        self.found
    }
}

impl Host {
    /// A thread that records something runs, whatever is known of it.
    fn task(&mut self, tid: i64, now_ns: i64) -> &mut Task {
        self.tasks.entry(tid).or_insert_with(|| Task {
            state: State::Running,
            since_ns: now_ns,
            cpu_ns: 0,
            preempted_ns: 0,
            behind_ns: FxHashMap::default(),
        })
    }

    fn switch(&mut self, now_ns: i64, switch: Switch<'_>) {
        self.tell_those_who_wait(switch.cpu, now_ns);
        if let Some(task) = self.tasks.get_mut(&switch.from) {
            let state = if switch.preempts {
                State::Preempted
            } else {
                State::Away
            };
            task.become_(state, now_ns);
        }
        let state = self.tasks.get(&switch.to).map(|task| task.state);
        if state == Some(State::Preempted) {
            self.stops_waiting(switch.to, switch.cpu, now_ns);
        }
        if let Some(task) = self.tasks.get_mut(&switch.to) {
            task.become_(State::Running, now_ns);
        }
        let cpu = self.cpus.entry(switch.cpu).or_default();
        if switch.preempts && self.tasks.contains_key(&switch.from) {
            cpu.preempted.push(switch.from);
        }
        cpu.holder = (switch.to != 0).then(|| (switch.to, switch.name.to_owned()));
        cpu.since_ns = now_ns;
    }

    /// It may have waited for another CPU than the one it gets.
    fn stops_waiting(&mut self, tid: i64, gets: u64, now_ns: i64) {
        let waited = |cpu: &Cpu| cpu.preempted.contains(&tid);
        let of = self.cpus.iter().find(|(_, cpu)| waited(cpu));
        let Some(number) = of.map(|(&number, _)| number) else {
            return;
        };
        if number != gets {
            self.tell_those_who_wait(number, now_ns);
        }
        if let Some(cpu) = self.cpus.get_mut(&number) {
            cpu.preempted.retain(|&waiting| waiting != tid);
        }
    }

    /// Those who wait for a CPU did so behind the one who has it.
    fn tell_those_who_wait(&mut self, cpu: u64, now_ns: i64) {
        let Some(cpu) = self.cpus.get_mut(&cpu) else {
            return;
        };
        let since_ns = std::mem::replace(&mut cpu.since_ns, now_ns);
        let Some((_, name)) = &cpu.holder else { return };
        for tid in &cpu.preempted {
            if let Some(task) = self.tasks.get_mut(tid) {
                let span = now_ns - since_ns.max(task.since_ns);
                *task.behind_ns.entry(name.clone()).or_default() += span.max(0);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::Id;

    const HOST: &str = "car";
    const TID: i64 = 7;

    struct Lab {
        schedulers: Schedulers,
        callback: CallbackId,
        thread: ThreadId,
    }

    impl Lab {
        fn new() -> Self {
            let mut schedulers = Schedulers::default();
            schedulers.other(HOST, 0);
            Self {
                schedulers,
                callback: CallbackId::new(0),
                thread: ThreadId::new(0),
            }
        }

        fn switch(&mut self, now_ns: i64, cpu: u64, from: i64, preempts: bool, to: (i64, &str)) {
            let switch = Switch {
                cpu,
                from,
                preempts,
                to: to.0,
                name: to.1,
            };
            self.schedulers.switch(HOST, now_ns, switch);
        }

        fn call(&mut self, from_ns: i64, within: impl FnOnce(&mut Self), to_ns: i64) {
            let at = (self.thread, TID);
            self.schedulers.start(HOST, at, self.callback, from_ns);
            within(self);
            self.schedulers.end(HOST, at, self.callback, to_ns);
        }

        fn found(self) -> Scheduled {
            self.schedulers
                .finish()
                .remove(&self.callback)
                .unwrap_or_default()
        }
    }

    #[test]
    fn a_call_has_cpu_time_is_preempted_and_sleeps() {
        let mut lab = Lab::new();
        lab.call(
            100,
            |lab| {
                // Preempted by the planner, then by the logger; back on another CPU.
                lab.switch(110, 0, TID, true, (8, "planner"));
                lab.switch(140, 0, 8, false, (9, "logger"));
                lab.switch(150, 1, 0, true, (TID, "filter"));
                // Asleep.
                lab.switch(160, 1, TID, false, (0, "swapper/1"));
                lab.switch(260, 1, 0, true, (TID, "filter"));
            },
            300,
        );
        lab.schedulers.other(HOST, 1000);
        let found = lab.found();
        assert_eq!((found.cpu.calls, found.cpu.cpu_ns), (1, 10 + 10 + 40));
        assert_eq!(found.preempted().map(|of| of.max_ns), Some(40));
        let behind: Vec<_> = found.behind_ns.into_iter().collect();
        assert_eq!(
            behind,
            [("logger".to_owned(), 10), ("planner".to_owned(), 30)]
        );
    }

    #[test]
    fn calls_that_the_kernels_events_do_not_cover_have_no_figures() {
        let mut before = Lab::new();
        before.schedulers.lose(HOST, 150);
        before.call(100, |_| {}, 200);
        before.schedulers.other(HOST, 1000);
        assert_eq!(before.found().cpu.calls, 0);

        let mut after = Lab::new();
        after.call(100, |_| {}, 200);
        assert_eq!(after.found().cpu.calls, 0);

        let mut none = Schedulers::default();
        none.start(HOST, (ThreadId::new(0), TID), CallbackId::new(0), 100);
        assert!(none.finish().is_empty());
    }

    #[test]
    fn a_call_inside_another_has_its_own_time() {
        let mut lab = Lab::new();
        let inner = CallbackId::new(1);
        let at = (lab.thread, TID);
        lab.call(
            100,
            |lab| {
                lab.schedulers.start(HOST, at, inner, 120);
                lab.schedulers.end(HOST, at, inner, 150);
            },
            200,
        );
        lab.schedulers.other(HOST, 1000);
        let found = lab.schedulers.finish();
        assert_eq!(found[&inner].cpu.cpu_ns, 30);
        assert_eq!(found[&CallbackId::new(0)].cpu.cpu_ns, 100);
    }
}
