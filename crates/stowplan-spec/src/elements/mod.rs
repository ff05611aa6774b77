//! The file's own types, one element a file. They only say what YAML may hold;
//! `convert` makes the model of them.

pub(crate) mod chain;
pub(crate) mod experiment;
pub(crate) mod launch;
pub(crate) mod module;
pub(crate) mod node;
pub(crate) mod partition;
pub(crate) mod process;
pub(crate) mod scenario;
pub(crate) mod service;
pub(crate) mod share;
pub(crate) mod stack;
pub(crate) mod start_up;
pub(crate) mod topic;
pub(crate) mod work;
