//! Rust values as Arrow columns and back.

use std::sync::Arc;

use arrow_array::builder::{ListBuilder, StringBuilder};
use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int64Type, UInt32Type, UInt64Type};
use arrow_array::{
    Array, ArrayRef, BooleanArray, Float64Array, Int64Array, StringArray, UInt32Array, UInt64Array,
};
use arrow_schema::{DataType, Field};

use crate::Label;

/// A value that a column can hold.
pub trait Cell: Sized {
    /// Whether the column may hold null.
    const NULLABLE: bool = false;
    /// Its Arrow type.
    fn data_type() -> DataType;
    /// A column of these values.
    fn array<'a>(values: impl Iterator<Item = &'a Self>) -> ArrayRef
    where
        Self: 'a;
    /// The values of a column, or what is wrong with it.
    fn read(array: &dyn Array) -> Result<Vec<Self>, String>;
    /// The words that the column may hold, where they are few.
    fn words() -> &'static [&'static str] {
        &[]
    }
    /// The value that stands where an older file lacks the column.
    fn absent() -> Option<Self> {
        None
    }
}

fn of_type(array: &dyn Array, expected: &DataType, nullable: bool) -> Result<(), String> {
    if array.data_type() != expected {
        return Err(format!("has type {}, not {expected}", array.data_type()));
    }
    if !nullable && array.null_count() > 0 {
        return Err("holds null where a value is due".into());
    }
    Ok(())
}

macro_rules! number {
    ($rust:ty, $array:ty, $arrow:ty, $data:expr) => {
        impl Cell for $rust {
            fn data_type() -> DataType {
                $data
            }
            fn array<'a>(values: impl Iterator<Item = &'a Self>) -> ArrayRef {
                Arc::new(values.copied().collect::<$array>())
            }
            fn read(array: &dyn Array) -> Result<Vec<Self>, String> {
                of_type(array, &$data, false)?;
                Ok(array.as_primitive::<$arrow>().values().to_vec())
            }
        }
        impl Cell for Option<$rust> {
            const NULLABLE: bool = true;
            fn data_type() -> DataType {
                $data
            }
            fn array<'a>(values: impl Iterator<Item = &'a Self>) -> ArrayRef {
                Arc::new(values.copied().collect::<$array>())
            }
            fn read(array: &dyn Array) -> Result<Vec<Self>, String> {
                of_type(array, &$data, true)?;
                Ok(array.as_primitive::<$arrow>().iter().collect())
            }
            fn absent() -> Option<Self> {
                Some(None)
            }
        }
    };
}

number!(u32, UInt32Array, UInt32Type, DataType::UInt32);
number!(u64, UInt64Array, UInt64Type, DataType::UInt64);
number!(i64, Int64Array, Int64Type, DataType::Int64);
number!(f64, Float64Array, Float64Type, DataType::Float64);

impl Cell for bool {
    fn data_type() -> DataType {
        DataType::Boolean
    }
    fn array<'a>(values: impl Iterator<Item = &'a Self>) -> ArrayRef {
        Arc::new(values.map(|v| Some(*v)).collect::<BooleanArray>())
    }
    fn read(array: &dyn Array) -> Result<Vec<Self>, String> {
        of_type(array, &DataType::Boolean, false)?;
        Ok(array.as_boolean().values().iter().collect())
    }
}

impl Cell for Option<bool> {
    const NULLABLE: bool = true;
    fn data_type() -> DataType {
        DataType::Boolean
    }
    fn array<'a>(values: impl Iterator<Item = &'a Self>) -> ArrayRef {
        Arc::new(values.copied().collect::<BooleanArray>())
    }
    fn read(array: &dyn Array) -> Result<Vec<Self>, String> {
        of_type(array, &DataType::Boolean, true)?;
        Ok(array.as_boolean().iter().collect())
    }
    fn absent() -> Option<Self> {
        Some(None)
    }
}

/// The texts of a column; equal neighbours share one allocation, because a run's rows
/// mostly repeat a few names.
fn labels(array: &dyn Array, nullable: bool) -> Result<Vec<Option<Label>>, String> {
    of_type(array, &DataType::Utf8, nullable)?;
    let mut last: Option<Label> = None;
    let texts = array.as_string::<i32>().iter().map(|text| {
        let text = text?;
        if last.as_deref() != Some(text) {
            last = Some(Label::from(text));
        }
        last.clone()
    });
    Ok(texts.collect())
}

