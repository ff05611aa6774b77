//! Reading bags.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

use mcap::{MAGIC, McapError, MessageStream};
use memmap2::Mmap;
use sha2::{Digest, Sha256};

use crate::error::ReplayError;

const SQLITE: &[u8] = b"SQLite format 3\0";
const ZSTD: &[u8] = &[0x28, 0xb5, 0x2f, 0xfd];

/// A message of a bag.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecordedMessage {
    /// When it was recorded, ns since 1970: the log time, which `ros2 bag play` goes by.
    pub log_ns: u64,
    /// Its serialised size.
    pub bytes: u64,
}

/// What a bag has recorded, by topic.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bag {
    /// The bag as the user named it.
    pub path: PathBuf,
    /// SHA-256 of its file; of several, of their digests in the order of their names.
    pub sha256: String,
    /// Messages of every topic in the order of their times.
    pub topics: BTreeMap<String, Vec<RecordedMessage>>,
}

impl Bag {
    /// Reads a bag: an MCAP file, or a folder with some.
    ///
    /// # Errors
    /// When it cannot be read, is not MCAP or is cut, has a compression that is unknown, or has times that fall back.
    pub fn read(path: &Path) -> Result<Self, ReplayError> {
        let mut bag = Self {
            path: path.to_owned(),
            sha256: String::new(),
            topics: BTreeMap::new(),
        };
        let mut digests = Vec::new();
        for file in files(path)? {
            digests.push(bag.add(&file)?);
        }
        bag.sha256 = match &*digests {
            [one] => one.clone(),
            several => hex::encode(Sha256::digest(several.concat())),
        };
        for (topic, messages) in &bag.topics {
            in_order(path, topic, messages)?;
        }
        Ok(bag)
    }

    /// Adds the messages of a file and gives its digest.
    fn add(&mut self, path: &Path) -> Result<String, ReplayError> {
        let unread = |e| ReplayError::new(path, "it cannot be read").because(e);
        let file = File::open(path).map_err(unread)?;
        // SAFETY: it is only read; a bag that somebody cuts meanwhile ends this program, which has started nothing yet.
        let bytes = unsafe { Mmap::map(&file) }.map_err(unread)?;
        looks_right(path, &bytes)?;
        let messages = MessageStream::new(&bytes).map_err(|error| broken(path, error))?;
        for message in messages {
            let message = message.map_err(|error| broken(path, error))?;
            let recorded = RecordedMessage {
                log_ns: message.log_time,
                bytes: message.data.len() as u64,
            };
            self.keep(&message.channel.topic, recorded);
        }
        Ok(hex::encode(Sha256::digest(&bytes)))
    }

    fn keep(&mut self, topic: &str, message: RecordedMessage) {
        match self.topics.get_mut(topic) {
            Some(messages) => messages.push(message),
            None => {
                self.topics.insert(topic.to_owned(), vec![message]);
            }
        }
    }
}

/// The MCAP files of a bag, in the order of the numbers at the end of their names, as `rosbag2` gives them: `x_2` is before `x_10`.
fn files(path: &Path) -> Result<Vec<PathBuf>, ReplayError> {
    if !path.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let entries =
        fs::read_dir(path).map_err(|e| ReplayError::new(path, "it cannot be read").because(e))?;
    let all = entries.filter_map(|entry| Some(entry.ok()?.path()));
    let all: Vec<PathBuf> = all.collect();
    let with = |extension: &str| {
        let files = all.iter();
        let mut files: Vec<PathBuf> = files
            .filter(|file| file.extension().is_some_and(|is| is == extension))
            .cloned()
            .collect();
        files.sort_by_cached_key(|file| numbered(file));
        files
    };
    if let Some(database) = with("db3").first() {
        return Err(is_sqlite(database));
    }
    let files = with("mcap");
    if files.is_empty() {
        return Err(ReplayError::new(path, "the folder has no MCAP file")
            .hint("name a file that ends with .mcap, or the folder of a bag that has some"));
    }
    Ok(files)
}

/// The name of a file without the number at its end, and that number.
fn numbered(file: &Path) -> (String, u64) {
    let name = file.file_stem().unwrap_or_default().to_string_lossy();
    let base = name.trim_end_matches(|c: char| c.is_ascii_digit());
    (base.to_owned(), name[base.len()..].parse().unwrap_or(0))
}

/// Whether a file begins and ends as MCAP does.
fn looks_right(path: &Path, bytes: &[u8]) -> Result<(), ReplayError> {
    if bytes.starts_with(SQLITE) {
        return Err(is_sqlite(path));
    }
    if bytes.starts_with(ZSTD) {
        return Err(
            ReplayError::new(path, "the whole file is compressed with zstd")
                .hint("decompress it with 'zstd -d'; compressed chunks inside of MCAP can be read"),
        );
    }
    if !bytes.starts_with(MAGIC) {
        return Err(ReplayError::new(path, "it is not an MCAP file")
            .hint("record with 'ros2 bag record -s mcap', or convert with 'ros2 bag convert'"));
    }
    if bytes.len() < 2 * MAGIC.len() || !bytes.ends_with(MAGIC) {
        return Err(is_cut(path));
    }
    Ok(())
}

fn is_sqlite(path: &Path) -> ReplayError {
    ReplayError::new(path, "it is a bag in SQLite, and MCAP is read")
        .hint("convert it with 'ros2 bag convert' to 'storage_id: mcap'")
}

fn is_cut(path: &Path) -> ReplayError {
    ReplayError::new(path, "the MCAP file is cut: its end is missing")
        .hint("'mcap recover' saves what is whole, or copy the file again")
}

fn broken(path: &Path, error: McapError) -> ReplayError {
    match error {
        McapError::UnexpectedEof => is_cut(path),
        McapError::UnsupportedCompression(name) => ReplayError::new(
            path,
            format!("its chunks are compressed with '{name}', which is not known"),
        )
        .hint("'mcap compress --compression zstd' writes it anew; lz4 is read, too"),
        error => ReplayError::new(path, "the MCAP file is broken")
            .hint("'mcap doctor' says where, and 'mcap recover' saves what is whole")
            .because(error),
    }
}

fn in_order(path: &Path, topic: &str, messages: &[RecordedMessage]) -> Result<(), ReplayError> {
    let falls = messages
        .windows(2)
        .position(|two| two[1].log_ns < two[0].log_ns);
    let Some(at) = falls else {
        return Ok(());
    };
    let back = messages[at].log_ns - messages[at + 1].log_ns;
    let cause = format!(
        "the times of topic '{topic}' fall back: message {} was recorded {back} ns before message {}",
        at + 2,
        at + 1
    );
    Err(ReplayError::new(path, cause).hint("'mcap sort' writes it anew in the order of its times"))
}

#[cfg(test)]
#[path = "bag_tests.rs"]
mod tests;
