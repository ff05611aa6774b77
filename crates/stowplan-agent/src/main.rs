//! What does things on one machine for Stowplan.
fn main() {}
