//! Small stacks for tests.

use stowplan_model::{
    Callback, Distribution, Executor, ExecutorCost, Launch, Name, Node, NodeStartUp, Process,
    Profile, Qos, Reliability, Stack, Topic, Trigger, Work,
};

/// A name that is known to be one.
pub fn name(text: &str) -> Name {
    Name::new(text).expect("a name")
}

/// A topic of 100 bytes.
pub fn topic(text: &str, intra_process: bool) -> Topic {
    Topic {
        name: text.to_owned(),
        bytes: Distribution::Constant(100.0),
        qos: Qos {
            reliability: Reliability::BestEffort,
            depth: 1,
            transient_local: false,
        },
        intra_process,
        serialisation: None,
        dds: None,
        frames: None,
    }
}

/// A process with a single-threaded executor.
pub fn process(text: &str) -> Process {
    Process {
        name: name(text),
        executor: Executor::Single,
        profile: Profile::Humble,
        component_container: false,
    }
}

/// A callback of 1,000 iterations.
fn callback(text: &str, trigger: Trigger, publishes: &[&str]) -> Callback {
    Callback {
        name: name(text),
        trigger,
        group: None,
        work: Work {
            iterations: Distribution::Constant(1000.0),
            working_set_bytes: 4096,
        },
        publishes: publishes.iter().map(|t| (*t).to_owned()).collect(),
        uses: Vec::new(),
    }
}

/// A callback `timer`.
pub fn timer(period_ms: u64, publishes: &[&str]) -> Callback {
    let trigger = Trigger::Timer {
        period_ns: period_ms * 1_000_000,
        jitter_ns: Distribution::Constant(0.0),
        rate_error: 0.0,
    };
    callback("timer", trigger, publishes)
}

/// A callback `on_TOPIC`.
pub fn on(topic: &str, publishes: &[&str]) -> Callback {
    let trigger = Trigger::Subscription {
        topic: topic.to_owned(),
    };
    callback(
        &format!("on_{}", topic.trim_start_matches('/')),
        trigger,
        publishes,
    )
}

/// A node of module `module` in process `process`.
pub fn node(text: &str, module: &str, process: &str, callbacks: Vec<Callback>) -> Node {
    Node {
        name: name(text),
        module: name(module),
        function: None,
        attributed: true,
        process: name(process),
        options: stowplan_model::NodeOptions::default(),
        callbacks,
        silent: stowplan_model::SilentEndpoints::default(),
        reentrant_groups: Vec::new(),
        start_up: NodeStartUp {
            libs: Vec::new(),
            iterations: 1_000_000,
            memory_bytes: 1_000_000,
        },
        depends_on: Vec::new(),
        background: None,
    }
}

/// A stack of these.
pub fn stack(topics: Vec<Topic>, processes: Vec<Process>, nodes: Vec<Node>) -> Stack {
    Stack {
        name: name("test"),
        description: String::new(),
        use_sim_time: false,
        ns_per_iteration: None,
        executor_cost: ExecutorCost::default(),
        launch: Launch {
            start_iterations: 10_000_000,
            entity_iterations: 1_000_000,
            read_bytes: 0,
            memory_bytes: 500_000,
        },
        topics,
        processes,
        nodes,
        chains: Vec::new(),
        services: Vec::new(),
    }
}
