//! Every instance of chains as a Parquet file.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use arrow_array::{ArrayRef, BooleanArray, Int64Array, RecordBatch, StringArray};
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::properties::WriterProperties;
use stowplan_trace::{Analysis, ChainInstance, ChainResult};

use crate::failure::{CommandError, ExitCode};

/// A file with one row per output of chains; times in ns of the trace's clock.
/// Invalid ones have `valid` false and no parts. Without a chain there is no file.
pub struct InstancesFile<'p> {
    path: &'p Path,
    writer: Option<ArrowWriter<File>>,
}

impl<'p> InstancesFile<'p> {
    pub fn new(path: &'p Path) -> Self {
        Self { path, writer: None }
    }

    /// Writes the outputs of a chain.
    pub fn add(
        &mut self,
        analysis: &Analysis,
        number: usize,
        result: &ChainResult,
    ) -> Result<(), CommandError> {
        let written = self.try_add(analysis, number, result);
        written.map_err(|error| self.cannot(&*error))
    }

    fn try_add(
        &mut self,
        analysis: &Analysis,
        number: usize,
        result: &ChainResult,
    ) -> Result<(), Box<dyn std::error::Error>> {
        let batch = batch(analysis, number, result)?;
        let writer = match &mut self.writer {
            Some(writer) => writer,
            none => {
                let properties = WriterProperties::builder()
                    .set_compression(Compression::ZSTD(ZstdLevel::default()))
                    .build();
                let file = File::create(self.path)?;
                none.insert(ArrowWriter::try_new(
                    file,
                    batch.schema(),
                    Some(properties),
                )?)
            }
        };
        writer.write(&batch)?;
        Ok(())
    }

    /// Ends the file.
    pub fn close(mut self) -> Result<(), CommandError> {
        let closed = self.writer.take().map(ArrowWriter::close).transpose();
        closed.map_err(|error| self.cannot(&error))?;
        Ok(())
    }

    fn cannot(&self, error: &dyn std::error::Error) -> CommandError {
        let message = format!("cannot write {}: {error}", self.path.display());
        CommandError::new(ExitCode::BadInput, message)
    }
}

fn batch(
    analysis: &Analysis,
    number: usize,
    result: &ChainResult,
) -> Result<RecordBatch, arrow_schema::ArrowError> {
    let valid = result.instances.len();
    let rows = valid + result.invalid.len();
    let (chain, path) = names(analysis, number, result);
    let ints = |of: &dyn Fn(&ChainInstance) -> Option<i64>| -> ArrayRef {
        let values = result.instances.iter().map(of);
        let none = std::iter::repeat_n(None, rows - valid);
        Arc::new(Int64Array::from_iter(values.chain(none)))
    };
    let ended = result
        .invalid
        .iter()
        .map(|invalid| analysis.records.instances[invalid.output].end_ns.get());
    let outputs = result.instances.iter().map(|i| Some(i.output_ns));
    let words = result.instances.iter().map(|i| Some(i.confidence.name()));
    let reasons = result.invalid.iter().map(|i| Some(i.reason.as_str()));
    let none = std::iter::repeat_n(None, valid);
    RecordBatch::try_from_iter_with_nullable([
        (
            "chain",
            texts(std::iter::repeat_n(Some(chain.as_str()), rows)),
            false,
        ),
        (
            "path",
            texts(std::iter::repeat_n(Some(path.as_str()), rows)),
            false,
        ),
        (
            "input_ns",
            ints(&|i| Some(result.inputs[i.input].start_ns)),
            true,
        ),
        (
            "output_ns",
            Arc::new(Int64Array::from_iter(outputs.chain(ended))) as ArrayRef,
            true,
        ),
        ("e2e_ns", ints(&|i| Some(i.e2e_ns)), true),
        ("e2e_full_ns", ints(&|i| i.e2e_full_ns), true),
        (
            "computation_ns",
            ints(&|i| Some(i.parts.computation_ns)),
            true,
        ),
        ("send_ns", ints(&|i| Some(i.parts.send_ns)), true),
        ("transit_ns", ints(&|i| Some(i.parts.transit_ns)), true),
        ("transport_ns", ints(&|i| i.parts.transport_ns), true),
        ("wait_ns", ints(&|i| i.parts.wait_ns), true),
        ("idle_ns", ints(&|i| Some(i.parts.idle_ns)), true),
        ("age_ns", ints(&|i| Some(i.age_ns)), true),
        (
            "valid",
            Arc::new(BooleanArray::from_iter(
                (0..rows).map(|row| Some(row < valid)),
            )) as ArrayRef,
            false,
        ),
        (
            "least_sure_link",
            texts(words.chain(std::iter::repeat_n(None, rows - valid))),
            true,
        ),
        ("reason", texts(none.chain(reasons)), true),
    ])
}

/// Name of a chain, or its number where it has none, and its callbacks.
fn names(analysis: &Analysis, number: usize, result: &ChainResult) -> (String, String) {
    let chain = if result.chain.name.is_empty() {
        number.to_string()
    } else {
        result.chain.name.clone()
    };
    let callbacks = result.chain.callbacks.iter();
    let path: Vec<String> = callbacks
        .map(|&callback| analysis.graph.describe(callback))
        .collect();
    (chain, path.join(" → "))
}

fn texts<'s>(values: impl Iterator<Item = Option<&'s str>>) -> ArrayRef {
    Arc::new(StringArray::from_iter(values))
}
