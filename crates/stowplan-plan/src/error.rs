//! Why a stack and a partition do not go together.

use stowplan_model::names::NameError;

/// Why a partition of a stack could not be made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    /// A table names something that the stack does not have.
    #[error("partition '{table}': service '{service}' names the {what} '{name}', which the stack does not have{}", hint_line(.hint.as_deref()))]
    Unknown {
        /// The table.
        table: String,
        /// The service of the table.
        service: String,
        /// `module`, `function` or `node`.
        what: &'static str,
        /// What was named.
        name: String,
        /// The nearest right name.
        hint: Option<String>,
    },
    /// Two services of a table claim the same thing.
    #[error("partition '{table}': services '{first}' and '{second}' both name the {what} '{name}'")]
    Twice {
        /// The table.
        table: String,
        /// The first service.
        first: String,
        /// The second service.
        second: String,
        /// `module`, `function`, `node`, or `rest`.
        what: &'static str,
        /// What both name.
        name: String,
    },
    /// A service of the partition has the name of one that only keeps CPUs busy.
    #[error(
        "partition '{partition}': '{service}' is a service of its own that keeps CPUs busy, and a service of the partition\n  hint: rename one of them"
    )]
    OwnService {
        /// The partition.
        partition: String,
        /// The service.
        service: String,
    },
    /// Nodes that no service of a table takes.
    #[error("partition '{table}': no service takes the node '{first}'{}\n  hint: name it, its function or its module, or give one service 'rest: true'", more(*.others))]
    Unassigned {
        /// The table.
        table: String,
        /// The first such node.
        first: String,
        /// How many more there are.
        others: usize,
    },
    /// A partition names a node that the stack does not have, or leaves one out.
    #[error("partition '{partition}' is not one of stack '{stack}': {why}")]
    Mismatch {
        /// The partition.
        partition: String,
        /// The stack.
        stack: String,
        /// What does not fit.
        why: String,
    },
    /// A service name that is made of module and function is not a name.
    #[error("a service of partition '{partition}' cannot be named")]
    Name {
        /// The partition.
        partition: String,
        /// Why not.
        #[source]
        source: NameError,
    },
}

fn hint_line(hint: Option<&str>) -> String {
    hint.map(|h| format!("\n  hint: {h}")).unwrap_or_default()
}

fn more(others: usize) -> String {
    match others {
        0 => String::new(),
        1 => " and one more".to_owned(),
        n => format!(" and {n} more"),
    }
}
