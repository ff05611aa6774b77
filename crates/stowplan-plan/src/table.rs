//! Partition tables as data: what a file or a search says, before it meets a stack.

use stowplan_model::Name;

/// A service of a table and what is in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableService {
    /// Name of the service.
    pub service: Name,
    /// Modules.
    pub modules: Vec<String>,
    /// Functions, as `MODULE/FUNCTION`.
    pub functions: Vec<String>,
    /// Nodes.
    pub nodes: Vec<String>,
    /// Whether everything goes here that no service names.
    pub rest: bool,
    /// Why this assignment is doubtful.
    pub note: Option<String>,
}

/// A partition table. A node goes to the service that names it, else the one that names its
/// function, else its module, else the one that takes the rest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Table {
    /// Name of the partition.
    pub name: String,
    /// Where it comes from.
    pub description: String,
    /// What the user should know.
    pub notes: Vec<String>,
    /// Services in starting order.
    pub services: Vec<TableService>,
}

/// A partition that any stack has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Preset {
    /// All nodes in one service.
    Single,
    /// One service per module.
    Modules,
    /// One service per function; nodes without a function are in one of their module.
    Functions,
    /// One service per node.
    Nodes,
}

impl Preset {
    /// All presets.
    pub const ALL: [Self; 4] = [Self::Single, Self::Modules, Self::Functions, Self::Nodes];

    /// Its name on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Single => "single",
            Self::Modules => "modules",
            Self::Functions => "functions",
            Self::Nodes => "nodes",
        }
    }

    /// The preset called `name`.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|p| p.name() == name)
    }
}

/// What a user can ask for as a partition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Choice {
    /// A partition that any stack has.
    Preset(Preset),
    /// A table.
    Table(Table),
}
