//! Fakes, redaction and the built node program, for tests.
