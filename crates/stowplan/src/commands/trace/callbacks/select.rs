//! Which callbacks are shown.

use stowplan_plan::nearest;

use crate::cli::TraceCallbacksArgs;
use crate::documents::trace::TracedCallback;
use crate::failure::{CommandError, ExitCode};

/// Keeps what the options ask for.
///
/// # Errors
/// When no callback is of a node that was asked for.
pub fn filter(
    callbacks: &mut Vec<TracedCallback>,
    args: &TraceCallbacksArgs,
) -> Result<(), CommandError> {
    if let Some(wanted) = &args.node {
        let names = callbacks.iter().filter_map(|of| of.node.as_deref());
        if !names.clone().any(|name| name.contains(wanted.as_str())) {
            let hint = nearest::hint(wanted, names);
            let text = format!("no callback in this trace is of a node '{wanted}'");
            return Err(CommandError {
                hint,
                ..CommandError::new(ExitCode::BadInput, text)
            });
        }
        let is_wanted = |name: &String| name.contains(wanted.as_str());
        callbacks.retain(|of| of.node.as_ref().is_some_and(is_wanted));
    }
    let at_least = |value: Option<f64>, least: Option<f64>| {
        least.is_none_or(|least| value.is_some_and(|value| value >= least))
    };
    let share = args.min_busy.map(|percent| percent / 100.0);
    callbacks.retain(|of| at_least(of.per_s, args.min_rate) && at_least(of.busy_share, share));
    Ok(())
}
