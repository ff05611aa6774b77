//! Output of containers.

use bollard::query_parameters::LogsOptionsBuilder;
use futures_util::TryStreamExt;
use stowplan_engine::EngineError;

use crate::client::{Client, is_absent};

/// The last `bytes` bytes that a container has said; nothing where there is no container.
pub(crate) fn tail(client: &Client, name: &str, bytes: u64) -> Result<String, EngineError> {
    // A line has at least one byte, so that many lines are enough.
    let lines = i32::try_from(bytes).unwrap_or(i32::MAX).to_string();
    let options = LogsOptionsBuilder::default()
        .stdout(true)
        .stderr(true)
        .tail(&lines)
        .build();
    let said = client.api().logs(name, Some(options));
    let gathered = said.try_fold(Vec::new(), |mut all, part| async move {
        all.extend_from_slice(&part.into_bytes());
        Ok(all)
    });
    match client.wait(gathered) {
        Ok(all) => {
            let from = all.len() - all.len().min(usize::try_from(bytes).unwrap_or(usize::MAX));
            Ok(String::from_utf8_lossy(&all[from..]).into_owned())
        }
        Err(error) if is_absent(&error) => Ok(String::new()),
        Err(error) => Err(client.error("give a log", error)),
    }
}
