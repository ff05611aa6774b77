//! The caller's side of stowplan-agent: its host and its engines.
