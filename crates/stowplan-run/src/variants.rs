//! Deployments that differ by a known injection, and phases drawn from a part of the period, as a request keeps them.

use serde::{Deserialize, Serialize};
use stowplan_model::{CallbackRef, Injection, Launching, Name, PhaseSpan, Stack, Trigger, Variant};
use stowplan_results::InjectionRecord;

use crate::error::ExperimentError;

/// One of several deployments that are otherwise equal.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct VariantRequest {
    /// Name.
    pub name: String,
    /// What is put into it on purpose.
    pub injection: Option<InjectionRequest>,
    /// Whether a plain supervisor starts its processes instead of `ros2 launch`.
    #[serde(default)]
    pub native_launch: bool,
}

/// A known difference.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum InjectionRequest {
    /// More counted iterations.
    Work {
        /// `node/callback`.
        callback: String,
        /// Factor on the iterations.
        factor: f64,
    },
    /// A later release of a timer.
    Phase {
        /// `node/callback`.
        callback: String,
        /// How much later, ns.
        later_ns: u64,
    },
}

/// Part of a timer's period that its phases are drawn from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PhaseSpanRequest {
    /// `node/callback`.
    pub callback: String,
    /// Where it begins, ns.
    pub from_ns: u64,
    /// How long it is, ns.
    pub length_ns: u64,
}

impl VariantRequest {
    pub(crate) fn of(variant: &Variant) -> Self {
        let injection = variant.injection.as_ref().map(|injection| match injection {
            Injection::Work { callback, factor } => InjectionRequest::Work {
                callback: callback.to_string(),
                factor: *factor,
            },
            Injection::Phase { callback, later_ns } => InjectionRequest::Phase {
                callback: callback.to_string(),
                later_ns: *later_ns,
            },
        });
        Self {
            name: variant.name.to_string(),
            injection,
            native_launch: variant.launching == Launching::Native,
        }
    }

    /// The variant, checked against the stack.
    pub(crate) fn to_model(&self, stack: &Stack) -> Result<Variant, ExperimentError> {
        let injection = self.injection.as_ref().map(|i| i.to_model(stack));
        Ok(Variant {
            name: Name::new(self.name.as_str()).map_err(|e| wrong(e.to_string()))?,
            injection: injection.transpose()?,
            launching: if self.native_launch {
                Launching::Native
            } else {
                Launching::Ros2
            },
        })
    }
}

impl InjectionRequest {
    fn to_model(&self, stack: &Stack) -> Result<Injection, ExperimentError> {
        match self {
            Self::Work { callback, factor } => {
                if !(factor.is_finite() && *factor > 0.0) {
                    return Err(wrong(format!("{factor} is no factor on work")));
                }
                Ok(Injection::Work {
                    callback: callback_of(stack, callback)?,
                    factor: *factor,
                })
            }
            Self::Phase { callback, later_ns } => {
                let (timer, period_ns) = timer_of(stack, callback)?;
                within(callback, *later_ns, period_ns)?;
                Ok(Injection::Phase {
                    callback: timer,
                    later_ns: *later_ns,
                })
            }
        }
    }
}

impl PhaseSpanRequest {
    pub(crate) fn of(span: &PhaseSpan) -> Self {
        Self {
            callback: span.callback.to_string(),
            from_ns: span.from_ns,
            length_ns: span.length_ns,
        }
    }

    /// The span, checked against the stack.
    pub(crate) fn to_model(&self, stack: &Stack) -> Result<PhaseSpan, ExperimentError> {
        let (timer, period_ns) = timer_of(stack, &self.callback)?;
        within(&self.callback, self.from_ns, period_ns)?;
        // All of the period is a span, too.
        if self.length_ns != period_ns {
            within(&self.callback, self.length_ns, period_ns)?;
        }
        Ok(PhaseSpan {
            callback: timer,
            from_ns: self.from_ns,
            length_ns: self.length_ns,
        })
    }
}

/// How a result tells what was injected.
pub(crate) fn injection_record(injection: &Injection) -> InjectionRecord {
    let (work_factor, later_ns) = match injection {
        Injection::Work { factor, .. } => (Some(*factor), None),
        Injection::Phase { later_ns, .. } => (None, Some(*later_ns)),
    };
    InjectionRecord {
        callback: injection.callback().to_string(),
        work_factor,
        later_ns,
    }
}

fn callback_of(stack: &Stack, text: &str) -> Result<CallbackRef, ExperimentError> {
    let named = text.split_once('/').and_then(|(node, callback)| {
        Some(CallbackRef {
            node: Name::new(node).ok()?,
            callback: Name::new(callback).ok()?,
        })
    });
    named
        .filter(|at| stack.callback(at).is_some())
        .ok_or_else(|| {
            let stack = &stack.name;
            wrong(format!("'{text}' is no callback of stack '{stack}'"))
        })
}

/// The callback of a timer, and the timer's period.
fn timer_of(stack: &Stack, text: &str) -> Result<(CallbackRef, u64), ExperimentError> {
    let callback = callback_of(stack, text)?;
    match stack.callback(&callback).map(|c| &c.trigger) {
        Some(Trigger::Timer { period_ns, .. }) => Ok((callback, *period_ns)),
        _ => Err(wrong(format!("'{text}' has no timer, so it has no phase"))),
    }
}

fn within(callback: &str, ns: u64, period_ns: u64) -> Result<(), ExperimentError> {
    if ns < period_ns {
        return Ok(());
    }
    let what = format!("{ns} ns do not lie within the period of '{callback}', {period_ns} ns");
    Err(wrong(what))
}

fn wrong(what: String) -> ExperimentError {
    ExperimentError::Name { what }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hello() -> Stack {
        let text = stowplan_spec::shipped("hello").unwrap();
        let spec = stowplan_spec::parse_spec(text, "hello.yaml").unwrap();
        spec.stack().clone()
    }

    fn phase(callback: &str, later_ns: u64) -> VariantRequest {
        VariantRequest {
            name: "more-idle".to_owned(),
            injection: Some(InjectionRequest::Phase {
                callback: callback.to_owned(),
                later_ns,
            }),
            native_launch: false,
        }
    }

    #[test]
    fn what_is_injected_is_read_back_as_it_was() {
        let work = VariantRequest {
            name: "more-work".to_owned(),
            injection: Some(InjectionRequest::Work {
                callback: "brake/on_command".to_owned(),
                factor: 1.5,
            }),
            native_launch: true,
        };
        for request in [work, phase("planner/timer", 4_000_000)] {
            let text = serde_json::to_string(&request).unwrap();
            assert_eq!(
                serde_json::from_str::<VariantRequest>(&text).unwrap(),
                request
            );
            let variant = request.to_model(&hello()).unwrap();
            assert_eq!(VariantRequest::of(&variant), request);
        }
    }

    #[test]
    fn what_cannot_be_injected_is_refused() {
        let told = |variant: &VariantRequest| variant.to_model(&hello()).unwrap_err().to_string();
        assert_eq!(
            told(&phase("planner/nothing", 1)),
            "'planner/nothing' is no callback of stack 'hello'"
        );
        assert_eq!(
            told(&phase("brake/on_command", 1)),
            "'brake/on_command' has no timer, so it has no phase"
        );
        assert!(told(&phase("planner/timer", 50_000_000)).contains("50000000 ns"));
        let span = |length_ns| PhaseSpanRequest {
            callback: "planner/timer".to_owned(),
            from_ns: 0,
            length_ns,
        };
        assert!(span(50_000_000).to_model(&hello()).is_ok());
        assert!(span(50_000_001).to_model(&hello()).is_err());
    }
}
