//! One row per usage sample.

use std::collections::HashMap;

use stowplan_results::{Label, UsageRow};
use stowplan_wire::host::UsageSample;

use super::{HostRows, since};

/// The rows of all samples of a host, with times relative to the arming instant, else t0.
#[must_use]
pub fn usage_rows(host: HostRows<'_>) -> Vec<UsageRow> {
    let mut subjects: HashMap<&str, Label> = HashMap::new();
    let (key, zero_ns, name) = (host.key, host.of.zero_ns(), host.host());
    host.of
        .samples
        .iter()
        .map(|sample| UsageRow {
            run: key.run,
            block: key.block,
            deployment: key.deployment.clone(),
            host: name.clone(),
            subject: subjects
                .entry(&sample.subject)
                .or_insert_with(|| sample.subject.as_str().into())
                .clone(),
            t_ns: since(zero_ns, sample.t_ns),
            cpu_ns: sample.cpu_ns,
            memory_bytes: sample.memory_bytes,
            anon_bytes: sample.anon_bytes,
            file_bytes: sample.file_bytes,
            read_bytes: sample.read_bytes,
            write_bytes: sample.write_bytes,
            throttled: sample.throttled,
            reason: missing(sample),
        })
        .collect()
}

/// Why figures of a sample are missing: the kernel has no such counter for the subject.
fn missing(sample: &UsageSample) -> Option<Label> {
    let lacking: Vec<&str> = [
        ("cpu_ns", sample.cpu_ns.is_none()),
        ("memory_bytes", sample.memory_bytes.is_none()),
        ("anon_bytes", sample.anon_bytes.is_none()),
        ("file_bytes", sample.file_bytes.is_none()),
        ("read_bytes", sample.read_bytes.is_none()),
        ("write_bytes", sample.write_bytes.is_none()),
        ("throttled", sample.throttled.is_none()),
    ]
    .into_iter()
    .filter_map(|(name, absent)| absent.then_some(name))
    .collect();
    (!lacking.is_empty())
        .then(|| format!("no counter of this subject for {}", lacking.join(", ")).into())
}
