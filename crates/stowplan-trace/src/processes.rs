//! Which processes of several traces are one.
//!
//! Several sessions may record one process: ros2_tracing's dual session has one for what
//! a program says when it begins and one for the rest. A vpid does not tell whether two
//! traces speak of one process, because numbers are used again: by later processes, and in
//! every PID namespace. The rule, from certain to likely:
//!
//! 1. In parts of one trace ([`Metadata::is_same_trace`]: rotated chunks, snapshots) a PID
//!    namespace and vpid are one process.
//! 2. Processes of other hosts, other boots (the clock's uuid is that of the boot, and
//!    without one nothing is known), namespaces or vpids are others.
//! 3. Two traces of single processes (buffers per process) are of one if all that their
//!    metadata says of the process is equal: name, vpid and start. Buffers per user hold
//!    processes of that user and word size only.
//! 4. A main thread of another name is that of another process.
//! 5. A process whose first ROS event in a trace is its start (`ros2:rcl_init`, `stowplan:process_start`) is another
//!    one than a process that had started before; unless both recorded one start
//!    ([`Twice`](crate::repeats::Twice)).
//! 6. Else it is one. Where the two traces have no time in common that is a guess, which
//!    [`Repeats::guessed`](crate::Repeats::guessed) counts.

use std::collections::BTreeSet;

use rustc_hash::{FxHashMap, FxHashSet};
use stowplan_ctf::metadata::{EnvValue, Metadata};

use crate::analysis::Builder;
use crate::event::ProcessKey;
use crate::graph::EventKinds;
use crate::ids::ProcessId;

/// A trace as the home of processes; parts of one trace are one.
#[derive(Debug)]
struct Home {
    /// As [`ProcessKey::trace`].
    name: String,
    host: String,
    /// The clock's uuid: LTTng takes that of the boot.
    boot: Option<[u8; 16]>,
    buffers: Buffers,
    /// Names of its event classes.
    classes: BTreeSet<String>,
    /// Times of the first and last event.
    extent: Option<(i64, i64)>,
}

/// Whose events a trace holds.
#[derive(Debug, PartialEq, Eq)]
enum Buffers {
    /// Of one process: what the metadata says of it, and not of the session.
    Process(Vec<(String, EnvValue)>),
    /// Of one user's processes with one word size.
    User(Option<EnvValue>, Option<EnvValue>),
    /// It does not say.
    Unknown,
}

/// What LTTng says in the metadata of a process's own trace of when the process came.
const PROCESS_START: &str = "vpid_datetime";

/// Process of a home: its PID namespace and vpid.
type Number = (Option<u64>, i64);

/// A process in one home.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Local {
    pub process: ProcessId,
    /// Taken for a process of another home, unless its first ROS event here is its start.
    pub tentative: bool,
}

/// A process and the homes that have events of it.
#[derive(Debug)]
struct Known {
    process: ProcessId,
    homes: Vec<usize>,
}

/// Somebody who recorded.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Recorded<'a> {
    /// Index of the trace.
    pub trace: u32,
    pub number: Number,
    /// Name of the main thread, if it is the one that recorded.
    pub name: Option<&'a str>,
    /// Which kinds of events its trace has.
    pub kinds: EventKinds,
}

/// The processes of all traces.
#[derive(Debug, Default)]
pub(crate) struct Processes {
    homes: Vec<Home>,
    /// The home of each trace.
    home_of: Vec<usize>,
    locals: FxHashMap<(usize, Number), Local>,
    /// By their number, the latest last.
    known: FxHashMap<Number, Vec<Known>>,
    /// Those whose start a trace has.
    started: FxHashSet<ProcessId>,
}

