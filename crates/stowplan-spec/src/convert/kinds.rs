//! Named values, converted once, and the values that name them.

use std::collections::HashMap;

use stowplan_model::{Distribution, Library, NodeStartUp, Qos, Reliability, Serialisation, Work};
use stowplan_plan::nearest;

use crate::at::{At, Entries, Mark};
use crate::context::Context;
use crate::elements::stack::StackSpec;
use crate::elements::start_up::{LibrarySpec, StartUpSpec};
use crate::elements::topic::{QosSpec, ReliabilitySpec, SerialisationSpec};
use crate::elements::work::WorkSpec;
use crate::kind::KindOr;
use crate::quantity::{Bytes, Spread};

/// Work without a stated working set stays in every first-level cache.
const DEFAULT_WORKING_SET: u64 = 4096;

/// What a callback does when the file gives no work.
pub(super) const NO_WORK: Work = Work {
    iterations: Distribution::Constant(0.0),
    working_set_bytes: DEFAULT_WORKING_SET,
};

/// What a topic has when neither it nor the stack gives a quality of service: ROS 2's default.
const DEFAULT_QOS: Qos = Qos {
    reliability: Reliability::Reliable,
    depth: 10,
    transient_local: false,
};

/// The named values of a file.
pub(super) struct Kinds {
    libs: HashMap<String, Library>,
    sizes: HashMap<String, Distribution>,
    qos: HashMap<String, Qos>,
    serialisation: HashMap<String, Serialisation>,
    work: HashMap<String, Work>,
    start_up: HashMap<String, NodeStartUp>,
}

impl Kinds {
    pub(super) fn new(context: &mut Context, spec: &StackSpec) -> Self {
        let mut kinds = Self {
            libs: libraries(context, &spec.libs),
            sizes: HashMap::new(),
            qos: HashMap::new(),
            serialisation: HashMap::new(),
            work: HashMap::new(),
            start_up: HashMap::new(),
        };
        for (key, size) in &spec.kinds.size.0 {
            let value = context.spread(&format!("kinds.size.{}", key.value), size);
            kinds.sizes.insert(key.value.clone(), value);
        }
        for (key, qos) in &spec.kinds.qos.0 {
            kinds.qos.insert(key.value.clone(), convert_qos(qos));
        }
        for (key, cost) in &spec.kinds.serialisation.0 {
            let path = format!("kinds.serialisation.{}", key.value);
            let value = convert_serialisation(context, &path, cost);
            kinds.serialisation.insert(key.value.clone(), value);
        }
        for (key, work) in &spec.kinds.work.0 {
            let value = convert_work(
                context,
                &format!("kinds.work.{}", key.value),
                work,
                key.mark,
            );
            kinds.work.insert(key.value.clone(), value);
        }
        for (key, start_up) in &spec.kinds.start_up.0 {
            let value =
                kinds.convert_start_up(context, &format!("kinds.start_up.{}", key.value), start_up);
            kinds.start_up.insert(key.value.clone(), value);
        }
        kinds
    }

    pub(super) fn size(
        &self,
        context: &mut Context,
        path: &str,
        at: &At<KindOr<Spread<Bytes>>>,
    ) -> Distribution {
        context
            .kind("size", &self.sizes, at, |context, value, mark| {
                let value = At {
                    value: value.clone(),
                    mark,
                };
                context.spread(path, &value)
            })
            .unwrap_or(Distribution::Constant(0.0))
    }

    pub(super) fn qos(&self, context: &mut Context, at: Option<&At<KindOr<QosSpec>>>) -> Qos {
        at.and_then(|at| context.kind("qos", &self.qos, at, |_, qos, _| convert_qos(qos)))
            .unwrap_or(DEFAULT_QOS)
    }

    pub(super) fn serialisation(
        &self,
        context: &mut Context,
        path: &str,
        at: &At<KindOr<SerialisationSpec>>,
    ) -> Option<Serialisation> {
        context.kind(
            "serialisation",
            &self.serialisation,
            at,
            |context, cost, _| convert_serialisation(context, path, cost),
        )
    }

