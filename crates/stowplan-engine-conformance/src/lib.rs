//! One test suite that every engine passes.
