//! The chain whose latency a known difference can be put into.

use stowplan_model::{CallbackRef, Chain, Stack, Trigger};

use crate::error::SelftestError;

/// A chain with a single timer after its first callback: what is added behind the timer, and the time that data waits
/// for it, are added to the end-to-end latency in full. Work before the timer is not: the wait takes it up.
#[derive(Debug, Clone, PartialEq)]
pub struct Target {
    /// The chain.
    pub chain: String,
    /// Timer callback that releases the chain's inputs.
    pub source: CallbackRef,
    /// Its period, ns.
    pub source_period_ns: u64,
    /// Timer callback on the chain that data waits for.
    pub timer: CallbackRef,
    /// Its period, ns. It fits a whole number of times into that of the source, so that data waits equally long for
    /// it each time but for rate errors and jitter.
    pub timer_period_ns: u64,
    /// Callback from the timer on that does most work.
    pub worker: CallbackRef,
    /// Mean of its iterations.
    pub worker_iterations: f64,
    /// Its working set in bytes.
    pub worker_working_set_bytes: u64,
}

impl Target {
    /// The first chain of the stack that can be one.
    ///
    /// # Errors
    /// When none can.
    pub fn find(stack: &Stack) -> Result<Self, SelftestError> {
        let found = stack.chains.iter().find_map(|chain| of_chain(stack, chain));
        found.ok_or_else(|| SelftestError::NoChain {
            stack: stack.name.to_string(),
        })
    }
}

fn of_chain(stack: &Stack, chain: &Chain) -> Option<Target> {
    let (first, rest) = chain.callbacks.split_first()?;
    let timers: Vec<usize> = (0..rest.len())
        .filter(|i| period(stack, &rest[*i]).is_some())
        .collect();
    let [hop] = timers[..] else { return None };
    let timer = &rest[hop];
    let source = source_of(stack, first, stack.nodes.len())?;
    let (timer_period_ns, source_period_ns) = (period(stack, timer)?, period(stack, &source)?);
    if timer_period_ns == 0 || source_period_ns % timer_period_ns != 0 {
        return None;
    }
    let iterations =
        |at: &CallbackRef| stack.callback(at).map_or(0.0, |c| c.work.iterations.mean());
    let behind = rest[hop..].iter();
    let worker = behind.max_by(|a, b| iterations(a).total_cmp(&iterations(b)))?;
    let work = stack.callback(worker)?.work;
    (work.iterations.mean() > 0.0).then(|| Target {
        chain: chain.name.to_string(),
        source,
        source_period_ns,
        timer: timer.clone(),
        timer_period_ns,
        worker: worker.clone(),
        worker_iterations: work.iterations.mean(),
        worker_working_set_bytes: work.working_set_bytes,
    })
}

/// Period of a timer callback, ns; `None` for any other.
fn period(stack: &Stack, at: &CallbackRef) -> Option<u64> {
    match stack.callback(at)?.trigger {
        Trigger::Timer { period_ns, .. } => Some(period_ns),
        Trigger::Subscription { .. } => None,
    }
}

/// The one timer callback that releases what `at` begins with, at most `hops` messages before it.
fn source_of(stack: &Stack, at: &CallbackRef, hops: usize) -> Option<CallbackRef> {
    let topic = match &stack.callback(at)?.trigger {
        Trigger::Timer { .. } => return Some(at.clone()),
        Trigger::Subscription { topic } => topic,
    };
    let publishers: Vec<CallbackRef> = stack
        .nodes
        .iter()
        .flat_map(|node| node.callbacks.iter().map(move |c| (node, c)))
        .filter(|(_, c)| c.publishes.contains(topic))
        .map(|(node, c)| CallbackRef {
            node: node.name.clone(),
            callback: c.name.clone(),
        })
        .collect();
    let [publisher] = &publishers[..] else {
        return None;
    };
    source_of(stack, publisher, hops.checked_sub(1)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stack(text: &str) -> Stack {
        let spec = stowplan_spec::parse_spec(text, "s.yaml").unwrap();
        spec.stack().clone()
    }

    #[test]
    fn hello_is_added_to_behind_its_timer() {
        let target = Target::find(&stack(stowplan_spec::shipped("hello").unwrap())).unwrap();
        assert_eq!(target.chain, "lidar_to_brake");
        assert_eq!(target.source.to_string(), "lidar_driver/timer");
        assert_eq!(target.timer.to_string(), "planner/timer");
        assert_eq!(target.worker.to_string(), "planner/timer");
        assert_eq!(
            (target.source_period_ns, target.timer_period_ns),
            (100_000_000, 50_000_000)
        );
        assert_eq!(target.worker_iterations, 3e6);
    }

    #[test]
    fn a_timer_that_drifts_past_its_source_is_refused() {
        let text = stowplan_spec::shipped("hello").unwrap();
        let drifting = text.replace("timer: 20Hz", "timer: 30Hz");
        assert_ne!(drifting, text);
        let error = Target::find(&stack(&drifting)).unwrap_err();
        assert!(error.to_string().contains("stack 'hello'"), "{error}");
        assert!(error.hint().is_some());
    }
}
