//! An earlier experiment, measured again beside a new one in one schedule (docs/measuring.md §5, "across time").

use stowplan_results::{EarlierResult, Results};
use stowplan_spec::RunOptions;

use crate::error::ExperimentError;
use crate::prepare::Prepared;
use crate::request::Request;

/// The experiment of an earlier result.
#[derive(Debug, Clone)]
pub struct Earlier {
    /// What it was asked.
    pub request: Request,
    /// Which result it is of.
    pub of: EarlierResult,
}

impl Earlier {
    /// Reads what a result was asked.
    ///
    /// # Errors
    /// When the folder has no request that this program can read.
    pub fn read(result: &Results) -> Result<Self, ExperimentError> {
        Ok(Self {
            request: Request::load(result.dir())?,
            of: EarlierResult::of(result, true),
        })
    }

    /// The earlier experiment as it is measured beside `new`: what it deploys is its own, how it is measured is the new one's.
    ///
    /// # Errors
    /// When the new experiment is one that cannot be measured beside another.
    pub(crate) fn beside(&self, new: &Request) -> Result<Request, ExperimentError> {
        let refused = |why: &str| {
            Err(ExperimentError::Again {
                earlier: self.of.result.clone(),
                why: why.to_owned(),
            })
        };
        if new.pilot {
            return refused("a pilot fixes the number of blocks of one experiment alone");
        }
        if new.sensitivity {
            return refused(
                "the values that --sensitivity draws are those of one experiment alone",
            );
        }
        if new.utilisation.is_some() && new.stack_text != self.request.stack_text {
            return refused(
                "both would be scaled to the same utilisation, and what the stacks differ in would be lost",
            );
        }
        let replayed = match new.replayed_as(&self.request) {
            Ok(replayed) => replayed,
            Err(why) => return refused(&why),
        };
        let own = self.request.clone();
        Ok(Request {
            stack_file: own.stack_file,
            stack_text: own.stack_text,
            calibration: own.calibration.or_else(|| new.calibration.clone()),
            places: own.places,
            partitions: own.partitions,
            limits: own.limits,
            resources: own.resources,
            listed: own.listed,
            isolation: own.isolation,
            ablation: own.ablation,
            variants: own.variants,
            dds: own.dds,
            parallelism: own.parallelism,
            options: RunOptions {
                // They are a service of its deployments, and its timers and topics are those of its stack.
                neighbours: own.options.neighbours,
                timers: own.options.timers,
                replay: own.options.replay,
                ..new.options.clone()
            },
            replayed,
            ..new.clone()
        })
    }
}

/// Leaves what both experiments have: what only the earlier one deployed has nothing beside it.
pub(crate) fn keep_common(
    earlier: &mut Prepared,
    new: &Prepared,
    result: &str,
) -> Result<(), ExperimentError> {
    let planned = |id: &str| new.deployments.iter().any(|d| d.record.id == id);
    let refused = |why: String| {
        Err(ExperimentError::Again {
            earlier: result.to_owned(),
            why,
        })
    };
    let unable = earlier.refused.iter().find(|d| planned(&d.id));
    if let Some((label, why)) = unable.and_then(|d| Some((&d.label, d.refused.as_ref()?))) {
        return refused(format!("its {label} cannot run now: {why}"));
    }
    earlier.deployments.retain(|d| planned(&d.record.id));
    earlier.refused.clear();
    earlier.ablation.clear();
    if earlier.deployments.is_empty() {
        return refused("they have no deployment in common".to_owned());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::request::tests::request;
    use stowplan_model::Limits;

    fn earlier(request: Request) -> Earlier {
        Earlier {
            request,
            of: EarlierResult {
                result: "old".to_owned(),
                created_unix_s: 1,
                build_id: String::new(),
                measured_again: true,
            },
        }
    }

    #[test]
    fn what_is_deployed_is_the_earlier_one_s_and_how_it_is_measured_the_new_one_s() {
        let limits = BTreeMap::from([("sensing".to_owned(), Limits::default())]);
        let old = Request {
            limits: limits.clone(),
            parallelism: Some(1),
            blocks: 3,
            seed: 9,
            window_ns: 7,
            options: RunOptions {
                callback_cpu: true,
                ..RunOptions::default()
            },
            ..request()
        };
        let beside = earlier(old).beside(&request()).unwrap();
        let asked = Request {
            limits,
            parallelism: Some(1),
            ..request()
        };
        assert_eq!(beside, asked);
    }

    #[test]
    fn what_is_of_one_experiment_alone_is_refused() {
        let other_stack = Request {
            stack_text: "name: other".to_owned(),
            ..request()
        };
        let refused = |old: &Request, new: Request, told: &str| {
            let error = earlier(old.clone()).beside(&new).unwrap_err().to_string();
            assert!(error.contains(told) && error.contains("old"), "{error}");
        };
        let piloted = Request {
            pilot: true,
            ..request()
        };
        refused(&request(), piloted, "a pilot");
        let varied = Request {
            sensitivity: true,
            ..request()
        };
        refused(&request(), varied, "--sensitivity");
        let scaled = Request {
            utilisation: Some(0.3),
            ..request()
        };
        refused(&other_stack, scaled.clone(), "the same utilisation");
        assert!(earlier(request()).beside(&scaled).is_ok());
        assert!(earlier(other_stack).beside(&request()).is_ok());
    }
}
