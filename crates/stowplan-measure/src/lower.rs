//! From a stack and a partition to what the node programs of each service do.

use std::collections::{BTreeMap, HashMap};

use stowplan_model::{
    Callback, CallbackRef, Distribution, Executor, Frames, Injection, Launch, Launching, Library,
    Node, NodeOptions, Partition, PhaseSpan, PlacedProcess, Profile, Reliability, Stack, Topic,
    Trigger,
};
use stowplan_wire::service::{
    CallbackPlan, ChainPlacePlan, DdsTopicPlan, DistributionPlan, ExecutorCostPlan, ExecutorPlan,
    FileUse, FramesPlan, LaunchPlan, NodeOptionsPlan, NodePlan, ProcessPlan, ProfilePlan,
    PublisherPlan, SerialisationPlan, ServicePlan, SilentPlan, SilentSubscriptionPlan, TopicPlan,
    TriggerPlan,
};

use crate::phases::{PhaseDraw, phase_share, timer_phase_ns};
use crate::replay::{self, ReplayedInput};

/// What a run adds to stack and partition.
#[derive(Debug, Clone, PartialEq)]
pub struct LowerOptions {
    /// Identity of the run.
    pub run: String,
    /// DDS domain.
    pub domain: u32,
    /// Seed of the experiment: draws of work and sizes.
    pub seed: u64,
    /// Number of this block.
    pub block: u32,
    /// Where the phases of this block come from.
    pub phases: PhaseDraw,
    /// Whether timers keep the phase of their own start.
    pub natural_phase: bool,
    /// Parts of their periods that the phases of some timers are drawn from; of all others it is the whole.
    pub phase_spans: Vec<PhaseSpan>,
    /// What is put into this deployment on purpose.
    pub injection: Option<Injection>,
    /// What starts the processes.
    pub launching: Launching,
    /// Factor on callback work.
    pub work_scale: f64,
    /// Whether events are recorded.
    pub record: bool,
    /// Whether each callback's thread CPU time is recorded.
    pub record_callback_cpu: bool,
    /// What sources replay.
    pub replay: Vec<ReplayedInput>,
}

fn launch(launch: &Launch) -> LaunchPlan {
    let files = (launch.read_bytes > 0).then(|| FileUse {
        path: LAUNCH_FILES.to_owned(),
        touched: 1.0,
        relocated_bytes: 0,
    });
    LaunchPlan {
        start_iterations: launch.start_iterations,
        entity_iterations: launch.entity_iterations,
        files: files.into_iter().collect(),
        memory_bytes: launch.memory_bytes,
    }
}

/// The name of the launcher's files below the image's `files` folder.
pub const LAUNCH_FILES: &str = "launch.bin";

/// Where a start-up file group lies below the image's `files` folder.
#[must_use]
pub fn library_path(library: &Library) -> String {
    format!("lib-{}.bin", library.name)
}

/// A topic endpoint: the service and process that it lives in.
type Site<'a> = (&'a str, &'a str);

struct Endpoints<'a> {
    publishers: HashMap<&'a str, Vec<Site<'a>>>,
    subscriptions: HashMap<&'a str, Vec<Site<'a>>>,
}

/// The plans of all services, in the order of the partition.
///
/// Nodes that the partition leaves out are not planned. A process whose nodes lie in several
/// services becomes one process in each. Callback and publisher numbers follow the stack's
/// order and so are equal in every deployment.
#[must_use]
pub fn lower(stack: &Stack, partition: &Partition, options: &LowerOptions) -> Vec<ServicePlan> {
    let lowering = Lowering::new(stack, partition, options);
    let placed = stack.placed(partition);
    let services = partition.services.iter().map(|service| {
        let processes = placed.iter().filter(|p| *p.service == service.service);
        let processes = processes.map(|placed| lowering.process(placed));
        lowering.service(service.service.as_str(), processes.collect())
    });
    services.collect()
}

/// Number of a callback in the plans of every deployment: phases and draws are keyed by it.
#[must_use]
pub fn callback_number(stack: &Stack, at: &CallbackRef) -> Option<u32> {
    let mut before = 0;
    for node in &stack.nodes {
        if node.name == at.node {
            let index = node.callbacks.iter().position(|c| c.name == at.callback)?;
            return Some(number(before + index));
        }
        before += node.callbacks.len();
    }
    None
}

struct Lowering<'a> {
    stack: &'a Stack,
    options: &'a LowerOptions,
    service_of: HashMap<&'a str, &'a str>,
    topic_index: HashMap<&'a str, u32>,
    first_callback: HashMap<&'a str, u32>,
    first_publisher: HashMap<&'a str, u32>,
    endpoints: Endpoints<'a>,
}

