//! Files that appear whole or not at all, and Parquet files of one table.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use arrow_array::RecordBatch;
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::TABLE_VERSION;
use crate::error::ResultsError;
use crate::table::{Table, schema};

const VERSION_KEY: &str = "stowplan.version";
const RUNS_KEY: &str = "stowplan.runs";
/// Rows that are converted at once.
const BATCH: usize = 16_384;

/// Writes a file beside its place, syncs it and renames it there. The new name itself is on disk
/// after [`sync_folder`].
pub(crate) fn replace(
    path: &Path,
    write: impl FnOnce(&mut BufWriter<File>) -> Result<(), ResultsError>,
) -> Result<(), ResultsError> {
    let mut name = path.as_os_str().to_owned();
    name.push(".new");
    let new = PathBuf::from(name);
    let result = write_new(&new, write)
        .and_then(|()| std::fs::rename(&new, path).map_err(ResultsError::io("rename into", path)));
    if result.is_err() {
        // What is half written takes the space that finished runs may need; the error
        // that matters is the first one.
        let _ = std::fs::remove_file(&new);
    }
    result
}

fn write_new(
    new: &Path,
    write: impl FnOnce(&mut BufWriter<File>) -> Result<(), ResultsError>,
) -> Result<(), ResultsError> {
    let file = File::create(new).map_err(ResultsError::io("create", new))?;
    let mut file = BufWriter::new(file);
    write(&mut file)?;
    file.flush().map_err(ResultsError::io("write", new))?;
    let file = file.get_ref();
    file.sync_all().map_err(ResultsError::io("sync", new))
}

/// Brings the names in a folder to disk.
pub(crate) fn sync_folder(folder: &Path) -> Result<(), ResultsError> {
    File::open(folder)
        .and_then(|folder| folder.sync_all())
        .map_err(ResultsError::io("sync", folder))
}

/// Writes a JSON document, indented: people read these.
pub(crate) fn write_json<T: Serialize>(path: &Path, value: &T) -> Result<(), ResultsError> {
    let mut text = serde_json::to_vec_pretty(value).map_err(|source| ResultsError::Json {
        path: path.to_owned(),
        source,
    })?;
    text.push(b'\n');
    replace(path, |file| {
        file.write_all(&text)
            .map_err(ResultsError::io("write", path))
    })
}

/// Reads a JSON document whose `schema` is `expected`.
pub(crate) fn read_json<T: DeserializeOwned>(
    path: &Path,
    expected: &[&str],
) -> Result<T, ResultsError> {
    let broken = |source| ResultsError::Json {
        path: path.to_owned(),
        source,
    };
    let text = std::fs::read(path).map_err(ResultsError::io("read", path))?;
    let value: serde_json::Value = serde_json::from_slice(&text).map_err(broken)?;
    let found = value["schema"].as_str().unwrap_or("none");
    if !expected.contains(&found) {
        return Err(ResultsError::Format {
            path: path.to_owned(),
            found: found.to_owned(),
            expected: expected.join(" or "),
        });
    }
    // From the text again, not from the value: the error then has line and column.
    serde_json::from_slice(&text).map_err(broken)
}

/// A Parquet file of one table that is being written.
pub(crate) struct TableFile<'a> {
    path: &'a Path,
    writer: ArrowWriter<&'a mut BufWriter<File>>,
}

impl TableFile<'_> {
    pub(crate) fn append<T: Table>(&mut self, rows: &[T]) -> Result<(), ResultsError> {
        for rows in rows.chunks(BATCH) {
            let batch = T::to_batch(rows).map_err(|e| parquet_error(self.path, e.into()))?;
            self.writer
                .write(&batch)
                .map_err(|e| parquet_error(self.path, e))?;
        }
        Ok(())
    }
}

