//! Tables as Rust rows: the schema, the documentation and the conversion come from one definition.

use arrow_array::RecordBatch;
use arrow_schema::ArrowError;
use arrow_schema::{Field, Schema};
use std::sync::Arc;

use crate::cell::Cell;

/// A column of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    /// Name.
    pub name: &'static str,
    /// Arrow type, as text.
    pub data_type: String,
    /// Whether it may be null.
    pub nullable: bool,
    /// Meaning and unit.
    pub doc: String,
    pub(crate) field: Field,
}

impl Column {
    pub(crate) fn of<T: Cell>(name: &'static str, doc: &str) -> Self {
        let data_type = T::data_type();
        let shown = match &data_type {
            arrow_schema::DataType::List(_) => "list of Utf8".to_owned(),
            other => other.to_string(),
        };
        Self {
            name,
            data_type: shown,
            nullable: T::NULLABLE,
            doc: match T::words() {
                [] => doc.trim().to_owned(),
                words => format!("{} One of {}.", doc.trim(), words.join(", ")),
            },
            field: Field::new(name, data_type, T::NULLABLE),
        }
    }
}

/// A row type with its table.
pub trait Table: Sized {
    /// Name of the table and, with `.parquet`, of its file.
    const NAME: &'static str;
    /// What one row is.
    const ABOUT: &'static str;
    /// The columns in order.
    fn columns() -> Vec<Column>;
    /// The run that a row belongs to.
    fn run(&self) -> u32;
    /// Rows as one batch.
    fn to_batch(rows: &[Self]) -> Result<RecordBatch, ArrowError>;
    /// The rows of a batch, or the column that is wrong and why.
    fn from_batch(batch: &RecordBatch) -> Result<Vec<Self>, (String, String)>;
}

/// The Arrow schema of a table.
pub(crate) fn schema<T: Table>() -> Arc<Schema> {
    let fields: Vec<Field> = T::columns().into_iter().map(|c| c.field).collect();
    Arc::new(Schema::new(fields))
}

/// One column of a batch.
pub(crate) fn column<T: Cell>(batch: &RecordBatch, name: &str) -> Result<Vec<T>, (String, String)> {
    let wrong = |problem| (name.to_owned(), problem);
    match batch.column_by_name(name) {
        Some(array) => T::read(array.as_ref()).map_err(wrong),
        None => (0..batch.num_rows())
            .map(|_| T::absent().ok_or_else(|| wrong("is missing".to_owned())))
            .collect(),
    }
}

/// Defines a row type and its table; the documentation of a field is that of its column.
macro_rules! table {
    ($(#[doc = $doc:literal])+ $name:ident in $file:literal { $($(#[doc = $cdoc:literal])+ $column:ident: $ty:ty,)+ }) => {
        $(#[doc = $doc])+
        #[derive(Debug, Clone, PartialEq)]
        pub struct $name { $($(#[doc = $cdoc])+ pub $column: $ty,)+ }

        impl $crate::table::Table for $name {
            const NAME: &'static str = $file;
            const ABOUT: &'static str = concat!($($doc),+);

            fn columns() -> Vec<$crate::table::Column> {
                vec![$($crate::table::Column::of::<$ty>(stringify!($column), concat!($($cdoc),+))),+]
            }

            fn run(&self) -> u32 {
                self.run
            }

            fn to_batch(rows: &[Self]) -> Result<arrow_array::RecordBatch, arrow_schema::ArrowError> {
                arrow_array::RecordBatch::try_new(
                    $crate::table::schema::<Self>(),
                    vec![$(<$ty as $crate::cell::Cell>::array(rows.iter().map(|row| &row.$column))),+],
                )
            }

            fn from_batch(batch: &arrow_array::RecordBatch) -> Result<Vec<Self>, (String, String)> {
                $(let mut $column = $crate::table::column::<$ty>(batch, stringify!($column))?.into_iter();)+
                let rows = std::iter::from_fn(|| Some(Self { $($column: $column.next()?,)+ }));
                Ok(rows.collect())
            }
        }
    };
}
pub(crate) use table;
