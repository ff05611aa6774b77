//! Many empty files, created and deleted, as bonnie++ does with `-n`.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use rustix::fs::{IFlags, ioctl_getflags, ioctl_setflags, syncfs};
use stowplan_wire::bench::BenchFigure;

use super::measure::{Timed, median, timed};
use super::storage::folder;
use super::{BenchArgs, Found, failed};
use crate::error::NodeError;
use crate::record::now;

/// As many as in "Bare-metal vs. hypervisors and containers" (Wen et al., 2023), section II-E.
const FILES: u64 = 512;

/// Folders of which those are taken that create fastest. On ext4 each is a random one of the groups of inodes, of which a disk of
/// 100 GB has 50; few of them have files that were deleted in the last minute.
const CANDIDATES: usize = 8;

/// The fastest of them, which take turns: the median round is one of a good folder, where one of them is not as good as it was.
const TAKEN: usize = 3;

pub(super) fn run(args: &BenchArgs) -> Result<Found, NodeError> {
    let (folder, storage) = folder(args)?;
    let own = folder.join(format!("files-{}", std::process::id()));
    let measured = fs::create_dir(&own).and_then(|()| measure(args, &own));
    // What is in the way of removing it was in the way of measuring.
    let _ = fs::remove_dir_all(&own);
    // ext4 keeps the inodes of deleted files for five minutes more while they are not on the disk.
    let _ = File::open(&folder).map(syncfs);
    let figures =
        measured.map_err(|error| failed(&args.name, format!("{}: {error}", own.display())))?;
    let found = Found {
        storage: Some(storage),
        ..Found::of(figures)
    };
    Ok(found.with("files", FILES))
}

/// All rounds of creating go before those of deleting: where files were deleted, ext4 creates more slowly.
fn measure(args: &BenchArgs, own: &Path) -> io::Result<Vec<BenchFigure>> {
    let target = u64::try_from(args.time.as_nanos()).unwrap_or(u64::MAX) / 2;
    spread(own);
    let folders = cleanest(own)?;
    let round = |number: usize| folders[number % TAKEN].join(format!("round-{number}"));
    let mut created: Vec<Timed> = Vec::new();
    while created.len() < TAKEN || created.iter().map(|round| round.ns).sum::<u64>() < target {
        created.push(create(&round(created.len()))?);
    }
    let rounds = 0..created.len();
    let deleted = rounds.map(|number| each(&round(number), |path| fs::remove_file(path)));
    let deleted = deleted.collect::<io::Result<Vec<_>>>()?;
    Ok(vec![
        median(created).rate("file_create", "files/s", 1.0),
        median(deleted).rate("file_delete", "files/s", 1.0),
    ])
}

/// Has ext4 put the subfolders of a folder into groups of inodes of their own, far from each other (chattr(1), `T`). Other file systems
/// have no such flag, and do without.
fn spread(folder: &Path) {
    let set = |folder: File| ioctl_setflags(&folder, ioctl_getflags(&folder)? | IFlags::TOPDIR);
    let _ = File::open(folder).map(set);
}

/// Those of some new subfolders in which files are created fastest. ext4 does not use the inode of a deleted file again for a
/// minute (`recently_deleted` in fs/ext4/ialloc.c), and passes over all such inodes of a group for each new file.
fn cleanest(own: &Path) -> io::Result<[PathBuf; TAKEN]> {
    let candidates = (0..CANDIDATES).map(|_| {
        // ext4 chooses the group by the name, which is another in each run by its time.
        let folder = own.join(now().to_string());
        fs::create_dir(&folder)?;
        Ok((create(&folder.join("probe"))?.ns, folder))
    });
    let mut candidates = candidates.collect::<io::Result<Vec<_>>>()?;
    candidates.sort_unstable();
    let mut fastest = candidates.into_iter().map(|(_, folder)| folder);
    Ok(std::array::from_fn(|_| {
        fastest.next().expect("more are made")
    }))
}

/// Makes a folder and creates the files in it; how long the files took.
fn create(folder: &Path) -> io::Result<Timed> {
    fs::create_dir(folder)?;
    each(folder, |path| File::create_new(path).map(drop))
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
        let round = folder.path().join("round");
        create(&round).unwrap();
        assert_eq!(fs::read_dir(&round).unwrap().count() as u64, FILES);
        each(&round, |path| fs::remove_file(path)).unwrap();
        assert_eq!(fs::read_dir(&round).unwrap().count(), 0);
        fs::remove_dir(&round).unwrap();
        let asked = BenchArgs {
            folder: Some(folder.path().to_owned()),
            ..args("files")
        };
        let found = run(&asked).unwrap();
        assert!(found.figures.iter().all(|figure| figure.count == FILES));
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn rounds_take_turns_in_some_of_many_new_folders() {
        let own = tempfile::tempdir().unwrap();
        spread(own.path());
        let folders = cleanest(own.path()).unwrap();
        assert_eq!(fs::read_dir(own.path()).unwrap().count(), CANDIDATES);
        let different = folders.iter().collect::<std::collections::BTreeSet<_>>();
        assert_eq!(different.len(), TAKEN);
        for folder in folders {
            assert_eq!(
                fs::read_dir(folder.join("probe")).unwrap().count() as u64,
                FILES
            );
        }
    }
}
