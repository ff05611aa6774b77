//! Services as plain processes: the reference.
