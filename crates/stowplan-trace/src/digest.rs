//! What the analysis needs of an event, taken out of its packet by the thread that decodes it.

use rustc_hash::FxHashMap;
use stowplan_ctf::metadata::{EnvValue, Metadata};
use stowplan_ctf::reader::Event;

use crate::ctf_classes::{Class, EventFields};
use crate::new_recorder::{NewRecorder, Who};

/// The event classes of one trace.
#[derive(Debug)]
pub(crate) struct Classes {
    /// Number of the process, where the trace has one process only.
    vpid: Option<i64>,
    classes: Vec<Class>,
}

/// An event without its packet. It goes from one processor to another: the smaller, the faster.
#[derive(Debug)]
pub(crate) struct Digest {
    /// Index of the class in its trace.
    pub class: u32,
    /// Number of who recorded it, among those of its stream in the order in which they came.
    pub who: u32,
    pub said: EventFields,
}

/// Makes digests of the events of some streams.
#[derive(Debug, Clone)]
pub(crate) struct Digester<'c> {
    /// By trace.
    classes: &'c [Classes],
    /// By stream.
    recorders: Vec<Recorders>,
}

/// Who recorded a stream.
#[derive(Debug, Clone, Default)]
struct Recorders {
    /// Who was last: mostly the next event is of the same thread.
    last: Option<(Who, u32)>,
    numbers: FxHashMap<Who, u32>,
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
            recorders: vec![Recorders::default(); streams],
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
        let mut said = class.read(event);
        let recorders = &mut self.recorders[event.stream as usize];
        let who = match recorders.last {
            Some((last, number)) if last == who => number,
            _ => recorders.number(who, event, &mut said),
        };
        Digest {
            class: event.class_index,
            who,
            said,
        }
    }
}

impl Recorders {
    /// The number of who recorded an event.
    fn number(&mut self, who: Who, event: &Event<'_>, said: &mut EventFields) -> u32 {
        let next = self.numbers.len() as u32;
        let number = *self.numbers.entry(who).or_insert(next);
        if number == next {
            let procname = event.procname().map(Into::into);
            said.introduce(NewRecorder { who, procname });
        }
        self.last = Some((who, number));
        number
    }
}
