//! YAML files: what is taken, what is refused and with which words.

#![expect(clippy::unwrap_used, reason = "a failed step is a failed test")]

mod endpoints;
mod errors;
mod frames;
mod hello;
mod reference;
mod robust;
mod scenario;
mod schema;
mod serialisation;
mod services;
mod stacks;
mod values;
