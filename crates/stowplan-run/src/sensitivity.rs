//! Sensitivity: in every block other values of what the stack assumes, the same in all its deployments.

use std::collections::BTreeMap;

use stowplan_measure::phases::{PhaseDraw, phase_share};
use stowplan_model::{ExecutorCost, Serialisation, Stack, Topic};
use stowplan_results::SensitivityRecord;
use stowplan_spec::{Assumption, Spec, Unit};

use crate::error::ExperimentError;
use crate::request::Request;

/// Seeds of the values and of the phases lie this far apart.
const FROM_PHASES: u64 = 1 << 41;

/// Values of the assumed parameters in one block, by path.
pub(crate) type Values = BTreeMap<String, f64>;

/// Paths of the parameters with a range of their own, in stacks that do not give them.
const SERIALISATION: &str = "serialisation.kib";
const WAIT: &str = "executor.wait";

/// Beginning of the paths of what waiting costs.
const EXECUTOR: &str = "executor.";

/// Iterations of serialising a KiB that are plausible at most, each about a nanosecond.
///
/// Publishing 1920 × 1080 × 3 bytes 30 times a second over UDP took a fifth of a CPU with ROS 2 Humble
/// (<https://github.com/clalancette/type_adapt_example>): 1.1 µs a KiB for allocation, serialising and sending
/// together, of which the modelled nodes do the sending themselves.
const MOST_SERIALISATION: f64 = 1_000.0;

/// Iterations of a wait that are plausible at most, each about a nanosecond.
///
/// rclcpp took 175 µs for each executed callback (<https://github.com/ros2/rclcpp/issues/1637>), of however many entities; the
/// executor of a modelled node does a part of that by itself.
const MOST_WAIT: f64 = 175_000.0;

/// What is assumed of a stack: what its file says, and that neither serialising a KiB nor waiting costs anything where the
/// file does not say what it costs.
pub(crate) fn assumptions(spec: &Spec) -> Vec<Assumption> {
    let mut all = spec.assumptions().to_vec();
    let topics = &spec.stack().topics;
    let states_none = |topic: &Topic| {
        topic
            .serialisation
            .is_none_or(|cost| cost.kib_iterations == 0)
    };
    if !topics.is_empty() && topics.iter().all(states_none) {
        all.push(Assumption {
            path: SERIALISATION.to_owned(),
            value: 0.0,
            low: 0.0,
            high: MOST_SERIALISATION,
            unit: Unit::Iterations,
            because: "not in the stack file; at most what publishing an image took in all, at 1.1 µs a KiB"
                .to_owned(),
            line: 0,
        });
    }
    let stated = all.iter().any(|a| a.path.starts_with(EXECUTOR));
    if spec.stack().executor_cost == ExecutorCost::default() && !stated {
        all.push(Assumption {
            path: WAIT.to_owned(),
            value: 0.0,
            low: 0.0,
            high: MOST_WAIT,
            unit: Unit::Iterations,
            because: "not in the stack file; at most what rclcpp took for each executed callback in all, 175 µs"
                .to_owned(),
            line: 0,
        });
    }
    all
}

/// The stack with the costs of these values that are not from its file.
pub(crate) fn with_costs(mut stack: Stack, values: &Values) -> Stack {
    if stack.executor_cost == ExecutorCost::default()
        && let Some(wait) = values.get(WAIT)
    {
        stack.executor_cost.wait_iterations = wait.round() as u64;
    }
    let Some(kib) = values.get(SERIALISATION) else {
        return stack;
    };
    for topic in &mut stack.topics {
        let cost = topic.serialisation.get_or_insert(Serialisation {
            message_iterations: 0,
            kib_iterations: 0,
        });
        cost.kib_iterations = kib.round() as u64;
    }
    stack
}

/// What is varied and what is not; `None` where nothing is asked for.
pub(crate) fn plan(request: &Request, spec: &Spec) -> Option<SensitivityRecord> {
    let assumptions = assumptions(spec);
    let paths = |varied: bool| {
        let some = assumptions.iter().filter(|a| is_varied(a) == varied);
        some.map(|a| a.path.clone()).collect()
    };
    request.sensitivity.then(|| SensitivityRecord {
        varied: paths(true),
        not_varied: paths(false),
        blocks: BTreeMap::new(),
    })
}

/// Refuses to vary what a stack without assumptions has not.
pub(crate) fn check(request: &Request, spec: &Spec) -> Result<(), ExperimentError> {
    if !request.sensitivity || spec.assumptions().iter().any(is_varied) {
        return Ok(());
    }
    let stack = &spec.stack().name;
    let what = format!("stack '{stack}' assumes no parameter that could be varied");
    Err(ExperimentError::Name { what })
}

/// Sizes of start-up files are those of the one image of the experiment.
fn is_varied(assumption: &Assumption) -> bool {
    !(assumption.path.starts_with("libs.") || assumption.path == "launch.read")
}

