use mcap::Compression;
use stowplan_testkit::{McapMessages, mcap_file};

use super::*;

const DRIVE: McapMessages<'_> = &[
    ("/points", 1_000, 90),
    ("/imu", 1_010, 8),
    ("/points", 1_100, 70),
    ("/imu", 1_100, 8),
];

fn written(bytes: &[u8]) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("drive.mcap");
    fs::write(&path, bytes).unwrap();
    (folder, path)
}

fn uncompressed(messages: McapMessages<'_>) -> Vec<u8> {
    mcap_file(messages, None).unwrap()
}

fn error_of(bytes: &[u8]) -> (String, String) {
    let (_folder, path) = written(bytes);
    let error = Bag::read(&path).unwrap_err();
    let told = error.to_string();
    assert!(told.contains("drive.mcap"), "{told}");
    (told, error.hint.unwrap())
}

#[test]
fn times_and_sizes_are_read_whatever_the_compression() {
    let files = [None, Some(Compression::Zstd), Some(Compression::Lz4)]
        .map(|compression| mcap_file(DRIVE, compression).unwrap());
    for bytes in &files {
        let (_folder, path) = written(bytes);
        let bag = Bag::read(&path).unwrap();
        let of = |topic: &str| -> Vec<(u64, u64)> {
            bag.topics[topic]
                .iter()
                .map(|m| (m.log_ns, m.bytes))
                .collect()
        };
        assert_eq!(bag.topics.len(), 2);
        assert_eq!(of("/points"), [(1_000, 90), (1_100, 70)]);
        assert_eq!(of("/imu"), [(1_010, 8), (1_100, 8)]);
        assert_eq!(bag.sha256, hex::encode(Sha256::digest(bytes)));
    }
}

#[test]
fn the_files_of_a_folder_are_one_bag() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("metadata.yaml"), "").unwrap();
    fs::write(
        folder.path().join("drive_0.mcap"),
        uncompressed(&DRIVE[..2]),
    )
    .unwrap();
    fs::write(
        folder.path().join("drive_1.mcap"),
        uncompressed(&DRIVE[2..]),
    )
    .unwrap();
    let bag = Bag::read(folder.path()).unwrap();
    assert_eq!(bag.topics["/points"].len(), 2);
    assert_eq!(bag.topics["/imu"].len(), 2);
    let empty = tempfile::tempdir().unwrap();
    let error = Bag::read(empty.path()).unwrap_err();
    assert!(error.to_string().contains("no MCAP file"), "{error}");
    fs::write(empty.path().join("drive_0.db3"), SQLITE).unwrap();
    let error = Bag::read(empty.path()).unwrap_err();
    assert!(error.hint.unwrap().contains("ros2 bag convert"));
}

#[test]
fn what_cannot_be_read_says_why_and_what_to_do() {
    let plain = uncompressed(DRIVE);
    let (told, hint) = error_of(&plain[..plain.len() - 20]);
    assert!(
        told.contains("cut") && hint.contains("mcap recover"),
        "{told}"
    );
    let (told, _) = error_of(&plain[..10]);
    assert!(told.contains("cut"), "{told}");
    let (told, hint) = error_of(b"points,1,2");
    assert!(
        told.contains("not an MCAP file") && hint.contains("-s mcap"),
        "{told}"
    );
    let (told, _) = error_of(b"");
    assert!(
        told.contains("cannot be read") || told.contains("not an MCAP"),
        "{told}"
    );
    let (told, hint) = error_of(b"SQLite format 3\0rest");
    assert!(
        told.contains("SQLite") && hint.contains("ros2 bag convert"),
        "{told}"
    );
    let (_, hint) = error_of(&zstd::encode_all(&*plain, 1).unwrap());
    assert!(hint.contains("zstd -d"), "{hint}");
    let with_zstd = mcap_file(DRIVE, Some(Compression::Zstd)).unwrap();
    let name = with_zstd
        .windows(4)
        .position(|four| four == b"zstd")
        .unwrap();
    let mut strange = with_zstd.clone();
    strange[name..name + 4].copy_from_slice(b"brot");
    let (told, hint) = error_of(&strange);
    assert!(told.contains("'brot'") && hint.contains("zstd"), "{told}");
    // Behind the name is the length of what is compressed, then that.
    let mut broken = with_zstd;
    broken[name + 12..name + 16].fill(0);
    let (told, hint) = error_of(&broken);
    assert!(
        told.contains("broken") && hint.contains("mcap doctor"),
        "{told}"
    );
    // Cut within a record, with a sound end.
    let mut short = plain[..60].to_vec();
    short.extend(MAGIC);
    assert!(error_of(&short).0.contains("cut"));
    let (told, hint) = error_of(&uncompressed(&[("/imu", 1_010, 8), ("/imu", 1_000, 8)]));
    assert!(told.contains("'/imu' fall back: message 2"), "{told}");
    assert!(hint.contains("mcap sort"), "{hint}");
    let nowhere = Bag::read(Path::new("/nowhere/drive.mcap")).unwrap_err();
    assert!(nowhere.to_string().contains("cannot be read"));
}

#[test]
fn the_tenth_file_of_a_bag_comes_after_the_second() {
    let folder = tempfile::tempdir().unwrap();
    for number in 0..11 {
        let message = [("/points", 1_000 + number * 100, 8)];
        let path = folder.path().join(format!("drive_{number}.mcap"));
        fs::write(path, uncompressed(&message)).unwrap();
    }
    let bag = Bag::read(folder.path()).unwrap();
    let instants: Vec<u64> = bag.topics["/points"].iter().map(|m| m.log_ns).collect();
    assert!(instants.is_sorted() && instants.len() == 11, "{instants:?}");
}