    pub(super) fn work(
        &self,
        context: &mut Context,
        path: &str,
        at: Option<&At<KindOr<WorkSpec>>>,
    ) -> Work {
        at.and_then(|at| {
            context.kind("work", &self.work, at, |context, work, mark| {
                convert_work(context, path, work, mark)
            })
        })
        .unwrap_or(NO_WORK)
    }

    pub(super) fn start_up(
        &self,
        context: &mut Context,
        path: &str,
        at: Option<&At<KindOr<StartUpSpec>>>,
    ) -> NodeStartUp {
        at.and_then(|at| {
            context.kind("start_up", &self.start_up, at, |context, value, _| {
                self.convert_start_up(context, path, value)
            })
        })
        .unwrap_or_default()
    }

    fn convert_start_up(
        &self,
        context: &mut Context,
        path: &str,
        spec: &StartUpSpec,
    ) -> NodeStartUp {
        let mut libs = Vec::new();
        for name in &spec.libs {
            match self.libs.get(&name.value) {
                Some(lib) => libs.push(lib.clone()),
                None => context.problem(
                    name.mark,
                    format!("there is no library group '{}' under libs", name.value),
                    nearest::hint(&name.value, self.libs.keys().map(String::as_str)),
                ),
            }
        }
        NodeStartUp {
            libs,
            iterations: context.fixed(&format!("{path}.iterations"), spec.iterations.as_ref(), 0),
            memory_bytes: context.fixed(&format!("{path}.memory"), spec.memory.as_ref(), 0),
        }
    }
}

fn libraries(context: &mut Context, libs: &Entries<LibrarySpec>) -> HashMap<String, Library> {
    let mut converted = HashMap::new();
    for (key, lib) in &libs.0 {
        if !(0.0..=1.0).contains(&lib.touched) {
            context.problem(
                key.mark,
                format!(
                    "the library group '{}' has a touched share of {}",
                    key.value, lib.touched
                ),
                Some("a share is a number from 0 to 1".into()),
            );
        }
        let bytes = context.fixed(&format!("libs.{}.size", key.value), Some(&lib.size), 0);
        let of_relocated = format!("libs.{}.relocated", key.value);
        let relocated_bytes = context.fixed(&of_relocated, lib.relocated.as_ref(), 0);
        if let Some(name) = context.name(key) {
            converted.insert(
                key.value.clone(),
                Library {
                    name,
                    bytes,
                    touched: lib.touched,
                    relocated_bytes,
                },
            );
        }
    }
    converted
}

fn convert_qos(spec: &QosSpec) -> Qos {
    Qos {
        reliability: match spec.reliability {
            ReliabilitySpec::BestEffort => Reliability::BestEffort,
            ReliabilitySpec::Reliable => Reliability::Reliable,
        },
        depth: spec.depth,
        transient_local: spec.transient_local,
    }
}

fn convert_serialisation(
    context: &mut Context,
    path: &str,
    spec: &SerialisationSpec,
) -> Serialisation {
    Serialisation {
        message_iterations: context.fixed(&format!("{path}.message"), spec.message.as_ref(), 0),
        kib_iterations: context.fixed(&format!("{path}.kib"), spec.kib.as_ref(), 0),
    }
}

fn convert_work(context: &mut Context, path: &str, spec: &WorkSpec, mark: Mark) -> Work {
    let mut iterations = spec.iterations.clone();
    if iterations.mark.line == 0 {
        iterations.mark = mark;
    }
    // Of the file, also where a value of a block takes its place: what is given in time is converted once.
    let given = spec.working_set.as_ref();
    let over = given.map_or(DEFAULT_WORKING_SET, |bytes| bytes.value.whole());
    Work {
        iterations: context.spread_over(&format!("{path}.iterations"), &iterations, over),
        working_set_bytes: context.fixed(
            &format!("{path}.working_set"),
            spec.working_set.as_ref(),
            DEFAULT_WORKING_SET,
        ),
    }
}