impl Processes {
    /// The next trace. `name` is that of its folder; `part_of` an earlier trace of which it
    /// is a part.
    pub fn add(&mut self, name: &str, metadata: &Metadata, part_of: Option<usize>) {
        let classes = metadata.classes().iter().map(|class| class.name.clone());
        if let Some(first) = part_of {
            let home = self.home_of[first];
            self.home_of.push(home);
            self.homes[home].classes.extend(classes);
            return;
        }
        self.home_of.push(self.homes.len());
        let clock = metadata.clocks.first();
        self.homes.push(Home {
            name: name.to_owned(),
            host: metadata.env_text("hostname").unwrap_or_default().to_owned(),
            boot: clock.and_then(|clock| clock.uuid),
            buffers: Buffers::of(metadata),
            classes: classes.collect(),
            extent: None,
        });
    }

    /// The number of the trace that a trace is a part of.
    pub fn home(&self, trace: u32) -> usize {
        self.home_of[trace as usize]
    }

    /// Its name, as [`ProcessKey::trace`].
    pub fn name(&self, trace: u32) -> &str {
        &self.homes[self.home(trace)].name
    }

    /// The host of a trace, by its index.
    pub fn host(&self, trace: usize) -> &str {
        &self.homes[self.home_of[trace]].host
    }

    /// Whether another trace can have events of the same processes.
    pub fn may_share(&self, trace: u32) -> bool {
        self.relatives(self.home(trace)).next().is_some()
    }

    /// Whether another trace can have the same events of the same processes.
    pub fn may_repeat(&self, trace: u32) -> bool {
        let home = self.home(trace);
        let classes = &self.homes[home].classes;
        let mut relatives = self.relatives(home);
        relatives.any(|other| !classes.is_disjoint(&self.homes[other].classes))
    }

    /// Other homes that can have events of processes of this one.
    fn relatives(&self, home: usize) -> impl Iterator<Item = usize> {
        (0..self.homes.len()).filter(move |&other| other != home && self.can_be_one(home, other))
    }

    /// An event of the trace was at this time.
    #[inline]
    pub fn seen(&mut self, home: usize, time_ns: i64) {
        let extent = self.homes[home].extent.get_or_insert((time_ns, time_ns));
        extent.1 = time_ns;
    }

    /// What was known of a recorder's process so far.
    pub fn known(&self, recorded: &Recorded<'_>) -> Option<Local> {
        let place = (self.home(recorded.trace), recorded.number);
        self.locals.get(&place).copied()
    }

    /// The process of a recorder.
    pub fn of(&mut self, recorded: &Recorded<'_>, builder: &mut Builder) -> Local {
        let home = self.home(recorded.trace);
        let is_other = |local: &Local| {
            let known = &builder.graph().processes[local.process].name;
            let names = recorded.name.zip(known.as_deref());
            names.is_some_and(|(name, known)| name != known)
        };
        let known = match self.locals.get(&(home, recorded.number)) {
            Some(local) if !local.tentative || !is_other(local) => return *local,
            Some(_) => None,
            None => self.elsewhere(home, recorded.number),
        };
        match known.filter(|local| !is_other(local)) {
            Some(local) => {
                self.settle(home, recorded.number, local);
                builder.add_trace(local.process, &self.homes[home].name, recorded.kinds);
                local
            }
            None => self.another(recorded, builder),
        }
    }

    /// The start of a process is there.
    pub fn starts(&mut self, process: ProcessId) {
        self.started.insert(process);
    }

    /// The first ROS event of a tentative process in a trace is there: the process is
    /// another one than it was taken for if that is a start, and that one had started.
    pub fn decide(
        &mut self,
        recorded: &Recorded<'_>,
        is_start: bool,
        builder: &mut Builder,
    ) -> Option<Local> {
        let home = self.home(recorded.trace);
        let local = self.locals.get_mut(&(home, recorded.number))?;
        local.tentative = false;
        if is_start && self.started.contains(&local.process) {
            return Some(self.another(recorded, builder));
        }
        Some(*local)
    }

