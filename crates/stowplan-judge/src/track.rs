//! Usage over time, as it is read.

use std::collections::BTreeMap;

/// One subject of one run: (t, CPU time, memory), ascending in time.
pub(crate) type Track = Vec<(i64, Option<u64>, Option<u64>)>;
/// By subject.
pub(crate) type Tracks = BTreeMap<String, Track>;