impl Cell for Label {
    fn data_type() -> DataType {
        DataType::Utf8
    }
    fn array<'a>(values: impl Iterator<Item = &'a Self>) -> ArrayRef {
        Arc::new(values.map(|v| Some(&**v)).collect::<StringArray>())
    }
    fn read(array: &dyn Array) -> Result<Vec<Self>, String> {
        Ok(labels(array, false)?.into_iter().flatten().collect())
    }
}

impl Cell for Option<Label> {
    const NULLABLE: bool = true;
    fn data_type() -> DataType {
        DataType::Utf8
    }
    fn array<'a>(values: impl Iterator<Item = &'a Self>) -> ArrayRef {
        Arc::new(values.map(|v| v.as_deref()).collect::<StringArray>())
    }
    fn read(array: &dyn Array) -> Result<Vec<Self>, String> {
        labels(array, true)
    }
    fn absent() -> Option<Self> {
        Some(None)
    }
}

fn item() -> Arc<Field> {
    Arc::new(Field::new("item", DataType::Utf8, true))
}

impl Cell for Vec<String> {
    fn data_type() -> DataType {
        DataType::List(item())
    }
    fn array<'a>(values: impl Iterator<Item = &'a Self>) -> ArrayRef {
        let mut lists = ListBuilder::new(StringBuilder::new()).with_field(item());
        for value in values {
            lists.append_value(value.iter().map(Some));
        }
        Arc::new(lists.finish())
    }
    fn read(array: &dyn Array) -> Result<Vec<Self>, String> {
        of_type(array, &Self::data_type(), false)?;
        let lists = array.as_list::<i32>();
        let texts = |index| {
            let list = lists.value(index);
            let list = list.as_string::<i32>();
            list.iter().flatten().map(str::to_owned).collect()
        };
        Ok((0..lists.len()).map(texts).collect())
    }
    fn absent() -> Option<Self> {
        Some(Self::new())
    }
}

/// An enum whose variants are words in a column.
macro_rules! words {
    ($(#[doc = $doc:literal])* $name:ident { $($(#[doc = $vdoc:literal])+ $variant:ident = $word:literal,)+ }) => {
        $(#[doc = $doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
        pub enum $name { $($(#[doc = $vdoc])+ #[serde(rename = $word)] $variant,)+ }

        impl $name {
            /// The word in files and tables.
            #[must_use]
            pub fn word(self) -> &'static str {
                match self { $(Self::$variant => $word,)+ }
            }
            fn of_word(word: &str) -> Result<Self, String> {
                match word {
                    $($word => Ok(Self::$variant),)+
                    other => Err(format!("holds '{other}', expected one of {}", [$($word),+].join(", "))),
                }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.word())
            }
        }

        impl $crate::cell::Cell for $name {
            fn words() -> &'static [&'static str] {
                &[$($word),+]
            }
            fn data_type() -> arrow_schema::DataType {
                arrow_schema::DataType::Utf8
            }
            fn array<'a>(values: impl Iterator<Item = &'a Self>) -> arrow_array::ArrayRef {
                std::sync::Arc::new(values.map(|v| Some(v.word())).collect::<arrow_array::StringArray>())
            }
            fn read(array: &dyn arrow_array::Array) -> Result<Vec<Self>, String> {
                <$crate::Label as $crate::cell::Cell>::read(array)?
                    .iter().map(|word| Self::of_word(word)).collect()
            }
        }

        impl $crate::cell::Cell for Option<$name> {
            fn words() -> &'static [&'static str] {
                &[$($word),+]
            }
            const NULLABLE: bool = true;
            fn data_type() -> arrow_schema::DataType {
                arrow_schema::DataType::Utf8
            }
            fn array<'a>(values: impl Iterator<Item = &'a Self>) -> arrow_array::ArrayRef {
                std::sync::Arc::new(
                    values.map(|v| v.map($name::word)).collect::<arrow_array::StringArray>(),
                )
            }
            fn read(array: &dyn arrow_array::Array) -> Result<Vec<Self>, String> {
                <Option<$crate::Label> as $crate::cell::Cell>::read(array)?
                    .iter().map(|word| word.as_deref().map($name::of_word).transpose()).collect()
            }
            fn absent() -> Option<Self> {
                Some(None)
            }
        }
    };
}
pub(crate) use words;