fn number(n: usize) -> u32 {
    u32::try_from(n).expect("a stack has fewer than 2^32 parts")
}

impl<'a> Lowering<'a> {
    fn new(stack: &'a Stack, partition: &'a Partition, options: &'a LowerOptions) -> Self {
        let service_of: HashMap<&str, &str> = partition
            .services
            .iter()
            .flat_map(|s| s.nodes.iter().map(|n| (n.as_str(), s.service.as_str())))
            .collect();
        let topic_index = stack
            .topics
            .iter()
            .enumerate()
            .map(|(i, t)| (t.name.as_str(), number(i)))
            .collect();
        let mut first_callback = HashMap::new();
        let mut first_publisher = HashMap::new();
        let (mut callbacks, mut publishers) = (0, 0);
        for node in &stack.nodes {
            first_callback.insert(node.name.as_str(), number(callbacks));
            first_publisher.insert(node.name.as_str(), number(publishers));
            callbacks += node.callbacks.len();
            publishers += node.publishers().len();
        }
        let endpoints = endpoints(stack, &service_of);
        Self {
            stack,
            options,
            service_of,
            topic_index,
            first_callback,
            first_publisher,
            endpoints,
        }
    }

    fn service(&self, service: &str, processes: Vec<ProcessPlan>) -> ServicePlan {
        ServicePlan {
            build_id: stowplan_wire::build_id(),
            run: self.options.run.clone(),
            service: service.to_owned(),
            domain: self.options.domain,
            seed: self
                .options
                .seed
                .wrapping_add(u64::from(self.options.block)),
            record: self.options.record,
            record_callback_cpu: self.options.record_callback_cpu,
            launch: (self.options.launching == Launching::Ros2).then(|| launch(&self.stack.launch)),
            topics: self.topics(),
            recordings: replay::recordings(&self.options.replay, &processes),
            answers: false,
            processes,
        }
    }

    /// The stack's topics, with room for what is replayed on them.
    fn topics(&self) -> Vec<TopicPlan> {
        let largest = |name: &str| replay::largest(&self.options.replay, name);
        let topics = self.stack.topics.iter();
        let topics = topics.map(|of| TopicPlan {
            largest_replayed: largest(&of.name),
            ..topic(of)
        });
        topics.collect()
    }

    fn process(&self, placed: &PlacedProcess<'_>) -> ProcessPlan {
        let (service, process) = (placed.service.as_str(), placed.process);
        let site = (service, process.name.as_str());
        ProcessPlan {
            name: process.name.to_string(),
            executor: match process.executor {
                Executor::Single => ExecutorPlan::Single,
                Executor::Multi { threads } => ExecutorPlan::Multi { threads },
                Executor::Static => ExecutorPlan::Static,
                Executor::Isolated => ExecutorPlan::Isolated,
            },
            executor_cost: ExecutorCostPlan {
                wait_iterations: self.stack.executor_cost.wait_iterations,
                entity_iterations: self.stack.executor_cost.entity_iterations,
            },
            profile: match process.profile {
                Profile::Minimal => ProfilePlan::Minimal,
                Profile::Galactic => ProfilePlan::Galactic,
                Profile::Humble => ProfilePlan::Humble,
                Profile::Jazzy => ProfilePlan::Jazzy,
            },
            use_sim_time: self.stack.use_sim_time,
            component_container: process.component_container,
            nodes: placed
                .nodes
                .iter()
                .map(|node| self.node(service, site, node))
                .collect(),
        }
    }

    fn node(&self, service: &str, site: Site<'_>, node: &Node) -> NodePlan {
        let published = node.published();
        let callbacks = node
            .callbacks
            .iter()
            .enumerate()
            .map(|(index, callback)| {
                let id = self.first_callback[node.name.as_str()] + number(index);
                self.callback(id, &published, site, node, callback)
            })
            .collect();
        let start = &node.start_up;
        NodePlan {
            name: node.name.to_string(),
            module: node.module.to_string(),
            files: start
                .libs
                .iter()
                .map(|l| FileUse {
                    path: library_path(l),
                    touched: l.touched,
                    relocated_bytes: l.relocated_bytes,
                })
                .collect(),
            start_iterations: start.iterations,
            memory_bytes: start.memory_bytes,
            options: node_options(node.options),
            callbacks,
            silent: self.silent(published.len(), site, node),
            reentrant_groups: node
                .reentrant_groups
                .iter()
                .map(ToString::to_string)
                .collect(),
            // A dependency on a node of another service cannot be waited for by this launcher.
            depends_on: node
                .depends_on
                .iter()
                .filter(|other| self.service_of.get(other.as_str()) == Some(&service))
                .map(ToString::to_string)
                .collect(),
            background_threads: node.background.map_or(0, |of| of.threads),
        }
    }

