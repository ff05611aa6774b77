//! How `stowplan-node pingpong` is called, and what it prints.
