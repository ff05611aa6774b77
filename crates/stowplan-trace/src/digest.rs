//! What the analysis needs of an event, taken out of its packet by the thread that decodes it.

use std::sync::{Mutex, PoisonError};

use rustc_hash::{FxHashMap, FxHashSet};
use stowplan_ctf::metadata::{EnvValue, Metadata};
use stowplan_ctf::reader::{Event, EventMap};

use crate::ctf_classes::{Class, Depth, Provider, Publication, Said};
use crate::ctf_table::Needed;
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
    pub provider: Provider,
    pub said: Said,
    /// Who recorded it, with the first event of theirs in the stream.
    pub new_recorder: Option<Box<NewRecorder>>,
}

/// Makes digests of the events of some streams.
///
/// Half of what ROS 2 records says nothing here: such as that an executor waits. That is counted, and goes no further.
#[derive(Debug, Clone)]
pub(crate) struct Digester<'c> {
    /// By trace.
    classes: &'c [Classes],
    /// By stream.
    recorders: Vec<Recorders>,
    /// By trace and class: events that went no further.
    counts: Vec<Vec<u64>>,
    /// Where they are told at the end.
    counted: &'c Mutex<OnlyCounted>,
}

/// Events that were counted, and of which there is no digest.
#[derive(Debug, Default)]
pub(crate) struct OnlyCounted {
    /// Trace, class, and how many.
    pub by_class: Vec<(usize, usize, u64)>,
    /// Those of ROS 2 by stream and recorder: how many, and when the last of them was, nanoseconds since the epoch.
    pub by_recorder: Vec<(usize, usize, u64, i64)>,
}

/// Who recorded a stream.
#[derive(Debug, Clone, Default)]
struct Recorders {
    /// Who was last: mostly the next event is of the same thread.
    last: Option<Last>,
    numbers: FxHashMap<Who, u32>,
    /// By number.
    of: Vec<OfRecorder>,
    /// Class, number of the recorder and first field of events of which the first of each is needed.
    used: FxHashSet<(u32, u32, u64)>,
}

/// Who was last.
#[derive(Debug, Clone, Copy)]
struct Last {
    who: Who,
    number: u32,
    /// As [`Event::recorder`] has it, where nothing else is needed to know them again.
    short: Option<u64>,
}

/// What a stream has of a recorder.
#[derive(Debug, Clone, Copy, Default)]
struct OfRecorder {
    /// There is a digest of an event of ROS 2.
    is_known: bool,
    /// The event before handed a message to the middleware: when the next one was tells how long that took.
    publishes: bool,
    only_counted: u64,
    last_ns: i64,
}

impl Classes {
    /// `middleware`: whether events from inside the middleware are to be used.
    pub fn new(metadata: &Metadata, middleware: bool, depth: Depth) -> Self {
        let classes = metadata.classes().iter();
        Self {
            vpid: match metadata.env("vpid") {
                Some(EnvValue::Int(vpid)) => Some(*vpid),
                _ => None,
            },
            classes: classes
                .map(|class| Class::new(class, middleware, depth))
                .collect(),
        }
    }

    #[inline]
    fn who(&self, class: &Class, event: &Event<'_>) -> Who {
        let vpid = event.vpid().or(self.vpid).unwrap_or(0);
        Who {
            trace: event.trace,
            pid_namespace: class.pid_namespace.and_then(|field| event.u64(field)),
            vpid,
            vtid: event.vtid().unwrap_or(vpid),
        }
    }
}

impl<'c> Digester<'c> {
    /// `streams`: how many there are.
    pub fn new(classes: &'c [Classes], streams: usize, counted: &'c Mutex<OnlyCounted>) -> Self {
        let counts = classes.iter().map(|of| vec![0; of.classes.len()]);
        Self {
            classes,
            recorders: vec![Recorders::default(); streams],
            counts: counts.collect(),
            counted,
        }
    }
}