/// The values of a block: a Latin hypercube over the blocks of `draw`. Every range is cut into as many equal parts
/// as there are blocks, on a logarithmic scale unless it begins at zero; every block has one part of each range, by
/// a permutation of its own for each parameter, and a place inside drawn at random.
pub(crate) fn values(spec: &Spec, draw: PhaseDraw) -> Values {
    let seed = draw.seed.wrapping_add(FROM_PHASES);
    let assumptions = assumptions(spec);
    let varied = assumptions.iter().filter(|a| is_varied(a));
    let value = |(number, a): (u32, &Assumption)| {
        let share = phase_share(seed, number, draw.block, draw.blocks);
        let value = if a.low > 0.0 {
            a.low * (a.high / a.low).powf(share)
        } else {
            a.low + (a.high - a.low) * share
        };
        (a.path.clone(), value)
    };
    (0..).zip(varied).map(value).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::tests::request;

    const BLOCKS: u32 = 8;
    const LAST_DRAW: PhaseDraw = PhaseDraw {
        seed: 1,
        block: BLOCKS - 1,
        blocks: BLOCKS,
    };

    fn drawn(seed: u64) -> Vec<Values> {
        let spec = request().spec().unwrap();
        let of_block = |block| PhaseDraw {
            seed,
            block,
            blocks: BLOCKS,
        };
        (0..BLOCKS).map(|b| values(&spec, of_block(b))).collect()
    }

    #[test]
    fn every_block_has_a_part_of_each_range_of_its_own() {
        let spec = request().spec().unwrap();
        let drawn = drawn(3);
        for a in spec.assumptions().iter().filter(|a| is_varied(a)) {
            let part = |values: &Values| {
                let value = values[&a.path];
                assert!((a.low..=a.high).contains(&value), "{} {value}", a.path);
                let share = (value / a.low).ln() / (a.high / a.low).ln();
                (share * f64::from(BLOCKS)).floor() as u32
            };
            let mut parts: Vec<u32> = drawn.iter().map(part).collect();
            parts.sort_unstable();
            assert_eq!(parts, (0..BLOCKS).collect::<Vec<_>>(), "{}", a.path);
        }
        assert_eq!(drawn, self::drawn(3));
        assert_ne!(drawn, self::drawn(4));
    }

    #[test]
    fn sizes_of_files_stay_as_the_image_has_them() {
        let mut request = request();
        assert_eq!(plan(&request, &request.spec().unwrap()), None);
        request.sensitivity = true;
        let plan = plan(&request, &request.spec().unwrap()).unwrap();
        assert_eq!(
            plan.not_varied,
            ["launch.read", "libs.ros.size", "libs.lidar.size"]
        );
        assert!(plan.varied.contains(&"launch.entity".to_owned()));
        assert!(drawn(1)[0].keys().all(|path| plan.varied.contains(path)));
    }

    #[test]
    fn serialising_has_a_range_where_the_stack_says_nothing_of_it() {
        let text = request().stack_text;
        let costs = |text: &str| {
            let spec = stowplan_spec::parse_spec(text, "s.yaml").unwrap();
            let values = values(&spec, LAST_DRAW);
            let assumed = assumptions(&spec).len() - spec.assumptions().len();
            let stack = with_costs(spec.into_stack(), &values);
            let costs = stack.topics.iter().map(|t| t.serialisation);
            (
                assumed,
                values.get(SERIALISATION).copied(),
                costs.collect::<Vec<_>>(),
            )
        };
        let (assumed, kib, of_topics) = costs(&text);
        let kib = kib.unwrap();
        assert_eq!(assumed, 2, "and what waiting costs");
        assert!((0.0..=MOST_SERIALISATION).contains(&kib), "{kib}");
        for cost in of_topics {
            let cost = cost.unwrap();
            assert_eq!(cost.message_iterations, 0);
            assert_eq!(cost.kib_iterations as f64, kib.round());
        }
        // A stack that states one states all.
        let stated = text.replace(
            "  /imu: 320\n",
            "  /imu: { bytes: 320, serialisation: { kib: 7 } }\n",
        );
        assert_ne!(stated, text);
        let (assumed, kib, of_topics) = costs(&stated);
        assert_eq!((assumed, kib), (1, None));
        assert_eq!(of_topics.iter().flatten().count(), 1);
        // What a message costs besides stays.
        let (assumed, kib, of_topics) = costs(&stated.replace("kib: 7", "message: 7"));
        assert_eq!(assumed, 2);
        let costs = of_topics.iter().map(|cost| {
            let cost = cost.unwrap();
            assert_eq!(cost.kib_iterations as f64, kib.unwrap().round());
            cost.message_iterations
        });
        let mut costs: Vec<u64> = costs.collect();
        costs.sort_unstable();
        assert_eq!(costs.pop(), Some(7));
        assert!(costs.iter().all(|cost| *cost == 0), "{costs:?}");
    }

    #[test]
    fn waiting_has_a_range_where_the_stack_says_nothing_of_it() {
        let costs = |text: &str| {
            let spec = stowplan_spec::parse_spec(text, "s.yaml").unwrap();
            let values = values(&spec, LAST_DRAW);
            let cost = with_costs(spec.into_stack(), &values).executor_cost;
            (values.get(WAIT).copied(), cost)
        };
        let text = request().stack_text;
        let (wait, cost) = costs(&text);
        let wait = wait.unwrap();
        assert!((0.0..=MOST_WAIT).contains(&wait), "{wait}");
        assert_eq!(cost.wait_iterations as f64, wait.round());
        assert_eq!(cost.entity_iterations, 0);
        // Who states one of both is taken at their word.
        let stated = format!("{text}\nexecutor: {{ entity: 7 }}\n");
        let (wait, cost) = costs(&stated);
        assert_eq!(wait, None);
        assert_eq!((cost.wait_iterations, cost.entity_iterations), (0, 7));
    }

    #[test]
    fn an_assumed_cost_of_waiting_has_the_range_of_its_file() {
        let text = request().stack_text
            + "\nexecutor: { wait: { assumed: 0, low: 0, high: 500, because: nobody knows } }\n";
        let spec = stowplan_spec::parse_spec(&text, "s.yaml").unwrap();
        let of_waits = assumptions(&spec).into_iter().filter(|a| a.path == WAIT);
        let highs: Vec<f64> = of_waits.map(|a| a.high).collect();
        assert_eq!(highs, [500.0]);
    }
}
