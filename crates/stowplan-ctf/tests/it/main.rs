//! Traces read and written, as files and against babeltrace2.

mod common;
mod ctf2;
mod decode;
mod hostile;
mod parts;
mod real_traces;
mod threads;
mod writer;