impl EventMap for Digester<'_> {
    type Made = Digest;

    #[inline]
    fn keeps(&mut self, event: &Event<'_>) -> bool {
        let of = &self.classes[event.trace as usize];
        let class = &of.classes[event.class_index as usize];
        if class.needed == Needed::All {
            return true;
        }
        if class.provider == Provider::Ros {
            let recorders = &mut self.recorders[event.stream as usize];
            let short = class.short_recorder(event);
            let number = recorders.last_again(short, event.trace);
            let Some(number) = number.or_else(|| recorders.known(of.who(class, event), short))
            else {
                return true;
            };
            if class.needed == Needed::FirstOfEach
                && let Some(first) = class.first_number(event)
                && recorders.used.insert((event.class_index, number, first))
            {
                return true;
            }
            let of = &mut recorders.of[number as usize];
            if !of.is_known || std::mem::take(&mut of.publishes) {
                return true;
            }
            of.only_counted += 1;
            of.last_ns = event.timestamp_ns;
        }
        self.counts[event.trace as usize][event.class_index as usize] += 1;
        false
    }

    #[inline]
    fn map(&mut self, event: &Event<'_>) -> Digest {
        let of = &self.classes[event.trace as usize];
        let class = &of.classes[event.class_index as usize];
        let recorders = &mut self.recorders[event.stream as usize];
        let short = class.short_recorder(event);
        let (who, new_recorder) = match recorders.last_again(short, event.trace) {
            Some(number) => (number, None),
            None => recorders.number(of.who(class, event), short, event),
        };
        if class.provider == Provider::Ros
            && let Some(of) = recorders.of.get_mut(who as usize)
        {
            of.is_known = true;
            match class.publication {
                Publication::Begins => of.publishes = true,
                Publication::GoesOn => {}
                Publication::IsOver => of.publishes = false,
            }
        }
        Digest {
            class: event.class_index,
            who,
            provider: class.provider,
            said: class.read(event),
            new_recorder,
        }
    }

    fn end(&mut self) {
        let mut all = self.counted.lock().unwrap_or_else(PoisonError::into_inner);
        for (trace, counts) in self.counts.iter_mut().enumerate() {
            let counts = counts.iter_mut().enumerate();
            let counted = counts.filter(|(_, count)| **count > 0);
            let by_class = counted.map(|(class, count)| (trace, class, std::mem::take(count)));
            all.by_class.extend(by_class);
        }
        for (stream, recorders) in self.recorders.iter_mut().enumerate() {
            let of = recorders.of.iter_mut().enumerate();
            let counted = of.filter(|(_, of)| of.only_counted > 0);
            let by_recorder = counted.map(|(who, of)| {
                let count = std::mem::take(&mut of.only_counted);
                (stream, who, count, of.last_ns)
            });
            all.by_recorder.extend(by_recorder);
        }
    }
}

impl Recorders {
    /// The number of who was last, if that is who recorded an event again.
    #[inline]
    fn last_again(&self, short: Option<u64>, trace: u32) -> Option<u32> {
        let last = self.last.as_ref()?;
        let again = short.is_some() && last.short == short && last.who.trace == trace;
        again.then_some(last.number)
    }

    /// The number of a recorder, if a digest was made of an event of theirs.
    fn known(&mut self, who: Who, short: Option<u64>) -> Option<u32> {
        let number = match self.last {
            Some(last) if last.who == who => last.number,
            _ => *self.numbers.get(&who)?,
        };
        self.last = Some(Last { who, number, short });
        Some(number)
    }

    /// The number of who recorded an event, and who that is, if it is the first of theirs.
    fn number(
        &mut self,
        who: Who,
        short: Option<u64>,
        event: &Event<'_>,
    ) -> (u32, Option<Box<NewRecorder>>) {
        if let Some(number) = self.known(who, short) {
            return (number, None);
        }
        let number = self.numbers.len() as u32;
        self.numbers.insert(who, number);
        self.last = Some(Last { who, number, short });
        self.of.push(OfRecorder::default());
        let procname = event.procname().map(Into::into);
        (number, Some(Box::new(NewRecorder { who, procname })))
    }
}
