//! Output of containers, in the format of the CRI (<https://github.com/kubernetes/design-proposals-archive/blob/main/node/kubelet-cri-logging.md>):
//! `TIME STREAM TAGS TEXT` in each line, where the tag `P` says that the program's line goes on in the next one.

use std::path::Path;

use crate::LogTail;
use stowplan_engine::EngineError;
use stowplan_host::tail;

/// Most bytes that the format adds to a byte of output: time, stream and tags before a line that is empty.
const OVERHEAD: u64 = 64;

/// The last `bytes` bytes that a container has said; nothing where it has no log.
///
/// # Errors
/// When it cannot be read.
pub fn last(path: &Path, bytes: u64) -> Result<String, EngineError> {
    let wanted = bytes.saturating_mul(OVERHEAD);
    let text = tail(path, wanted).map_err(|e| {
        EngineError::new(format!("cannot read the log {}", path.display())).because(e)
    })?;
    // The first line may have lost its beginning.
    let cut = text.len() as u64 >= wanted;
    let lines = text.split_inclusive('\n').skip(usize::from(cut));
    let mut tail = LogTail::new(usize::try_from(bytes).unwrap_or(usize::MAX));
    for (stream, said) in lines.filter_map(said) {
        tail.take(stream, said.as_bytes());
    }
    Ok(tail.text())
}

/// What the program wrote of a line, and to which of its streams.
fn said(line: &str) -> Option<(usize, &str)> {
    let mut fields = line.splitn(4, ' ');
    let stream = usize::from(fields.nth(1)? == "stderr");
    let goes_on = fields.next()?.split(':').any(|tag| tag == "P");
    let text = fields.next()?;
    let text = if goes_on {
        text.trim_end_matches('\n')
    } else {
        text
    };
    Some((stream, text))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn the_log_is_what_the_program_wrote() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        let text = "2026-11-22T06:34:43.337477805Z stderr P a \n\
                    2026-11-22T06:34:43.337477806Z stdout F first line\n\
                    2026-11-22T06:34:43.337477807Z stderr P long \n\
                    2026-11-22T06:34:43.337477808Z stderr F er\n\
                    2026-11-22T06:34:43.337477809Z stdout F \n";
        fs::write(&path, text).unwrap();
        assert_eq!(last(&path, 100).unwrap(), "first line\na long er\n\n");
        assert_eq!(last(&path, 4).unwrap(), "er\n\n");
        assert_eq!(last(&folder.path().join("none"), 4).unwrap(), "");
    }

    #[test]
    fn a_beginning_that_was_cut_off_is_not_taken_for_output() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        let line = "2026-11-22T06:34:43.337477806Z stdout F y\n";
        fs::write(&path, line.repeat(100)).unwrap();
        assert_eq!(last(&path, 2).unwrap(), "y\n");
    }
}
