//! The files of a finished run: versioned formats, Parquet.
