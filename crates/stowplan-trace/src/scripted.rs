//! Hand-made traces for tests. Addresses are given per process, beginning with
//! the same one, so that every test with two processes has equal addresses.

use crate::analysis::{Analysis, Builder};
use crate::event::{Address, Body, ProcessKey, TraceEvent};
use crate::ids::{Id, ProcessId, ThreadId};
use crate::overview::Overview;

/// A thread of a process.
#[derive(Debug, Clone, Copy)]
pub struct At {
    pub process: ProcessId,
    pub thread: ThreadId,
}

#[derive(Debug, Clone, Copy)]
pub struct NodeAt {
    pub at: At,
    pub address: Address,
}

#[derive(Debug, Clone, Copy)]
pub struct Sub {
    pub rmw: Address,
    pub object: Address,
    pub callback: Address,
}

/// Events in any order; they are sorted by time before they are analysed.
#[derive(Default)]
pub struct Script {
    pub builder: Builder,
    pub events: Vec<TraceEvent<'static>>,
    addresses: Vec<Address>,
}

/// Set-up events stand at this time.
pub const SET_UP_NS: i64 = -1_000_000;

impl Script {
    pub fn new() -> Self {
        Self::default()
    }

    /// A new process, with its main thread.
    pub fn process(&mut self, vpid: i64) -> At {
        self.process_of(&ProcessKey {
            host: "host".into(),
            trace: "trace".into(),
            pid_namespace: None,
            vpid,
        })
    }

    pub fn process_of(&mut self, key: &ProcessKey) -> At {
        let process = self.builder.process(key);
        let thread = self.builder.thread(process, key.vpid);
        At { process, thread }
    }

    pub fn thread(&mut self, at: At, vtid: i64) -> At {
        let thread = self.builder.thread(at.process, vtid);
        At { thread, ..at }
    }

    pub fn address(&mut self, at: At) -> Address {
        let index = at.process.index();
        if self.addresses.len() <= index {
            self.addresses.resize(index + 1, 0x1000);
        }
        self.addresses[index] += 0x10;
        self.addresses[index]
    }

    pub fn add(&mut self, time_ns: i64, at: At, body: Body<'static>) {
        self.events.push(TraceEvent {
            time_ns,
            process: at.process,
            thread: at.thread,
            body,
        });
    }

    pub fn node(&mut self, at: At, name: &'static str) -> NodeAt {
        let address = self.address(at);
        self.add(
            SET_UP_NS,
            at,
            Body::NodeInit {
                node: address,
                name,
                namespace: "/",
            },
        );
        NodeAt { at, address }
    }

    pub fn publisher(&mut self, node: NodeAt, topic: &'static str) -> Address {
        let publisher = self.address(node.at);
        let body = Body::PublisherInit {
            publisher,
            node: node.address,
            rmw_publisher: publisher + 1,
            topic,
            depth: 1,
        };
        self.add(SET_UP_NS, node.at, body);
        publisher
    }

    pub fn subscription(&mut self, node: NodeAt, topic: &'static str, symbol: &'static str) -> Sub {
        self.deep_subscription(node, topic, symbol, 1)
    }

    pub fn deep_subscription(
        &mut self,
        node: NodeAt,
        topic: &'static str,
        symbol: &'static str,
        depth: u64,
    ) -> Sub {
        let at = node.at;
        let subscription = self.address(at);
        let sub = Sub {
            rmw: self.address(at),
            object: self.address(at),
            callback: self.address(at),
        };
        let body = Body::SubscriptionInit {
            subscription,
            node: node.address,
            rmw_subscription: sub.rmw,
            topic,
            depth,
        };
        self.add(SET_UP_NS, at, body);
        let object = sub.object;
        self.add(
            SET_UP_NS,
            at,
            Body::RclcppSubscriptionInit {
                subscription,
                object,
            },
        );
        let callback = sub.callback;
        self.add(
            SET_UP_NS,
            at,
            Body::SubscriptionCallbackAdded { object, callback },
        );
        self.add(SET_UP_NS, at, Body::CallbackRegister { callback, symbol });
        sub
    }

    pub fn timer(&mut self, node: NodeAt, period_ns: i64, symbol: &'static str) -> Address {
        let at = node.at;
        let (timer, callback) = (self.address(at), self.address(at));
        self.add(SET_UP_NS, at, Body::TimerInit { timer, period_ns });
        self.add(SET_UP_NS, at, Body::TimerCallbackAdded { timer, callback });
        self.add(SET_UP_NS, at, Body::CallbackRegister { callback, symbol });
        let node = node.address;
        self.add(SET_UP_NS, at, Body::TimerLinkNode { timer, node });
        callback
    }

    pub fn start(&mut self, time_ns: i64, at: At, callback: Address) {
        let intra = false;
        self.add(time_ns, at, Body::CallbackStart { callback, intra });
    }

    pub fn end(&mut self, time_ns: i64, at: At, callback: Address) {
        self.add(time_ns, at, Body::CallbackEnd { callback });
    }

    /// rclcpp at `time_ns`, rcl 1 ns and rmw 2 ns later.
    pub fn publish(&mut self, time_ns: i64, at: At, publisher: Address, stamp: Option<i64>) {
        let message = 0x7fff_0000;
        self.add(time_ns, at, Body::RclcppPublish { message });
        self.add(time_ns + 1, at, Body::RclPublish { publisher, message });
        let body = Body::RmwPublish {
            message,
            timestamp: stamp,
        };
        self.add(time_ns + 2, at, body);
    }

    pub fn arrive(&mut self, time_ns: i64, at: At, sub: Sub, source_timestamp: i64) {
        let body = Body::Arrival {
            rmw_subscription: sub.rmw,
            source_timestamp,
        };
        self.add(time_ns, at, body);
    }

    pub fn take(&mut self, time_ns: i64, at: At, sub: Sub, source_timestamp: i64) {
        let body = Body::RmwTake {
            rmw_subscription: sub.rmw,
            message: 0x7ffe_0000,
            source_timestamp,
            taken: true,
        };
        self.add(time_ns, at, body);
    }

    /// Take and callback from `start` to `end`; the take is 5 ns before the start.
    pub fn receive(&mut self, start: i64, end: i64, at: At, sub: Sub, stamp: i64) {
        self.take(start - 5, at, sub, stamp);
        self.start(start, at, sub.callback);
        self.end(end, at, sub.callback);
    }

    /// A message's own words, 3 ns before its callback starts: number of the
    /// publisher, sequence, stamp.
    pub fn words(&mut self, start: i64, at: At, sub: Sub, [publisher, sequence, stamp]: [u64; 3]) {
        let body = Body::Message {
            rmw_subscription: sub.rmw,
            publisher_id: publisher as u32,
            sequence,
            origin_ns: 0,
            stamp_ns: stamp as i64,
        };
        self.add(start - 3, at, body);
    }

    pub fn overview(mut self) -> Overview {
        self.builder.count(false);
        self.push_all();
        self.builder.finish_overview()
    }

    pub fn analyse(mut self) -> Analysis {
        self.push_all();
        self.builder.finish()
    }

    fn push_all(&mut self) {
        self.events.sort_by_key(|event| event.time_ns);
        for event in &self.events {
            self.builder.push(event);
        }
    }
}
