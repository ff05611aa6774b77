//! Round trips over the DDS path of the executor, without an executor: for comparison with `ddsperf`.
//!
//! As `ddsperf ping waitset` and `ddsperf pong waitset` do: a thread waits in a waitset, takes the message
//! and writes its answer; the next ping goes out when the answer is there. Or as its listener mode does.

mod listener;

use std::path::PathBuf;

use serde_json::{Value, json};

use crate::dds::{
    Durability, Guard, History, Hooks, Matching, Participant, Qos, Reader, Reliability, WaitSet,
    Writer,
};
use crate::error::NodeError;
use crate::payload::{HEAD_BYTES, Head, Origin, TYPE_NAME};
use crate::{dds, record};

/// Which side.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// Sends first and measures.
    Ping,
    /// Answers until it is ended.
    Pong,
}

/// How a side learns that a message has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wake {
    /// A thread of the program waits, as an executor of ROS 2 does.
    WaitSet,
    /// The library's receiving thread calls back.
    Listener,
}

/// Arguments of `pingpong`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PingPongArgs {
    /// Which side.
    pub role: Role,
    /// DDS domain.
    pub domain: u32,
    /// CycloneDDS configuration.
    pub config: PathBuf,
    /// Size of a serialised message in bytes, at least that of an empty one.
    pub bytes: usize,
    /// How long to measure.
    pub seconds: u64,
    /// Reliable instead of best effort.
    pub reliable: bool,
    /// How it learns of messages.
    pub wake: Wake,
}

/// Time after which a message counts as lost.
const LOST_NS: i64 = 1_000_000_000;

/// Time before the measurement, in which caches and clocks settle.
const WARM_UP_NS: u64 = 500_000_000;

/// Plays one side; what the measuring side found, as JSON.
///
/// # Errors
/// When CycloneDDS refuses, or the configuration cannot be read.
pub fn run(args: &PingPongArgs) -> Result<Option<Value>, NodeError> {
    let xml = std::fs::read_to_string(&args.config).map_err(|source| NodeError::Read {
        path: args.config.clone(),
        source,
    })?;
    let participant = Participant::new(args.domain, &xml, None)?;
    let path = Path::open(&participant, args)?;
    let result = match (args.role, args.wake) {
        (Role::Pong, Wake::WaitSet) => path.answer(),
        (Role::Ping, Wake::WaitSet) => path.measure(args).map(Some),
        (Role::Pong, Wake::Listener) => listener::answer(path),
        (Role::Ping, Wake::Listener) => listener::measure(path, args).map(Some),
    };
    participant.close();
    result
}

struct Path {
    writer: Writer,
    reader: Reader,
    waitset: WaitSet,
    matching: &'static Matching,
    buffer: Vec<u8>,
}

impl Path {
    fn open(participant: &Participant, args: &PingPongArgs) -> Result<Self, NodeError> {
        let qos = Qos {
            reliability: if args.reliable {
                Reliability::Reliable
            } else {
                Reliability::BestEffort
            },
            durability: Durability::Volatile,
            history: History::KeepLast(1),
            lifespan_ns: None,
            ignore_local: false,
            partition: None,
        };
        let (out, back) = match args.role {
            Role::Ping => ("rt/stowplan/ping", "rt/stowplan/pong"),
            Role::Pong => ("rt/stowplan/pong", "rt/stowplan/ping"),
        };
        let matching = Matching::leak().map_err(NodeError::system("watch for matches"))?;
        let hooks = || Some(Hooks::leak(matching, 0, 1));
        let topic = participant.topic(back, TYPE_NAME)?;
        let reader = Reader::new(participant, topic, &qos, hooks(), None)?;
        let topic = participant.topic(out, TYPE_NAME)?;
        let writer = Writer::new(participant, topic, &qos, hooks())?;
        let waitset = WaitSet::new(participant)?;
        // As ddsperf's waitset has its condition for the end.
        waitset.attach(Guard::new(participant)?.condition(), 0)?;
        waitset.attach(reader.condition(), 1)?;
        matching.seal();
        let filler = Head::padded(args.bytes.saturating_sub(HEAD_BYTES));
        Ok(Self {
            writer,
            reader,
            waitset,
            matching,
            buffer: vec![1; HEAD_BYTES + filler],
        })
    }

    fn answer(mut self) -> Result<Option<Value>, NodeError> {
        let mut held = [0; 2];
        loop {
            self.waitset.wait(&mut held, i64::MAX);
            self.answer_all()?;
        }
    }

