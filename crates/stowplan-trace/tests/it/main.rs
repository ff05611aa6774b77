//! Analyses of recorded traces and of traces that are written here.

#![expect(clippy::unwrap_used, reason = "a failed step is a failed test")]

mod caret;
mod cases;
mod cases_of_messages;
mod counted;
mod ctf2;
mod halves;
mod kernel;
mod own_recording;
mod processes;
mod recorded;
mod sessions;