    fn callback(
        &self,
        id: u32,
        published: &[&str],
        site: Site<'_>,
        node: &Node,
        callback: &Callback,
    ) -> CallbackPlan {
        let publishes = callback
            .publishes
            .iter()
            .filter_map(|name| published.iter().position(|topic| topic == name))
            .map(|at| self.publisher(at, published[at], site, node))
            .collect();
        let uses = callback
            .uses
            .iter()
            .filter_map(|used| node.callbacks.iter().position(|c| c.name == *used))
            .map(|index| self.first_callback[node.name.as_str()] + number(index))
            .collect();
        CallbackPlan {
            id,
            name: callback.name.to_string(),
            group: callback.group.as_ref().map(ToString::to_string),
            trigger: self.trigger(id, site, node, callback),
            iterations: distribution(
                &callback
                    .work
                    .iterations
                    .scaled(self.options.work_scale * self.work_factor(node, callback)),
            ),
            working_set_bytes: callback.work.working_set_bytes,
            publishes,
            uses,
            chains: self.chains(node, callback),
        }
    }

    /// The chains that a callback is on.
    fn chains(&self, node: &Node, callback: &Callback) -> Vec<ChainPlacePlan> {
        let is_it = |at: &CallbackRef| at.node == node.name && at.callback == callback.name;
        let chains = self.stack.chains.iter().enumerate();
        let on = chains.filter(|(_, chain)| chain.callbacks.iter().any(is_it));
        on.map(|(index, chain)| ChainPlacePlan {
            chain: number(index),
            begins: chain.callbacks.first().is_some_and(is_it),
            ends: chain.callbacks.last().is_some_and(is_it),
        })
        .collect()
    }

    /// Publisher number `at` of a node.
    fn publisher(&self, at: usize, topic: &str, site: Site<'_>, node: &Node) -> PublisherPlan {
        PublisherPlan {
            id: self.first_publisher[node.name.as_str()] + number(at),
            topic: self.topic_index[topic],
            expected_subscriptions: self.remote(&self.endpoints.subscriptions, topic, site),
        }
    }

    /// What carries nothing; its publishers come after the first `published`.
    fn silent(&self, published: usize, site: Site<'_>, node: &Node) -> SilentPlan {
        let silent = &node.silent;
        let publishers = silent.publishers.iter().enumerate();
        let subscriptions = silent.subscriptions.iter();
        SilentPlan {
            publishers: publishers
                .map(|(index, topic)| self.publisher(published + index, topic, site, node))
                .collect(),
            subscriptions: subscriptions
                .map(|topic| SilentSubscriptionPlan {
                    topic: self.topic_index[topic.as_str()],
                    expected_publishers: self.remote(&self.endpoints.publishers, topic, site),
                })
                .collect(),
            services: silent.services.clone(),
            clients: silent.clients.clone(),
        }
    }

    /// Factor of what is injected into a callback's work.
    fn work_factor(&self, node: &Node, callback: &Callback) -> f64 {
        let injection = self.options.injection.as_ref();
        injection.map_or(1.0, |i| i.work_factor(&node.name, &callback.name))
    }

    /// Phase of a timer in this block.
    fn phase_ns(&self, id: u32, node: &Node, callback: &Callback, period_ns: u64) -> u64 {
        let PhaseDraw {
            seed,
            block,
            blocks,
        } = self.options.phases;
        let spans = &self.options.phase_spans;
        let span = spans
            .iter()
            .find(|s| s.callback.is(&node.name, &callback.name));
        let injection = self.options.injection.as_ref();
        let later_ns = injection.map_or(0, |i| i.later_ns(&node.name, &callback.name));
        let share = phase_share(seed, id, block, blocks);
        timer_phase_ns(share, period_ns, span, later_ns)
    }

