//! Memory before the window and after it.

use stowplan_results::{MemoryAt, MemoryRow};
use stowplan_wire::host::MemorySample;

use super::HostRows;

/// A row per sample.
#[must_use]
pub fn memory_rows(host: HostRows<'_>) -> Vec<MemoryRow> {
    let (key, name) = (host.key, host.host());
    let row = |(at, sample): &(MemoryAt, MemorySample)| MemoryRow {
        run: key.run,
        block: key.block,
        deployment: key.deployment.clone(),
        host: name.clone(),
        subject: sample.subject.as_str().into(),
        at: *at,
        processes: sample.processes,
        rss_bytes: sample.rss_bytes,
        pss_bytes: sample.pss_bytes,
        pss_anon_bytes: sample.pss_anon_bytes,
        pss_file_bytes: sample.pss_file_bytes,
        pss_shmem_bytes: sample.pss_shmem_bytes,
        private_bytes: sample.private_bytes,
    };
    host.of.memory.iter().map(row).collect()
}
