//! Traces in folders: finding them, mapping their files.
//!
//! Files are mapped, not read: they must not shrink while they are open. Pages that
//! were read are given back while reading goes on, so that what a reader holds in
//! memory depends on the number of streams and not on their length.

use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

use memmap2::{Advice, Mmap};

use crate::error::CtfError;
use crate::metadata::Metadata;
use crate::packet::MAGIC;
use crate::reader::{Events, Summary, TraceInput};

use crate::release::Behind;

/// How deep below the given folder traces are looked for.
const DEEPEST: usize = 16;

/// All traces in a folder and below it.
#[derive(Debug)]
pub struct TraceFolder {
    traces: Vec<OpenTrace>,
}

/// One trace: a folder with a file `metadata`.
#[derive(Debug)]
pub struct OpenTrace {
    path: PathBuf,
    metadata: Metadata,
    files: Vec<StreamFile>,
}

#[derive(Debug)]
struct StreamFile {
    name: String,
    /// `None` for an empty file, which cannot be mapped.
    map: Option<Mmap>,
}

impl TraceFolder {
    /// Opens every trace in `path` and below it, in the order of their paths.
    /// Symbolic links to folders are not followed.
    ///
    /// # Errors
    /// If there is none, or a file cannot be opened or parsed, or streams have no metadata.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, CtfError> {
        let (folders, mut lacking) = folders(path.as_ref())?;
        if !lacking.is_empty() {
            return Err(lacking.swap_remove(0));
        }
        let traces = folders.into_iter().map(OpenTrace::open);
        Ok(Self {
            traces: traces.collect::<Result<_, _>>()?,
        })
    }

    /// As [`TraceFolder::open`], without the traces that cannot be opened: their
    /// errors are added to `damage`.
    ///
    /// # Errors
    /// If there is none that can be opened.
    pub fn open_readable(
        path: impl AsRef<Path>,
        damage: &mut Vec<CtfError>,
    ) -> Result<Self, CtfError> {
        let mut traces = Vec::new();
        let (folders, mut errors) = folders(path.as_ref())?;
        for folder in folders {
            match OpenTrace::open(folder) {
                Ok(trace) => traces.push(trace),
                Err(error) => errors.push(error),
            }
        }
        if traces.is_empty() && !errors.is_empty() {
            return Err(errors.swap_remove(0));
        }
        damage.append(&mut errors);
        Ok(Self { traces })
    }

    /// The traces; [`Event::trace`](crate::reader::Event::trace) is an index into it.
    pub fn traces(&self) -> &[OpenTrace] {
        &self.traces
    }

    /// The traces as bytes.
    pub fn inputs(&self) -> Vec<TraceInput<'_>> {
        self.traces.iter().map(OpenTrace::input).collect()
    }

    /// The events of all traces in order of time.
    ///
    /// # Errors
    /// If the first packet of a file cannot be read.
    pub fn events(&self) -> Result<Events<'_>, CtfError> {
        self.events_of(&self.inputs())
    }

    /// As [`TraceFolder::events`], without the files whose first packet cannot be
    /// read: their errors are added to `damage`.
    ///
    /// # Errors
    /// If there is no file left.
    pub fn readable_events(&self, damage: &mut Vec<CtfError>) -> Result<Events<'_>, CtfError> {
        let mut inputs = self.inputs();
        loop {
            let error = match self.events_of(&inputs) {
                Ok(events) => return Ok(events),
                Err(error) => error,
            };
            let CtfError::Stream { file, .. } = &error else {
                return Err(error);
            };
            let files = |inputs: &[TraceInput<'_>]| inputs.iter().map(|i| i.files.len()).sum();
            let before: usize = files(&inputs);
            for input in &mut inputs {
                input.files.retain(|(name, _)| name != file);
            }
            let left: usize = files(&inputs);
            if left == before || left == 0 {
                return Err(error);
            }
            damage.push(error);
        }
    }

    /// `inputs` are some of [`TraceFolder::inputs`].
    fn events_of<'t>(&'t self, inputs: &[TraceInput<'t>]) -> Result<Events<'t>, CtfError> {
        let files = || self.traces.iter().flat_map(|trace| &trace.files);
        let all = files().count();
        let behind = |data: &[u8]| {
            let mut files = files();
            files.find_map(|file| Behind::new(file.map.as_ref()?, data, all))
        };
        Events::giving_back(inputs, behind)
    }

    /// Counts over all traces.
    ///
    /// # Errors
    /// At the first fault in a stream.
    pub fn summary(&self) -> Result<Summary, CtfError> {
        Summary::of(&self.inputs())
    }
}

