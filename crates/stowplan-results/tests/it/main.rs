//! Files of results, written and read again.

#![expect(clippy::unwrap_used, reason = "a failed step is a failed test")]

mod documents;
mod round_trip;
