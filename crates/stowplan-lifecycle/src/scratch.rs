//! A folder in a result for what does not belong to it.

use std::fs;
use std::io;
use std::path::Path;

use stowplan_measure::RunError;

/// With what names of such folders begin.
const SCRATCH: &str = "scratch-";

/// Gives a folder to `with`, and removes it afterwards.
///
/// # Errors
/// When it cannot be made or removed, or `with` fails.
pub(crate) fn within<T>(
    result: &Path,
    run: &str,
    with: impl FnOnce(&Path) -> Result<T, RunError>,
) -> Result<T, RunError> {
    let scratch = result.join(format!("{SCRATCH}{run}"));
    fs::create_dir_all(&scratch).map_err(|error| unwritable(&scratch, &error))?;
    let given = with(&scratch);
    let removed = fs::remove_dir_all(&scratch);
    let given = given?;
    removed.map_err(|error| unwritable(&scratch, &error))?;
    Ok(given)
}

/// Removes what a session that was killed has left.
///
/// # Errors
/// When it cannot be removed.
pub(crate) fn clear(result: &Path) -> io::Result<()> {
    for entry in fs::read_dir(result)? {
        let entry = entry?;
        if entry.file_name().to_string_lossy().starts_with(SCRATCH) {
            fs::remove_dir_all(entry.path())?;
        }
    }
    Ok(())
}

pub(crate) fn unwritable(path: &Path, error: &io::Error) -> RunError {
    RunError::new(format!("cannot write '{}': {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_killed_session_left_goes_and_the_rest_stays() {
        let result = tempfile::tempdir().unwrap();
        let left = result.path().join("scratch-7-1");
        fs::create_dir_all(left.join("adas")).unwrap();
        fs::write(result.path().join("experiment.json"), "{}").unwrap();
        clear(result.path()).unwrap();
        let names: Vec<_> = fs::read_dir(result.path()).unwrap().flatten().collect();
        assert_eq!(names.len(), 1, "{names:?}");
        within(result.path(), "8", |scratch| {
            fs::write(scratch.join("x"), "").unwrap();
            Ok(())
        })
        .unwrap();
        assert!(!result.path().join("scratch-8").exists());
    }
}