/// Writes a Parquet file that holds these runs; `fill` appends their rows.
pub(crate) fn write_table<T: Table>(
    path: &Path,
    runs: &BTreeSet<u32>,
    fill: impl FnOnce(&mut TableFile<'_>) -> Result<(), ResultsError>,
) -> Result<(), ResultsError> {
    let runs = serde_json::to_string(runs).expect("numbers always convert to JSON");
    let properties = WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::default()))
        .set_key_value_metadata(Some(vec![
            KeyValue::new(VERSION_KEY.to_owned(), TABLE_VERSION.to_string()),
            KeyValue::new(RUNS_KEY.to_owned(), runs),
        ]))
        .build();
    replace(path, |file| {
        let writer = ArrowWriter::try_new(file, schema::<T>(), Some(properties))
            .map_err(|e| parquet_error(path, e))?;
        let mut table = TableFile { path, writer };
        fill(&mut table)?;
        table.writer.close().map_err(|e| parquet_error(path, e))?;
        Ok(())
    })
}

/// A Parquet file of one table, opened.
pub(crate) struct TableReader {
    path: PathBuf,
    reader: ParquetRecordBatchReaderBuilder<File>,
}

impl TableReader {
    /// Opens a file; `None` where there is none.
    pub(crate) fn open(path: &Path) -> Result<Option<Self>, ResultsError> {
        let file = match File::open(path) {
            Ok(file) => file,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(ResultsError::io("open", path)(error)),
        };
        let reader = ParquetRecordBatchReaderBuilder::try_new(file)
            .map_err(|e| parquet_error(path, e))?
            .with_batch_size(BATCH);
        let metadata = reader.metadata().file_metadata().key_value_metadata();
        let value = |key: &str| {
            let pair = metadata.into_iter().flatten().find(|pair| pair.key == key);
            pair.and_then(|pair| pair.value.clone())
        };
        let version = value(VERSION_KEY).unwrap_or_else(|| "none".to_owned());
        let readable = version
            .parse::<u32>()
            .is_ok_and(|v| (1..=TABLE_VERSION).contains(&v));
        if !readable {
            return Err(ResultsError::Format {
                path: path.to_owned(),
                found: version,
                expected: TABLE_VERSION.to_string(),
            });
        }
        if value(RUNS_KEY).is_none() {
            return Err(ResultsError::Format {
                path: path.to_owned(),
                found: "a table without its list of runs".to_owned(),
                expected: format!("{RUNS_KEY} in the file's metadata"),
            });
        }
        Ok(Some(Self {
            path: path.to_owned(),
            reader,
        }))
    }

    /// Gives the rows to `take`, some thousand at a time.
    pub(crate) fn scan<T: Table>(
        self,
        take: &mut dyn FnMut(Vec<T>) -> Result<(), ResultsError>,
    ) -> Result<(), ResultsError> {
        let path = self.path;
        let mut batches = self.reader.build().map_err(|e| parquet_error(&path, e))?;
        // The parquet crate panics on some damaged pages (a flipped bit in a page header).
        // Nothing of the reader is used after a panic.
        let mut next = || {
            catch_unwind(AssertUnwindSafe(|| batches.next())).map_err(|_| {
                let damaged = "a page is damaged".to_owned();
                parquet_error(&path, parquet::errors::ParquetError::General(damaged))
            })
        };
        while let Some(batch) = next()? {
            let batch: RecordBatch = batch.map_err(|e| parquet_error(&path, e.into()))?;
            let rows = T::from_batch(&batch)
                .map_err(|(column, problem)| ResultsError::column(&path, &column, problem))?;
            take(rows)?;
        }
        Ok(())
    }
}

fn parquet_error(path: &Path, source: parquet::errors::ParquetError) -> ResultsError {
    // A full disk comes wrapped; it has its own hint.
    if let parquet::errors::ParquetError::External(inner) = source {
        return match inner.downcast::<std::io::Error>() {
            Ok(io) => ResultsError::io("write", path)(*io),
            Err(inner) => ResultsError::Parquet {
                path: path.to_owned(),
                source: parquet::errors::ParquetError::External(inner),
            },
        };
    }
    ResultsError::Parquet {
        path: path.to_owned(),
        source,
    }
}
