//! The program inside a partition: DDS, executor, work, recorder.
fn main() {}
