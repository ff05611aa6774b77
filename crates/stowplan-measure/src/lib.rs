//! One run: start, arm, disarm, collect.
