//! What `stowplan trace start-up` prints as JSON.

use schemars::JsonSchema;
use serde::Serialize;

/// Start-up as a trace has it. Instants are ns since `origin_ns`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct TraceStartUp {
    /// `stowplan.trace-start-up/1`.
    pub schema: &'static str,
    /// First event of the trace, ns of its clock.
    pub origin_ns: i64,
    /// Processes in order of appearance.
    pub processes: Vec<StartedProcess>,
    /// Nodes in order of appearance.
    pub nodes: Vec<StartedNode>,
    /// Modules, where the trace names any: those of Stowplan's own programs do.
    pub modules: Vec<StartedModule>,
}

/// Start-up of a process.
#[derive(Debug, Serialize, JsonSchema)]
pub struct StartedProcess {
    /// As it sees itself.
    pub pid: i64,
    /// Inode of its PID namespace, where the trace has it.
    pub pid_ns: Option<u64>,
    /// Host.
    pub host: String,
    /// Folder of the trace that has its events.
    pub trace: String,
    /// Its `comm`.
    pub name: Option<String>,
    /// First instruction; null in traces of other tracers.
    pub start_ns: Option<i64>,
    /// First event.
    pub first_event_ns: i64,
    /// `rcl_init`; null where tracing began later.
    pub rcl_init_ns: Option<i64>,
    /// First and last `rcl_node_init`.
    pub first_node_ns: Option<i64>,
    /// See `first_node_ns`.
    pub last_node_ns: Option<i64>,
    /// Nodes.
    pub nodes: u64,
}

/// Start-up of a node.
#[derive(Debug, Serialize, JsonSchema)]
pub struct StartedNode {
    /// Full name.
    pub node: String,
    /// Process, as it sees itself.
    pub pid: i64,
    /// Module, where the trace names it.
    pub module: Option<String>,
    /// `rcl_node_init`.
    pub init_ns: Option<i64>,
    /// Its entities exist; null in traces of other tracers.
    pub loaded_ns: Option<i64>,
    /// First publication but on /rosout and /parameter_events; null without any.
    pub first_publication_ns: Option<i64>,
    /// First callback; null without any.
    pub first_callback_ns: Option<i64>,
    /// Life-cycle transitions.
    pub transitions: Vec<Transition>,
}

/// A life-cycle transition.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Transition {
    /// State that is left.
    pub from: String,
    /// State that is entered.
    pub to: String,
    /// When.
    pub at_ns: i64,
}

/// Start-up of a module.
#[derive(Debug, Serialize, JsonSchema)]
pub struct StartedModule {
    /// Name.
    pub module: String,
    /// Nodes that loaded.
    pub nodes: u64,
    /// Its first node begins to load.
    pub first_load_begin_ns: Option<i64>,
    /// Its last node has loaded.
    pub last_loaded_ns: i64,
}
