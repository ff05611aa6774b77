//! Which chains are offered where nobody named one.

use crate::ids::CallbackId;
use crate::scripted::{At, NodeAt, Script, Sub};
use crate::{Address, FoundChain, Overview};

const MS: i64 = 1_000_000;

/// Nodes that send each other messages, each in a process of its own.
struct System {
    script: Script,
    processes: i64,
    stamp: i64,
}

impl System {
    fn new() -> Self {
        Self {
            script: Script::new(),
            processes: 0,
            stamp: 0,
        }
    }

    fn process(&mut self) -> At {
        self.processes += 1;
        self.script.process(self.processes)
    }

    fn node(&mut self, name: &'static str) -> NodeAt {
        let at = self.process();
        self.script.node(at, name)
    }

    /// A call of a timer that publishes, and of the subscriptions that take the message, 1 ms later; a subscription
    /// may publish to others.
    fn send(&mut self, start: i64, from: (NodeAt, Address, Address), to: &[(NodeAt, Sub)]) {
        self.stamp += 1;
        let (node, callback, publisher) = from;
        self.script.start(start, node.at, callback);
        let stamp = Some(self.stamp);
        self.script
            .publish(start + MS / 10, node.at, publisher, stamp);
        self.script.end(start + MS / 2, node.at, callback);
        for (node, sub) in to {
            let begin = start + MS;
            self.script
                .receive(begin, begin + MS / 10, node.at, *sub, self.stamp);
        }
    }

    /// As [`send`](Self::send), from inside of the callback of a message.
    fn forward(&mut self, start: i64, from: (NodeAt, Sub, Address), heard: i64, to: (NodeAt, Sub)) {
        self.stamp += 1;
        let (node, sub, publisher) = from;
        self.script.take(start - 5, node.at, sub, heard);
        self.script.start(start, node.at, sub.callback);
        let stamp = Some(self.stamp);
        self.script
            .publish(start + MS / 10, node.at, publisher, stamp);
        self.script.end(start + MS / 2, node.at, sub.callback);
        let begin = start + MS;
        self.script
            .receive(begin, begin + MS / 10, to.0.at, to.1, self.stamp);
    }
}

/// Callbacks of a chain in words.
fn words(overview: &Overview, found: &FoundChain) -> Vec<String> {
    let word = |&id: &CallbackId| overview.graph.describe(id);
    found.chain.callbacks.iter().map(word).collect()
}

fn offered(overview: &Overview) -> Vec<Vec<String>> {
    let found = overview.longest_chains(10);
    found.iter().map(|one| words(overview, one)).collect()
}

/// camera → /image → planner, whose timer publishes /out → actuator; server → /raw → loader → /map → planner, ten
/// messages in half a minute.
#[test]
fn what_a_node_rarely_hears_is_no_data_of_its_timers() {
    let mut s = System::new();
    let (camera, planner, actuator) = (s.node("camera"), s.node("planner"), s.node("actuator"));
    let (server, loader) = (s.node("server"), s.node("loader"));
    let shutter = s.script.timer(camera, 100 * MS, "shutter");
    let image = s.script.publisher(camera, "/image");
    let on_image = s.script.subscription(planner, "/image", "on_image");
    let on_map = s.script.subscription(planner, "/map", "on_map");
    let tick = s.script.timer(planner, 100 * MS, "tick");
    let out = s.script.publisher(planner, "/out");
    let on_out = s.script.subscription(actuator, "/out", "on_out");
    let serve = s.script.timer(server, 100 * MS, "serve");
    let raw = s.script.publisher(server, "/raw");
    let on_raw = s.script.subscription(loader, "/raw", "on_raw");
    let map = s.script.publisher(loader, "/map");
    for round in 0..20 {
        let start = round * 1_500 * MS;
        s.send(start, (camera, shutter, image), &[(planner, on_image)]);
        s.send(start + 5 * MS, (planner, tick, out), &[(actuator, on_out)]);
        if round % 2 == 0 {
            s.send(start + 10 * MS, (server, serve, raw), &[]);
            let heard = s.stamp;
            s.forward(
                start + 12 * MS,
                (loader, on_raw, map),
                heard,
                (planner, on_map),
            );
        }
    }
    let overview = s.script.overview();
    assert_eq!(
        offered(&overview),
        [
            // As many messages as the other, and no timer between them.
            vec![
                "/server timer 100000000 ns",
                "/loader subscription /raw",
                "/planner subscription /map",
            ],
            vec![
                "/camera timer 100000000 ns",
                "/planner subscription /image",
                "/planner timer 100000000 ns",
                "/actuator subscription /out",
            ],
        ]
    );
}

/// A node without a name → /go → relay → /on → end: nobody can name the first.
#[test]
fn a_chain_begins_at_a_node_that_has_a_name() {
    let mut s = System::new();
    let nameless = NodeAt {
        at: s.process(),
        address: 0x9000,
    };
    let (relay, end) = (s.node("relay"), s.node("end"));
    let pulse = s.script.timer(nameless, 10 * MS, "pulse");
    let go = s.script.publisher(nameless, "/go");
    let on_go = s.script.subscription(relay, "/go", "on_go");
    let on = s.script.publisher(relay, "/on");
    let on_on = s.script.subscription(end, "/on", "on_on");
    for round in 0..12 {
        let start = round * 100 * MS;
        s.send(start, (nameless, pulse, go), &[]);
        let heard = s.stamp;
        s.forward(start + 2 * MS, (relay, on_go, on), heard, (end, on_on));
    }
    let overview = s.script.overview();
    assert_eq!(
        offered(&overview),
        [vec!["/relay subscription /go", "/end subscription /on"]]
    );
}