    /// Sends back every message that has come.
    fn answer_all(&mut self) -> Result<(), NodeError> {
        while let Some(taken) = self.reader.take(&mut self.buffer)? {
            let message = &self.buffer[..taken.size.min(self.buffer.len())];
            let (head, filler) = message.split_at(HEAD_BYTES.min(message.len()));
            self.writer.write([head, filler], dds::time())?;
        }
        Ok(())
    }

    fn wait_for_match(&self) -> Result<(), NodeError> {
        let mut matched = [rustix::event::PollFd::from_borrowed_fd(
            self.matching.readable(),
            rustix::event::PollFlags::IN,
        )];
        crate::exec::control::wait(&mut matched, None)
    }

    /// Takes what has come; when the answer to this ping was among it.
    fn answer_to(&mut self, sequence: u64) -> Result<Option<u64>, NodeError> {
        let mut answered = None;
        while self.reader.take(&mut self.buffer)?.is_some() {
            let now = record::now();
            let head = Head::decode(&self.buffer);
            if head.is_some_and(|head| head.sequence == sequence) {
                answered = Some(now);
            }
        }
        Ok(answered)
    }

    fn measure(mut self, args: &PingPongArgs) -> Result<Value, NodeError> {
        self.wait_for_match()?;
        let mut times = Times::new(args.seconds);
        let mut held = [0; 2];
        times.sent(1, self.ping(1)?);
        while !times.are_complete() {
            self.waitset.wait(&mut held, LOST_NS);
            match self.answer_to(times.sequence)? {
                Some(now) => times.answered(now),
                None if times.is_late() => times.lost += 1,
                // An answer to a ping that was given up.
                None => continue,
            }
            let sequence = times.sequence + 1;
            times.sent(sequence, self.ping(sequence)?);
        }
        Ok(times.summary(args, self.buffer.len()))
    }

    /// Sends a ping; when.
    fn ping(&self, sequence: u64) -> Result<u64, NodeError> {
        let begin = record::now();
        let filler = &self.buffer[HEAD_BYTES..];
        let head = Head {
            stamp_ns: begin,
            origin: Origin::NONE,
            sequence,
            publisher: 0,
        };
        let head = head.encode(u32::try_from(filler.len()).unwrap_or(u32::MAX));
        self.writer.write([&head, filler], dds::time())?;
        Ok(begin)
    }
}

/// Round trips measured so far.
#[derive(Debug, Default)]
struct Times {
    measure_at_ns: u64,
    end_at_ns: u64,
    /// Number of the last ping, and when it was sent.
    sequence: u64,
    begin_ns: u64,
    round_trips_ns: Vec<u64>,
    lost: u64,
}

impl Times {
    fn new(seconds: u64) -> Self {
        let measure_at_ns = record::now() + WARM_UP_NS;
        Self {
            measure_at_ns,
            end_at_ns: measure_at_ns + seconds * 1_000_000_000,
            // Room for a round trip each microsecond would be far too much; for each four it is plenty.
            round_trips_ns: Vec::with_capacity(seconds as usize * 250_000 + 1),
            ..Self::default()
        }
    }

    fn sent(&mut self, sequence: u64, begin_ns: u64) {
        self.sequence = sequence;
        self.begin_ns = begin_ns;
    }

    fn answered(&mut self, now_ns: u64) {
        if self.begin_ns >= self.measure_at_ns {
            self.round_trips_ns.push(now_ns - self.begin_ns);
        }
    }

    fn are_complete(&self) -> bool {
        self.begin_ns >= self.end_at_ns
    }

    /// Whether the last ping counts as lost.
    fn is_late(&self) -> bool {
        record::now() >= self.begin_ns + LOST_NS.cast_unsigned()
    }

    fn summary(self, args: &PingPongArgs, bytes: usize) -> Value {
        let mut times = self.round_trips_ns;
        times.sort_unstable();
        let quantile = |share: f64| {
            let at = crate::draw::whole(share * times.len().saturating_sub(1) as f64);
            times
                .get(usize::try_from(at).unwrap_or(usize::MAX))
                .copied()
        };
        let mean = times.iter().sum::<u64>().checked_div(times.len() as u64);
        json!({
            "schema": "stowplan.pingpong/1",
            "bytes": bytes,
            "reliable": args.reliable,
            "wake": match args.wake {
                Wake::WaitSet => "waitset",
                Wake::Listener => "listener",
            },
            "round_trips": times.len(),
            "lost": self.lost,
            "round_trip_ns": {
                "mean": mean,
                "min": quantile(0.0),
                "q50": quantile(0.5),
                "q90": quantile(0.9),
                "q99": quantile(0.99),
                "max": quantile(1.0),
            },
        })
    }
}
