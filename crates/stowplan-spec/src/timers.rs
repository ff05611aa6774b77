//! Rates of timers in place of those that a stack gives: `NODE[/CALLBACK]=RATE`.

use std::collections::BTreeSet;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stowplan_model::{Stack, Trigger, units};
use stowplan_plan::nearest;

use crate::error::SpecError;

/// A timer and its rate or period.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
#[schemars(with = "String")]
pub struct TimerRate {
    /// A node with one timer, or `NODE/CALLBACK`.
    pub timer: String,
    /// As it was written, such as `60Hz` or `20ms`.
    rate: String,
    period_ns: u64,
}

impl TimerRate {
    /// Whether it is that of this timer, `NODE/CALLBACK`.
    fn means(&self, timer: &str) -> bool {
        timer == self.timer
            || timer
                .split_once('/')
                .is_some_and(|(node, _)| node == self.timer)
    }

    /// A hint to what may have been meant of these timers: nodes, where no callback was named.
    fn nearest(&self, timers: &[String]) -> Option<String> {
        let with_callback = self.timer.contains('/');
        let known = timers.iter().filter_map(|timer| {
            if with_callback {
                Some(timer.as_str())
            } else {
                timer.split('/').next()
            }
        });
        let known: BTreeSet<&str> = known.collect();
        nearest::hint(&self.timer, known)
    }
}

impl FromStr for TimerRate {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (timer, rate) = text
            .split_once('=')
            .filter(|(timer, _)| !timer.is_empty())
            .ok_or_else(|| format!("'{text}' is not NODE=RATE, as camera=60Hz"))?;
        Ok(Self {
            timer: timer.to_owned(),
            rate: rate.to_owned(),
            period_ns: units::parse_period_ns(rate).map_err(|e| e.to_string())?,
        })
    }
}

impl TryFrom<String> for TimerRate {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<TimerRate> for String {
    fn from(rate: TimerRate) -> Self {
        format!("{}={}", rate.timer, rate.rate)
    }
}

/// Gives timers of a stack these rates. What a timer jitters and how wrong its clock is stays.
///
/// # Errors
/// When a node or callback is not there, has no timer, or has several.
pub(crate) fn apply(stack: &mut Stack, rates: &[TimerRate]) -> Result<(), SpecError> {
    for rate in rates {
        let mut timers = timers(stack);
        let names: Vec<String> = timers.iter().map(|(name, _)| name.clone()).collect();
        let meant: Vec<usize> = (0..names.len())
            .filter(|at| rate.means(&names[*at]))
            .collect();
        if let [at] = meant[..] {
            *timers[at].1 = rate.period_ns;
            continue;
        }
        let hint = if meant.is_empty() {
            rate.nearest(&names)
        } else {
            let several: Vec<&str> = meant.iter().map(|at| &*names[*at]).collect();
            Some(format!("name one of them: {}", several.join(", ")))
        };
        return Err(SpecError::Timer {
            stack: stack.name.to_string(),
            timer: rate.timer.clone(),
            hint: hint.unwrap_or_else(|| "name it as NODE/CALLBACK".to_owned()),
        });
    }
    Ok(())
}

/// Every timer with its period.
fn timers(stack: &mut Stack) -> Vec<(String, &mut u64)> {
    let nodes = stack.nodes.iter_mut();
    let timers = nodes.flat_map(|node| {
        let name = &node.name;
        let callbacks = node.callbacks.iter_mut();
        callbacks.filter_map(move |callback| match &mut callback.trigger {
            Trigger::Timer { period_ns, .. } => {
                Some((format!("{name}/{}", callback.name), period_ns))
            }
            Trigger::Subscription { .. } => None,
        })
    });
    timers.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const STACK: &str = "name: s
topics: { /a: 4 }
modules:
  m:
    nodes:
      camera: { timer: 30Hz, publishes: /a }
      two: { callbacks: { one: { timer: 1Hz }, other: { timer: 2Hz } } }
      sink: { subscribes: /a }
";

    fn with(rates: &[&str]) -> Result<Vec<u64>, String> {
        let rates: Vec<TimerRate> = rates.iter().map(|rate| rate.parse().unwrap()).collect();
        let mut stack = crate::parse_spec(STACK, "s.yaml").unwrap().into_stack();
        apply(&mut stack, &rates).map_err(|e| e.to_string())?;
        Ok(timers(&mut stack).into_iter().map(|(_, ns)| *ns).collect())
    }

    #[test]
    fn a_timer_gets_the_rate_that_is_given() {
        assert_eq!(
            with(&["camera=50Hz", "two/other=20ms"]).unwrap(),
            [20_000_000, 1_000_000_000, 20_000_000]
        );
        assert_eq!(with(&["camera/timer=1kHz"]).unwrap()[0], 1_000_000);
        let rate: TimerRate = "camera=60Hz".parse().unwrap();
        assert_eq!(String::from(rate), "camera=60Hz");
    }

    #[test]
    fn what_is_no_timer_is_refused_with_the_nearest() {
        let error = |rate: &str| with(&[rate]).unwrap_err();
        assert!(error("camra=1Hz").contains("did you mean 'camera'?"));
        assert!(error("sink=1Hz").contains("known: camera, two"));
        assert!(error("two=1Hz").contains("name one of them: two/one, two/other"));
        for wrong in ["camera", "=1Hz", "camera=", "camera=0Hz", "camera=fast"] {
            assert!(wrong.parse::<TimerRate>().is_err(), "{wrong}");
        }
    }
}
