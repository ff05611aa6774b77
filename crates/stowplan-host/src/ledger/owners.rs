//! Who needs an object that runs may share.

use std::fs;
use std::path::Path;

use super::{Object, Owner};
use crate::HostError;

/// The living owners whose ledgers in the folder `state` name `object`.
///
/// # Errors
/// When the folder cannot be read.
pub fn living_owners(state: &Path, object: &Object) -> Result<Vec<Owner>, HostError> {
    let entries = fs::read_dir(state).map_err(|e| HostError::io("read", state, e))?;
    let paths = entries.filter_map(Result::ok).map(|entry| entry.path());
    Ok(paths
        .filter(|path| path.extension().is_some_and(|e| e == "ledger"))
        // One that is gone by now, or broken, has no living owner.
        .filter_map(|path| owner_of(&fs::read_to_string(path).ok()?, object))
        .filter(Owner::is_alive)
        .collect())
}

/// The owner of a ledger that names the object.
fn owner_of(ledger: &str, object: &Object) -> Option<Owner> {
    let mut lines = ledger.lines();
    let owner = serde_json::from_str(lines.next()?).ok()?;
    lines
        .any(|line| serde_json::from_str::<Object>(line).is_ok_and(|entered| entered == *object))
        .then_some(owner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ledger::Ledger;

    #[test]
    fn the_owners_of_an_object_are_those_who_live() {
        let state = tempfile::tempdir().unwrap();
        let image = |tag: &str| Object::Image {
            engine: "cri".to_owned(),
            tag: tag.to_owned(),
        };
        let mut ledger = Ledger::open(state.path(), "7-1").unwrap();
        ledger.enter(&image("a")).unwrap();
        let living = fs::read_to_string(
            state
                .path()
                .join(format!("7-1-{}.ledger", std::process::id())),
        );
        // The same, of a process that was started at another time.
        let ticks = crate::process::start_ticks(std::process::id()).unwrap();
        let dead = living.unwrap().replace(&ticks.to_string(), "1");
        fs::write(state.path().join("dead.ledger"), dead).unwrap();
        let runs = |tag: &str| {
            let owners = living_owners(state.path(), &image(tag)).unwrap();
            owners
                .into_iter()
                .map(|owner| owner.run)
                .collect::<Vec<_>>()
        };
        assert_eq!(runs("a"), ["7-1"]);
        assert_eq!(runs("b"), Vec::<String>::new());
    }
}
