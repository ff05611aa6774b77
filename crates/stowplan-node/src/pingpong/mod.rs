//! Round trips over the DDS path of the executor, without an executor: for comparison with `ddsperf`.
//!
//! As `ddsperf ping waitset` and `ddsperf pong waitset` do: a thread waits in a waitset, takes the message
//! and writes its answer; the next ping goes out when the answer is there. Or as its listener mode does.

mod listener;

use std::path::PathBuf;
use std::time::Duration;

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

/// Time before the measurement, in which caches, clocks and the places of threads settle.
const WARM_UP: Duration = Duration::from_millis(500);

/// Plays one side; what the measuring side found, as JSON.
///
/// # Errors
/// When CycloneDDS refuses, or the configuration cannot be read.
pub fn run(args: &PingPongArgs) -> Result<Option<Value>, NodeError> {
    let participant = participant(args.domain, &args.config)?;
    let path = Path::open(&participant, args.role, args.reliable, args.bytes)?;
    let result = match (args.role, args.wake) {
        (Role::Pong, Wake::WaitSet) => path.answer(),
        (Role::Ping, Wake::WaitSet) => path.measure(args).map(Some),
        (Role::Pong, Wake::Listener) => listener::answer(path),
        (Role::Ping, Wake::Listener) => listener::measure(path, args).map(Some),
    };
    participant.close();
    result
}

/// Round trips of messages of one size.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RoundTrips {
    /// Size of a serialised message.
    pub bytes: usize,
    /// Round trips that came to their end.
    pub round_trips: u64,
    /// Time in which they were made, ns.
    pub ns: u64,
    /// Mean, ns; none where there are none.
    pub mean_ns: Option<f64>,
    /// Messages that were given up.
    pub lost: u64,
}

/// Measures reliable messages of each of these sizes for about the given time against a `pong` that takes the largest.
///
/// # Errors
/// When CycloneDDS refuses, or the configuration cannot be read.
pub fn series(
    domain: u32,
    config: &std::path::Path,
    sizes: &[usize],
    time: Duration,
) -> Result<Vec<RoundTrips>, NodeError> {
    let participant = participant(domain, config)?;
    let most = sizes.iter().copied().max().unwrap_or(0);
    let mut path = Path::open(&participant, Role::Ping, true, most)?;
    path.wait_for_match()?;
    let mut sequence = 0;
    let mut all = Vec::new();
    for bytes in sizes {
        path.buffer.resize(message_bytes(*bytes), 1);
        // Before the first size all that settles only once; before the others what a size has of its own, its buffers.
        let warm_up = if sequence == 0 { WARM_UP } else { time / 5 };
        let times = Times::new(warm_up, time, sequence);
        let times = path.round_trips(times)?;
        sequence = times.sequence;
        all.push(times.of_size(*bytes));
    }
    drop(path);
    participant.close();
    Ok(all)
}

fn participant(domain: u32, config: &std::path::Path) -> Result<Participant, NodeError> {
    let xml = std::fs::read_to_string(config).map_err(|source| NodeError::Read {
        path: config.to_owned(),
        source,
    })?;
    Ok(Participant::new(domain, &xml, None)?)
}

/// What a message of so many bytes has in its buffer.
fn message_bytes(bytes: usize) -> usize {
    HEAD_BYTES + Head::padded(bytes.saturating_sub(HEAD_BYTES))
}

struct Path {
    writer: Writer,
    reader: Reader,
    waitset: WaitSet,
    matching: &'static Matching,
    buffer: Vec<u8>,
}

impl Path {
    fn open(
        participant: &Participant,
        role: Role,
        reliable: bool,
        bytes: usize,
    ) -> Result<Self, NodeError> {
        let qos = Qos {
            reliability: if reliable {
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
        let (out, back) = match role {
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
        Ok(Self {
            writer,
            reader,
            waitset,
            matching,
            buffer: vec![1; message_bytes(bytes)],
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
        let times = self.round_trips(Times::of(args))?;
        Ok(times.summary(args, self.buffer.len()))
    }

    /// Pings until the time is over.
    fn round_trips(&mut self, mut times: Times) -> Result<Times, NodeError> {
        let mut held = [0; 2];
        let first = times.sequence + 1;
        times.sent(first, self.ping(first)?);
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
        Ok(times)
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
    fn of(args: &PingPongArgs) -> Self {
        let time = Duration::from_secs(args.seconds);
        Self::new(WARM_UP, time, 0)
    }

    /// Begins after the warm-up, with the message that follows `sequence`.
    fn new(warm_up: Duration, time: Duration, sequence: u64) -> Self {
        let ns = |duration: Duration| u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX);
        let measure_at_ns = record::now() + ns(warm_up);
        // Room for a round trip each microsecond would be far too much; for each four it is plenty.
        let most = usize::try_from(time.as_micros() / 4).unwrap_or(0);
        Self {
            measure_at_ns,
            end_at_ns: measure_at_ns + ns(time),
            sequence,
            round_trips_ns: Vec::with_capacity(most + 1),
            ..Self::default()
        }
    }

    fn of_size(self, bytes: usize) -> RoundTrips {
        let ns: u64 = self.round_trips_ns.iter().sum();
        let count = self.round_trips_ns.len() as u64;
        RoundTrips {
            bytes,
            round_trips: count,
            ns,
            mean_ns: (count > 0).then(|| ns as f64 / count as f64),
            lost: self.lost,
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

    /// Whether the time is over, and some message came back or was given up in it.
    fn are_complete(&self) -> bool {
        let has_ended = !self.round_trips_ns.is_empty() || self.lost > 0;
        self.begin_ns >= self.end_at_ns && has_ended
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
