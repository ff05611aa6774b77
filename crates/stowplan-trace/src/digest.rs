//! What the analysis needs of an event, taken out of its packet by the thread that decodes it.

use rustc_hash::FxHashSet;
use stowplan_ctf::metadata::{EnvValue, Metadata};
use stowplan_ctf::reader::Event;

use crate::ctf_classes::{Class, Said};

/// The event classes of one trace.
#[derive(Debug)]
pub(crate) struct Classes {
    /// Number of the process, where the trace has one process only.
    vpid: Option<i64>,
    classes: Vec<Class>,
}

/// Who recorded an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Who {
    /// Index of the trace.
    pub trace: u32,
    pub pid_namespace: Option<u64>,
    pub vpid: i64,
    pub vtid: i64,
}

/// An event without its packet.
#[derive(Debug)]
pub(crate) struct Digest {
    /// Index of the class in its trace.
    pub class: u32,
    pub who: Who,
    /// Name of the process or thread, with the first event of who recorded it.
    pub procname: Option<Box<str>>,
    pub said: Said,
}

/// Makes digests of the events of some streams.
#[derive(Debug, Clone)]
pub(crate) struct Digester<'c> {
    /// By trace.
    classes: &'c [Classes],
    /// By stream, who was last: mostly the next event is of the same thread.
    last: Vec<Option<Who>>,
    seen: FxHashSet<Who>,
}

impl Classes {
    /// `middleware`: whether events from inside the middleware are to be used.
    pub fn new(metadata: &Metadata, middleware: bool) -> Self {
        let classes = metadata.classes().iter();
        Self {
            vpid: match metadata.env("vpid") {
                Some(EnvValue::Int(vpid)) => Some(*vpid),
                _ => None,
            },
            classes: classes.map(|class| Class::new(class, middleware)).collect(),
        }
    }
}

impl<'c> Digester<'c> {
    /// `streams`: how many there are.
    pub fn new(classes: &'c [Classes], streams: usize) -> Self {
        Self {
            classes,
            last: vec![None; streams],
            seen: FxHashSet::default(),
        }
    }

    #[inline]
    pub fn digest(&mut self, event: &Event<'_>) -> Digest {
        let of = &self.classes[event.trace as usize];
        let class = &of.classes[event.class_index as usize];
        let vpid = event.vpid().or(of.vpid).unwrap_or(0);
        let who = Who {
            trace: event.trace,
            pid_namespace: class.pid_namespace.and_then(|field| event.u64(field)),
            vpid,
            vtid: event.vtid().unwrap_or(vpid),
        };
        let last = &mut self.last[event.stream as usize];
        let is_new = *last != Some(who) && {
            *last = Some(who);
            self.seen.insert(who)
        };
        let procname = is_new.then(|| event.procname()).flatten();
        Digest {
            class: event.class_index,
            who,
            procname: procname.map(Into::into),
            said: class.read(event),
        }
    }
}
