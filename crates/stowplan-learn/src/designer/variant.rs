//! Variants: entities with a `base`, and modes of a system, change what they are made from by `remove` and
//! then `override`.
//!
//! Source: the designer's `variant_resolver.py` and §5 of its format manifest. Items of a list that have a
//! name take the place of those of the same name, other items are added; `launch` is merged field by field.

use super::Sources;
use super::fields::Fields;
use super::yaml::{Text, Yaml};
use crate::error::{ImportError, Warnings};

/// Longest line of variants, each with the next as its base.
const DEEPEST: usize = 24;

/// What tells the items of a list apart.
const IDENTITIES: [&str; 4] = ["name", "source", "component", "instance"];

/// Fields that are a variant's own.
const OWN: [&str; 6] = [
    "autoware_system_design_format",
    "name",
    "package",
    "base",
    "override",
    "remove",
];

/// The entity that a text names, in full: without `base`.
pub(super) fn resolved(
    entity: &Text,
    sources: &Sources,
    warnings: &mut Warnings,
) -> Result<Yaml, ImportError> {
    in_full(sources.read(entity)?, sources, warnings)
}

/// A file in full: where it has a `base`, that one with its changes.
pub(super) fn in_full(
    file: Yaml,
    sources: &Sources,
    warnings: &mut Warnings,
) -> Result<Yaml, ImportError> {
    let mut variants = Vec::new();
    let mut whole = file;
    while let Some(Yaml::Text(base)) = whole.get("base") {
        if variants.len() >= DEEPEST {
            return Err(base
                .place
                .says(format!("'{}' is a variant of itself", base.value)));
        }
        let base = sources.read(&of_one_kind(base, &whole))?;
        variants.push(whole);
        whole = base;
    }
    for variant in variants.iter().rev() {
        let mut fields = Fields::of(variant)?;
        fields.ignore(&OWN);
        for key in fields.rest() {
            let message = format!(
                "'{}' has no effect in a variant outside 'override'",
                key.value
            );
            warnings.add(key.place.says(message));
        }
        change(&mut whole, variant, warnings)?;
        if let Some(name) = variant.get("name") {
            set(&mut whole, "name", name);
        }
    }
    Ok(whole)
}

/// A base may be named without its kind, which is that of its variant.
fn of_one_kind(base: &Text, variant: &Yaml) -> Text {
    let kind = match variant.get("name") {
        Some(Yaml::Text(name)) => name.value.rsplit_once('.').map(|(_, kind)| kind.to_owned()),
        _ => None,
    };
    match kind {
        Some(kind) if !base.value.contains('.') => Text {
            value: format!("{}.{kind}", base.value),
            place: base.place.clone(),
        },
        _ => base.clone(),
    }
}

/// Applies the `remove` and then the `override` of a variant or mode.
pub(super) fn change(
    whole: &mut Yaml,
    by: &Yaml,
    warnings: &mut Warnings,
) -> Result<(), ImportError> {
    if let Some(removed) = by.get("remove") {
        for (key, items) in entries(removed)? {
            remove(whole, key, items, warnings)?;
        }
    }
    if let Some(new) = by.get("override") {
        for (key, value) in entries(new)? {
            merge(whole, key, value);
        }
    }
    Ok(())
}

fn entries(yaml: &Yaml) -> Result<&[(Text, Yaml)], ImportError> {
    match yaml {
        Yaml::Map(_, entries) => Ok(entries),
        Yaml::Nothing(_) => Ok(&[]),
        other => Err(other.place().says("expected a map")),
    }
}

/// What a field is called since format 0.3.
fn current(name: &str) -> &str {
    match name {
        "inputs" => "subscribers",
        "outputs" => "publishers",
        name => name,
    }
}

fn field<'a>(whole: &'a mut Yaml, name: &str) -> Option<&'a mut Yaml> {
    let Yaml::Map(_, entries) = whole else {
        return None;
    };
    let mut entries = entries.iter_mut();
    let entry = entries.find(|(key, _)| current(&key.value) == current(name));
    entry.map(|(_, value)| value)
}

fn set(whole: &mut Yaml, name: &str, value: &Yaml) {
    if let Some(own) = field(whole, name) {
        *own = value.clone();
    }
}

fn merge(whole: &mut Yaml, key: &Text, value: &Yaml) {
    let Some(own) = field(whole, &key.value) else {
        if let Yaml::Map(_, entries) = whole {
            entries.push((key.clone(), value.clone()));
        }
        return;
    };
    match (own, value) {
        (Yaml::List(_, own), Yaml::List(_, new)) => {
            for item in new {
                let same = own
                    .iter()
                    .position(|own| identity(item).is_some_and(|name| identity(own) == Some(name)));
                match same {
                    Some(at) => own[at] = item.clone(),
                    None => own.push(item.clone()),
                }
            }
        }
        (own @ Yaml::Map(..), Yaml::Map(_, new)) if key.value == "launch" => {
            for (key, value) in new {
                merge(own, key, value);
            }
        }
        (own, new) => *own = new.clone(),
    }
}

fn identity(item: &Yaml) -> Option<&str> {
    IDENTITIES.iter().find_map(|key| match item.get(key) {
        Some(Yaml::Text(text)) => Some(text.value.as_str()),
        _ => None,
    })
}

fn remove(
    whole: &mut Yaml,
    key: &Text,
    items: &Yaml,
    warnings: &mut Warnings,
) -> Result<(), ImportError> {
    let removed = match items {
        Yaml::List(_, removed) => removed.as_slice(),
        Yaml::Nothing(_) => &[],
        other => return Err(other.place().says("expected a list of what is removed")),
    };
    for spec in removed {
        let own = match field(whole, &key.value) {
            Some(Yaml::List(_, own)) => own,
            _ => &mut Vec::new(),
        };
        let before = own.len();
        own.retain(|item| !means(spec, item));
        if own.len() == before {
            let message = format!("there is nothing of this in '{}' to remove", key.value);
            warnings.add(spec.place().says(message));
        }
        if matches!(key.value.as_str(), "components" | "instances")
            && let Some(name) = name_of(spec)
            && let Some(Yaml::List(_, connections)) = field(whole, "connections")
        {
            connections.retain(|connection| !ends_at(connection, name));
        }
    }
    Ok(())
}

/// Whether what is to be removed means an item: by its name, else by all that it says.
fn means(spec: &Yaml, item: &Yaml) -> bool {
    match (name_of(spec), identity(item)) {
        (Some(removed), Some(name)) => removed == name,
        _ => match (spec, item) {
            (Yaml::Map(_, entries), Yaml::Map(..)) => item.has_all(entries),
            // The two ends of a connection come in either order.
            (Yaml::List(_, a), Yaml::List(_, b)) if a.len() == 2 && b.len() == 2 => {
                spec.same(item) || (a[0].same(&b[1]) && a[1].same(&b[0]))
            }
            _ => spec.same(item),
        },
    }
}

fn name_of(spec: &Yaml) -> Option<&str> {
    match spec {
        Yaml::Text(text) => Some(&text.value),
        spec => identity(spec),
    }
}

/// Whether a connection has an end at this instance.
fn ends_at(connection: &Yaml, instance: &str) -> bool {
    let at = |end: &Yaml| match end {
        Yaml::Text(text) => text.value.split('.').next() == Some(instance),
        _ => false,
    };
    match connection {
        Yaml::List(_, ends) => ends.iter().any(at),
        Yaml::Map(_, ends) => ends.iter().any(|(_, end)| at(end)),
        _ => false,
    }
}