impl OpenTrace {
    fn open(path: PathBuf) -> Result<Self, CtfError> {
        let file = path.join("metadata");
        let bytes = fs::read(&file).map_err(|source| io(&file, source))?;
        let metadata = Metadata::parse(&bytes).map_err(|source| CtfError::Metadata {
            file: file.display().to_string(),
            source,
        })?;
        let mut files = Vec::new();
        for entry in entries(&path)? {
            let name = entry.file_name().unwrap_or_default().to_string_lossy();
            if name == "metadata" || name.starts_with('.') || !entry.is_file() {
                continue;
            }
            files.push(StreamFile::open(&entry)?);
        }
        Ok(Self {
            path,
            metadata,
            files,
        })
    }

    /// The folder.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Its metadata.
    pub fn metadata(&self) -> &Metadata {
        &self.metadata
    }

    /// The trace as bytes.
    pub fn input(&self) -> TraceInput<'_> {
        TraceInput {
            metadata: &self.metadata,
            files: self
                .files
                .iter()
                .map(|file| (file.name.as_str(), file.map.as_deref().unwrap_or(&[])))
                .collect(),
        }
    }
}

impl StreamFile {
    fn open(path: &Path) -> Result<Self, CtfError> {
        let file = File::open(path).map_err(|source| io(path, source))?;
        let empty = file.metadata().map_err(|source| io(path, source))?.len() == 0;
        let map = if empty {
            None
        } else {
            // SAFETY: the map is read only. That nobody shortens a trace while it is read is
            // what the module asks for; finished traces do not change.
            let map = unsafe { Mmap::map(&file) }.map_err(|source| io(path, source))?;
            // Only advice: reading works without it.
            let _ = map.advise(Advice::Sequential);
            Some(map)
        };
        Ok(Self {
            name: path.display().to_string(),
            map,
        })
    }
}

/// The folders of the traces in `path` and below it, and an error for each that has streams without metadata.
fn folders(path: &Path) -> Result<(Vec<PathBuf>, Vec<CtfError>), CtfError> {
    let (mut folders, mut lacking) = (Vec::new(), Vec::new());
    find(path, 0, &mut folders, &mut lacking)?;
    if folders.is_empty() && lacking.is_empty() {
        return Err(CtfError::NoTrace { path: path.into() });
    }
    Ok((folders, lacking))
}

fn find(
    path: &Path,
    depth: usize,
    found: &mut Vec<PathBuf>,
    lacking: &mut Vec<CtfError>,
) -> Result<(), CtfError> {
    let entries = entries(path)?;
    if path.join("metadata").is_file() {
        found.push(path.to_path_buf());
    } else {
        let files = entries.iter().filter(|entry| is_stream(entry)).count();
        if files > 0 {
            lacking.push(CtfError::NoMetadata {
                path: path.to_path_buf(),
                files,
            });
        }
    }
    if depth == DEEPEST {
        return Ok(());
    }
    for entry in entries {
        if entry.is_dir() && !entry.is_symlink() {
            find(&entry, depth + 1, found, lacking)?;
        }
    }
    Ok(())
}

/// Whether a file begins as a packet of events does, in either byte order.
fn is_stream(path: &Path) -> bool {
    let mut start = [0; 4];
    let read = |mut file: File| file.read_exact(&mut start);
    path.is_file()
        && File::open(path).and_then(read).is_ok()
        && [u32::from_le_bytes(start), u32::from_be_bytes(start)].contains(&MAGIC)
}

/// What a folder contains, sorted.
fn entries(path: &Path) -> Result<Vec<PathBuf>, CtfError> {
    let mut entries = fs::read_dir(path)
        .and_then(|entries| {
            entries
                .map(|entry| Ok(entry?.path()))
                .collect::<Result<Vec<_>, _>>()
        })
        .map_err(|source| io(path, source))?;
    entries.sort();
    Ok(entries)
}

fn io(path: &Path, source: std::io::Error) -> CtfError {
    CtfError::Io {
        path: path.into(),
        source,
    }
}
