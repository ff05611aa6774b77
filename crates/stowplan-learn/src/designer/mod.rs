//! Systems of autowarefoundation/autoware_system_designer: `X.system.yaml` with the modules and nodes that
//! it is made of (format versions up to 0.5, fields of 0.1 to 0.3 too).
//!
//! A component is where its `path` says. Connections are read in both orders. A publisher's topic is
//! `/PATH/PORT` of the last port that it is connected through, its `global` name, or what `remaps` say; a
//! subscriber has a subscription to the topic of each publisher that is connected with it. `processes`
//! become callbacks: `periodic` is a timer, `on_input` a subscription; of several inputs that all have to be
//! there (`and`) the first starts the callback and the others are stored. Variants (`base`) and modes are
//! resolved. Parameters, services and actions are left out; a field that is not known is named in a warning.

mod behaviour;
mod build;
mod containers;
mod fields;
mod files;
mod sources;
mod topics;
mod tree;
mod variant;
mod wildcard;
mod yaml;

use crate::draft::Imported;
use crate::error::{ImportError, Warnings};
use build::Builder;
use fields::Fields;
use files::{Mode, System};
use topics::Wiring;
use tree::Tree;
use yaml::Yaml;

pub use sources::Sources;

/// The stack of a system. `file` is its name in errors; `mode` one of its modes, the default one where
/// `None`.
///
/// # Errors
/// When a file of the design is wrong or missing, with its place.
pub fn import(
    text: &str,
    file: &str,
    mode: Option<&str>,
    sources: &Sources,
) -> Result<Imported, ImportError> {
    let mut warnings = Warnings::default();
    let mut whole = variant::in_full(Yaml::read(text, file)?, sources, &mut warnings)?;
    let modes = Fields::of(&whole)?.list(&["modes"], |mode| Mode::of(mode, &mut warnings))?;
    let mode = mode_of(&whole, &modes, mode)?;
    if let Some(change) = mode.and_then(|mode| whole.get(mode)).cloned() {
        let mut fields = Fields::of(&change)?;
        fields.ignore(&["override", "remove"]);
        fields.finish(&mut warnings);
        variant::change(&mut whole, &change, &mut warnings)?;
    }
    let system = System::of(&whole, &modes, &mut warnings)?;
    let tree = Tree::new(&system, mode, sources, &mut warnings)?;
    let (places, wiring) = (&tree.places, Wiring::new(&tree));
    let mut builder = Builder::new(places, &wiring, &system.node_groups)?;
    for (at, place) in places.iter().enumerate() {
        if let Some(node) = &place.node {
            builder.node(at, node)?;
        }
    }
    if builder.is_empty() {
        let message = "the system has no node in this mode";
        return Err(system.name.place.says(message));
    }
    let draft = builder.draft(&system, mode, &mut warnings);
    let warnings = warnings.all();
    Ok(Imported { draft, warnings })
}

fn mode_of<'a>(
    whole: &Yaml,
    modes: &'a [Mode],
    asked: Option<&str>,
) -> Result<Option<&'a str>, ImportError> {
    let named = |asked| modes.iter().find(|mode| mode.name.value == asked);
    let found = match asked {
        Some(asked) => Some(named(asked).ok_or_else(|| {
            let known: Vec<&str> = modes.iter().map(|mode| mode.name.value.as_str()).collect();
            let place = whole.get("name").unwrap_or(whole).place();
            place.says(format!(
                "the system has no mode '{asked}', its modes are: {}",
                known.join(", ")
            ))
        })?),
        None => modes.iter().find(|mode| mode.default).or(modes.first()),
    };
    Ok(found.map(|mode| mode.name.value.as_str()))
}

#[cfg(test)]
mod tests;