    fn trigger(&self, id: u32, site: Site<'_>, node: &Node, callback: &Callback) -> TriggerPlan {
        match &callback.trigger {
            Trigger::Timer {
                period_ns,
                jitter_ns,
                rate_error,
            } => TriggerPlan::Timer {
                period_ns: *period_ns,
                jitter_ns: distribution(jitter_ns),
                rate_error: *rate_error,
                phase_ns: (!self.options.natural_phase)
                    .then(|| self.phase_ns(id, node, callback, *period_ns)),
                replay: replay::planned(
                    &self.options.replay,
                    (&node.name, &callback.name),
                    id,
                    |topic| self.topic_index.get(topic).copied(),
                ),
            },
            Trigger::Subscription { topic } => TriggerPlan::Subscription {
                topic: self.topic_index[topic.as_str()],
                expected_publishers: self.remote(&self.endpoints.publishers, topic, site),
            },
        }
    }

    /// How many of the topic's endpoints `site` reaches over DDS.
    fn remote(&self, ends: &HashMap<&str, Vec<Site<'_>>>, topic: &str, site: Site<'_>) -> u32 {
        let intra = self.stack.topics[self.topic_index[topic] as usize].intra_process;
        let ends = ends.get(topic).map_or(&[][..], Vec::as_slice);
        number(ends.iter().filter(|end| !(intra && **end == site)).count())
    }
}

fn endpoints<'a>(stack: &'a Stack, service_of: &HashMap<&'a str, &'a str>) -> Endpoints<'a> {
    let mut publishers: HashMap<&str, Vec<Site<'_>>> = HashMap::new();
    let mut subscriptions: HashMap<&str, Vec<Site<'_>>> = HashMap::new();
    for node in &stack.nodes {
        let Some(service) = service_of.get(node.name.as_str()) else {
            continue;
        };
        let site = (*service, node.process.as_str());
        for topic in node.publishers() {
            publishers.entry(topic).or_default().push(site);
        }
        for topic in node.subscriptions() {
            subscriptions.entry(topic).or_default().push(site);
        }
    }
    for service in &stack.services {
        // Real programs are in no process of the stack, so no endpoint is left out for being in the same.
        let site = (service.name.as_str(), "");
        for topic in &service.publishes {
            publishers.entry(topic).or_default().push(site);
        }
        for topic in &service.subscribes {
            subscriptions.entry(topic).or_default().push(site);
        }
    }
    Endpoints {
        publishers,
        subscriptions,
    }
}

fn node_options(options: NodeOptions) -> NodeOptionsPlan {
    NodeOptionsPlan {
        parameter_services: options.parameter_services,
        parameter_event_publisher: options.parameter_event_publisher,
        rosout: options.rosout,
        parameter_event_subscription: options.parameter_event_subscription,
        type_description_service: options.type_description_service,
    }
}

fn distribution(d: &Distribution) -> DistributionPlan {
    match *d {
        Distribution::Constant(value) => DistributionPlan::Constant(value),
        Distribution::Uniform { low, high } => DistributionPlan::Uniform { low, high },
        Distribution::LogNormal { median, sigma, max } => {
            DistributionPlan::LogNormal { median, sigma, max }
        }
    }
}

fn topic(topic: &Topic) -> TopicPlan {
    TopicPlan {
        name: topic.name.clone(),
        bytes: distribution(&topic.bytes),
        largest_replayed: 0,
        reliable: topic.qos.reliability == Reliability::Reliable,
        transient_local: topic.qos.transient_local,
        depth: topic.qos.depth,
        intra_process: topic.intra_process,
        serialisation: topic.serialisation.map(|cost| SerialisationPlan {
            message_iterations: cost.message_iterations,
            kib_iterations: cost.kib_iterations,
        }),
        dds: topic.dds.as_ref().map(|dds| DdsTopicPlan {
            name: dds.name.clone(),
            type_name: dds.type_name.clone(),
            partition: dds.partition.clone(),
            user_data: dds.user_data.clone(),
        }),
        frames: topic.frames.map(frames),
    }
}

fn frames(of: Frames) -> FramesPlan {
    let (columns, rows) = of.grid();
    FramesPlan {
        width: of.width,
        height: of.height,
        tags: of.tags,
        columns,
        rows,
    }
}

/// Start-up files of the whole stack with their sizes in bytes, by path below `files`.
#[must_use]
pub fn start_up_files(stack: &Stack) -> BTreeMap<String, u64> {
    let libraries = stack
        .nodes
        .iter()
        .flat_map(|n| &n.start_up.libs)
        .map(|l| (library_path(l), l.bytes));
    let launcher =
        (stack.launch.read_bytes > 0).then(|| (LAUNCH_FILES.to_owned(), stack.launch.read_bytes));
    libraries.chain(launcher).collect()
}

#[cfg(test)]
#[path = "lower_tests.rs"]
mod tests;
