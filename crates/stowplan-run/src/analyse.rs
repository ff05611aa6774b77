//! From the collected trace of a run to chains and first outputs.

use std::collections::BTreeMap;
use std::path::Path;

use stowplan_measure::{Measured, RunError};
use stowplan_model::Stack;
use stowplan_trace::{Analysis, ChainResult, ChainSpec, Window};

/// What the trace of a run says.
pub(crate) struct Analysed {
    /// The whole analysis.
    pub analysis: Analysis,
    /// The armed window; all of time without one.
    pub window: Window,
    /// Chains in the armed window; empty without one.
    pub chains: Vec<ChainResult>,
    /// First complete output of every chain, CLOCK_MONOTONIC ns, or why there is none.
    pub first_outputs: Vec<(String, Result<u64, String>)>,
    /// First publication of every node that had one, by its name without namespace, CLOCK_MONOTONIC ns.
    pub first_publications: BTreeMap<String, u64>,
}

/// Reads the trace of a run.
pub(crate) fn analyse(
    stack: &Stack,
    measured: &Measured,
    trace_dir: &Path,
) -> Result<Analysed, RunError> {
    let analysis = Analysis::from_ctf(trace_dir).map_err(|error| {
        RunError::new(format!(
            "cannot read the run's own trace: {}",
            stowplan_host::chain(&error)
        ))
    })?;
    let armed = measured.lead().window.as_ref();
    let window = armed.map_or(Window::ALWAYS, |armed| Window {
        from_ns: signed(armed.t_arm_ns),
        to_ns: signed(armed.t_disarm_ns),
    });
    let mut chains = Vec::new();
    let mut first_outputs = Vec::new();
    for chain in &stack.chains {
        let spec = ChainSpec::of_stack(chain);
        first_outputs.push((chain.name.to_string(), first_output(&analysis, &spec)));
        if armed.is_some() {
            let result = analysis
                .chain(&spec, window)
                .map_err(|error| RunError::new(error.to_string()))?;
            chains.push(result);
        }
    }
    let first_publications = first_publications(&analysis);
    Ok(Analysed {
        analysis,
        window,
        chains,
        first_outputs,
        first_publications,
    })
}

fn first_publications(analysis: &Analysis) -> BTreeMap<String, u64> {
    let nodes = analysis.start_up().nodes;
    let first = nodes.into_iter().filter_map(|node| {
        let name = node.node.rsplit('/').next()?.to_owned();
        Some((name, u64::try_from(node.first_publication_ns?).ok()?))
    });
    first.collect()
}

fn first_output(analysis: &Analysis, spec: &ChainSpec) -> Result<u64, String> {
    let result = analysis
        .chain(spec, Window::ALWAYS)
        .map_err(|error| error.to_string())?;
    let first = result.instances.iter().map(|i| i.output_ns).min();
    first.and_then(|ns| u64::try_from(ns).ok()).ok_or_else(|| {
        format!(
            "chain '{}' had no complete output while it was recorded",
            spec.name
        )
    })
}

fn signed(ns: u64) -> i64 {
    i64::try_from(ns).unwrap_or(i64::MAX)
}
