//! Logs of services.

use std::fs::File;
use std::io::{self, ErrorKind, Read, Seek, SeekFrom};
use std::path::Path;

/// The last `bytes` bytes of a file, with what is not UTF-8 replaced; nothing where there is no file.
///
/// # Errors
/// When it cannot be read.
pub fn tail(path: &Path, bytes: u64) -> io::Result<String> {
    let mut file = match File::open(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(String::new()),
        other => other?,
    };
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(bytes)))?;
    let mut text = Vec::new();
    file.take(bytes).read_to_end(&mut text)?;
    Ok(String::from_utf8_lossy(&text).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tail_of_a_log_is_its_last_bytes() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        std::fs::write(&path, "one\ntwo\n").unwrap();
        assert_eq!(tail(&path, 4).unwrap(), "two\n");
        assert_eq!(tail(&path, 100).unwrap(), "one\ntwo\n");
        assert_eq!(tail(&folder.path().join("none"), 4).unwrap(), "");
    }
}
