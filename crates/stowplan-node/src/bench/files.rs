//! Many empty files, created and deleted, as bonnie++ does with `-n`.

use std::fs::{self, File};
use std::io;
use std::path::Path;

use stowplan_wire::bench::BenchFigure;

use super::measure::{Timed, timed};
use super::storage::folder;
use super::{BenchArgs, Found, failed};
use crate::error::NodeError;

/// As many as in "Bare-metal vs. hypervisors and containers" (Wen et al., 2023), section II-E.
const FILES: u64 = 512;

pub(super) fn run(args: &BenchArgs) -> Result<Found, NodeError> {
    let (folder, storage) = folder(args)?;
    let own = folder.join(format!("files-{}", std::process::id()));
    let measured = fs::create_dir(&own).and_then(|()| measure(args, &own));
    // What is in the way of removing it was in the way of measuring.
    let _ = fs::remove_dir_all(&own);
    let figures =
        measured.map_err(|error| failed(&args.name, format!("{}: {error}", own.display())))?;
    let found = Found {
        storage: Some(storage),
        ..Found::of(figures)
    };
    Ok(found.with("files", FILES))
}

fn measure(args: &BenchArgs, folder: &Path) -> io::Result<Vec<BenchFigure>> {
    let target = u64::try_from(args.time.as_nanos()).unwrap_or(u64::MAX);
    let mut created = Timed { count: 0, ns: 0 };
    let mut deleted = created;
    while created.count == 0 || created.ns + deleted.ns < target {
        add(
            &mut created,
            each(folder, |path| File::create_new(path).map(drop))?,
        );
        add(&mut deleted, each(folder, |path| fs::remove_file(path))?);
    }
    Ok(vec![
        created.rate("file_create", "files/s", 1.0),
        deleted.rate("file_delete", "files/s", 1.0),
    ])
}

fn add(all: &mut Timed, one: Timed) {
    all.count += one.count;
    all.ns += one.ns;
}

/// Does something with every file; how long that took.
fn each(folder: &Path, mut does: impl FnMut(&Path) -> io::Result<()>) -> io::Result<Timed> {
    let paths: Vec<_> = (0..FILES)
        .map(|number| folder.join(format!("{number:05}")))
        .collect();
    let mut result = Ok(());
    let timed = timed(FILES, |_| {
        result = paths.iter().try_for_each(|path| does(path));
    });
    result.map(|()| timed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::tests::args;

    #[test]
    fn all_files_are_created_and_deleted_again() {
        let folder = tempfile::tempdir().unwrap();
        each(folder.path(), |path| File::create_new(path).map(drop)).unwrap();
        let there = fs::read_dir(folder.path()).unwrap().count();
        assert_eq!(there as u64, FILES);
        each(folder.path(), |path| fs::remove_file(path)).unwrap();
        let asked = BenchArgs {
            folder: Some(folder.path().to_owned()),
            ..args("files")
        };
        let found = run(&asked).unwrap();
        assert!(found.figures.iter().all(|figure| figure.count % FILES == 0));
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
