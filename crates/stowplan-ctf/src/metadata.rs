//! The metadata of a trace: what its packets and events look like.

use crate::ctf2;
use crate::error::MetadataError;
use crate::plan::{EventClassInfo, Plan};
use crate::tsdl::{document, envelope};

pub use crate::tsdl::{Clock, EnvValue};

/// A metadata file, parsed and compiled.
#[derive(Debug)]
pub struct Metadata {
    /// Identifies the trace; `None` if the metadata names none.
    pub uuid: Option<[u8; 16]>,
    /// The `env` block in its order.
    pub env: Vec<(String, EnvValue)>,
    /// The clocks.
    pub clocks: Vec<Clock>,
    pub(crate) plan: Plan,
}

impl Metadata {
    /// Parses the content of a metadata file.
    ///
    /// # Errors
    /// With line and column, if it is not the metadata of a trace in CTF 1.8 or 2 that this
    /// reader can decode.
    pub fn parse(file: &[u8]) -> Result<Self, MetadataError> {
        let text = envelope::text(file)?;
        let document = if ctf2::is_of(&text) {
            ctf2::parse(&text)?
        } else {
            document::parse(&text)?
        };
        let plan = Plan::compile(&document, text.len())?;
        Ok(Self {
            uuid: document.uuid,
            env: document.env,
            clocks: document.clocks,
            plan,
        })
    }

    /// Whether both describe one trace, of which each is a part: a chunk of LTTng's
    /// session rotation, or a snapshot. A uuid alone does not tell: some tracers (barectf)
    /// give all traces of one configuration the same. So host, session and its time of
    /// creation (the `env` block), and the clock have to be equal, too.
    pub fn is_same_trace(&self, other: &Self) -> bool {
        let clocks = |of: &Self| of.clocks.iter().map(|clock| clock.uuid).collect::<Vec<_>>();
        self.uuid.is_some()
            && self.uuid == other.uuid
            && self.env == other.env
            && clocks(self) == clocks(other)
    }

    /// The value of a name in the `env` block.
    pub fn env(&self, name: &str) -> Option<&EnvValue> {
        self.env
            .iter()
            .find_map(|(key, value)| (key == name).then_some(value))
    }

    /// A text in the `env` block; `None` if it is missing or a number.
    pub fn env_text(&self, name: &str) -> Option<&str> {
        match self.env(name)? {
            EnvValue::Text(text) => Some(text),
            EnvValue::Int(_) => None,
        }
    }

    /// The event classes in the order of the metadata.
    pub fn classes(&self) -> &[EventClassInfo] {
        &self.plan.classes
    }
}