    /// A process that no other trace has.
    fn another(&mut self, recorded: &Recorded<'_>, builder: &mut Builder) -> Local {
        let home = self.home(recorded.trace);
        let process = builder.process(&self.key(home, recorded.number));
        builder.set_kinds(process, recorded.kinds);
        let local = Local {
            process,
            tentative: false,
        };
        self.settle(home, recorded.number, local);
        local
    }

    /// Processes that were taken for one though their homes have no time in common.
    pub fn guessed(&self) -> u64 {
        let apart = |a: usize, b: usize| match (self.homes[a].extent, self.homes[b].extent) {
            (Some(a), Some(b)) => a.1 < b.0 || b.1 < a.0,
            _ => false,
        };
        let guessed = self.known.values().flatten().filter(|known| {
            let homes = &known.homes;
            (1..homes.len()).any(|at| {
                let mut before = homes[..at].iter();
                before.all(|&other| apart(other, homes[at]) && !self.are_one(other, homes[at]))
            })
        });
        guessed.count() as u64
    }

    /// The latest process of this number in another home.
    fn elsewhere(&self, home: usize, number: Number) -> Option<Local> {
        // No process has number 0: the trace does not say whose the event is.
        let mut known = self
            .known
            .get(&number)
            .filter(|_| number.1 != 0)?
            .iter()
            .rev();
        let one = |other: &usize| *other != home && self.can_be_one(home, *other);
        let known = known.find(|known| known.homes.iter().any(one))?;
        let certain = known.homes.iter().any(|&other| self.are_one(home, other));
        Some(Local {
            process: known.process,
            tentative: !certain,
        })
    }

    /// Whether two homes are of one process by what their metadata says.
    fn are_one(&self, a: usize, b: usize) -> bool {
        let start = |env: &[(String, EnvValue)]| env.iter().any(|(name, _)| name == PROCESS_START);
        match (&self.homes[a].buffers, &self.homes[b].buffers) {
            (Buffers::Process(a), Buffers::Process(b)) => a == b && start(a),
            _ => false,
        }
    }

    /// Whether two homes can have events of one process.
    fn can_be_one(&self, a: usize, b: usize) -> bool {
        let [a, b] = [a, b].map(|home| &self.homes[home]);
        a.host == b.host
            && a.boot.is_some()
            && a.boot == b.boot
            && match (&a.buffers, &b.buffers) {
                (Buffers::Process(_), Buffers::Process(_))
                | (Buffers::User(..), Buffers::User(..)) => a.buffers == b.buffers,
                _ => true,
            }
    }

    fn key(&self, home: usize, (pid_namespace, vpid): Number) -> ProcessKey {
        ProcessKey {
            host: self.homes[home].host.clone(),
            trace: self.homes[home].name.clone(),
            pid_namespace,
            vpid,
        }
    }

    /// The process of a number in a home is this one from now on.
    fn settle(&mut self, home: usize, number: Number, local: Local) {
        self.locals.insert((home, number), local);
        let known = self.known.entry(number).or_default();
        known
            .iter_mut()
            .for_each(|known| known.homes.retain(|&other| other != home));
        match known
            .iter_mut()
            .find(|known| known.process == local.process)
        {
            Some(known) => known.homes.push(home),
            None => known.push(Known {
                process: local.process,
                homes: vec![home],
            }),
        }
    }
}

impl Buffers {
    fn of(metadata: &Metadata) -> Self {
        if metadata.env("vpid").is_some() {
            let of_session = |name: &str| name.starts_with("trace_") || name.starts_with("tracer_");
            let env = metadata.env.iter().filter(|(name, _)| !of_session(name));
            return Self::Process(env.cloned().collect());
        }
        let of = |name| metadata.env(name).cloned();
        match metadata.env_text("tracer_buffering_scheme") {
            Some("uid") => Self::User(of("tracer_buffering_id"), of("architecture_bit_width")),
            _ => Self::Unknown,
        }
    }
}
