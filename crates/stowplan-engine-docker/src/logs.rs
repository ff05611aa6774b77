//! Output of containers.

use bollard::container::LogOutput;
use bollard::query_parameters::LogsOptionsBuilder;
use futures_util::TryStreamExt;
use stowplan_engine::EngineError;
use stowplan_engine_daemon::LogTail;

use crate::Daemon;
use crate::client::{Client, is_absent};

/// The last `bytes` bytes that a container has said, a line at a time; nothing where there is no container.
pub(crate) fn tail(client: &Client, name: &str, bytes: u64) -> Result<String, EngineError> {
    // A line has at least one byte, so that many lines are enough. Podman, asked for the last lines, puts what one
    // stream left open before a line of the other (4.3.1: `x` and `cannot create …` become one line): it gives all.
    let lines = match client.daemon() {
        Daemon::Docker => i32::try_from(bytes).unwrap_or(i32::MAX).to_string(),
        Daemon::Podman => "all".to_owned(),
    };
    let options = LogsOptionsBuilder::default()
        .stdout(true)
        .stderr(true)
        .tail(&lines)
        .build();
    let said = client.api().logs(name, Some(options));
    let limit = usize::try_from(bytes).unwrap_or(usize::MAX);
    let gathered = said.try_fold(LogTail::new(limit), |mut tail, part| async move {
        let stream = usize::from(matches!(part, LogOutput::StdErr { .. }));
        tail.take(stream, part.as_ref());
        Ok(tail)
    });
    match client.wait(gathered) {
        Ok(tail) => Ok(tail.text()),
        Err(error) if is_absent(&error) => Ok(String::new()),
        Err(error) => Err(client.error("give a log", error)),
    }
}
