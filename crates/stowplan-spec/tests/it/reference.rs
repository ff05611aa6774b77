//! The page with the keys of stack files is made from their schema.

use std::collections::VecDeque;
use std::fmt::Write;
use std::path::Path;

use serde_json::{Map, Value};
use stowplan_spec::stack_schema;

/// What stands before the part that is made from the schema.
const BEGIN: &str = "UPDATE=1 rewrites it -->\n";

/// The name of a definition in words: `NodeOptionsSpec` is `node options`.
fn words(name: &str) -> String {
    let name = name.trim_end_matches("Spec").trim_end_matches("Fields");
    let mut text = String::new();
    for c in name.chars() {
        if c.is_uppercase() && !text.is_empty() {
            text.push(' ');
        }
        text.push(c.to_ascii_lowercase());
    }
    text
}

/// The definition that a schema refers to.
fn referred(schema: &Value) -> Option<&str> {
    schema["$ref"].as_str()?.strip_prefix("#/$defs/")
}

/// What a schema says of itself, on one line.
fn described(schema: &Value) -> String {
    let text = schema["description"].as_str().unwrap_or_default();
    text.replace('\n', " ").replace('|', "\\|")
}

/// The choices of a schema, if it is one of several.
fn choices(schema: &Value) -> Option<&Vec<Value>> {
    let of = |key: &str| schema[key].as_array();
    of("oneOf").or_else(|| of("anyOf"))
}

/// The reader of schemas: it keeps which definitions are still to be described.
struct Keys {
    definitions: Map<String, Value>,
    seen: Vec<String>,
    next: VecDeque<String>,
}

impl Keys {
    /// A definition with keys, as a link to its section; any other in words.
    fn named(&mut self, name: &str) -> String {
        let definition = self.definitions[name].clone();
        if definition["properties"].is_object() {
            if !self.seen.iter().any(|seen| seen == name) {
                self.seen.push(name.to_owned());
                self.next.push_back(name.to_owned());
            }
            let words = words(name);
            return format!("[{words}](#{})", words.replace(' ', "-"));
        }
        if name.starts_with("KindOr") {
            let other = self.kind(&choices(&definition).unwrap()[1]);
            return format!("name of a [kind](#kinds) or {other}");
        }
        let examples = choices(&definition).and_then(|all| all[0]["examples"].as_array());
        let examples = examples.map(|all| {
            let quoted = all.iter().filter_map(Value::as_str);
            let quoted: Vec<String> = quoted.map(|example| format!("`{example}`")).collect();
            quoted.join(" or ")
        });
        match examples {
            Some(example) if name.ends_with("OrSpread") => {
                format!("[distribution](#values), as {example}")
            }
            Some(example) if !definition["description"].is_string() => {
                format!("[value](#values), as {example}")
            }
            _ => self.kind(&definition),
        }
    }

    /// What a value may be, in words.
    fn kind(&mut self, schema: &Value) -> String {
        if let Some(name) = referred(schema) {
            return self.named(name);
        }
        if let Some(choices) = choices(schema) {
            let kinds: Vec<String> = choices.iter().map(|one| self.kind(one)).collect();
            let kinds = kinds.into_iter().filter(|kind| !kind.is_empty());
            return kinds.collect::<Vec<_>>().join(" or ");
        }
        if let Some(word) = schema["const"].as_str() {
            return format!("`{word}`");
        }
        let types = match &schema["type"] {
            Value::Array(types) => types.iter().filter_map(Value::as_str).collect(),
            one => vec![one.as_str().unwrap_or("any")],
        };
        let kinds = types.into_iter().filter(|kind| *kind != "null");
        let kinds = kinds.map(|kind| self.plain(kind, schema));
        kinds.collect::<Vec<_>>().join(" or ")
    }

    /// A value of one JSON type, in words.
    fn plain(&mut self, kind: &str, schema: &Value) -> String {
        match kind {
            "array" => format!("list: {}", self.kind(&schema["items"])),
            "object" if schema["additionalProperties"].is_object() => {
                format!("by name: {}", self.kind(&schema["additionalProperties"]))
            }
            "object" => {
                let keys = schema["properties"].as_object().into_iter().flatten();
                let keys = keys.map(|(key, _)| format!("`{{ {key}: … }}`"));
                keys.collect::<Vec<_>>().join(" or ")
            }
            "string" => "text".to_owned(),
            "boolean" => "`true` or `false`".to_owned(),
            other => other.to_owned(),
        }
    }

    /// The table of an object's keys.
    fn table(&mut self, schema: &Value) -> String {
        let mut text = "| key | value | meaning |\n|---|---|---|\n".to_owned();
        let required = schema["required"].as_array().cloned().unwrap_or_default();
        for (key, value) in schema["properties"].as_object().unwrap() {
            let must = required.contains(&Value::from(key.as_str()));
            let must = if must { " (required)" } else { "" };
            let (kind, meaning) = (self.kind(value), described(value));
            writeln!(text, "| `{key}`{must} | {kind} | {meaning} |").unwrap();
        }
        text
    }
}

/// All sections of the page, the stack itself first.
fn sections() -> String {
    let schema = stack_schema();
    let mut keys = Keys {
        definitions: schema["$defs"].as_object().unwrap().clone(),
        seen: Vec::new(),
        next: VecDeque::new(),
    };
    let mut text = format!("\n## Stack\n\n{}", keys.table(&schema));
    while let Some(name) = keys.next.pop_front() {
        let definition = keys.definitions[&name].clone();
        let mut title = words(&name);
        title[..1].make_ascii_uppercase();
        let about = definition["description"].as_str().unwrap_or_default();
        let table = keys.table(&definition);
        write!(text, "\n## {title}\n\n{about}\n\n{table}").unwrap();
    }
    text
}

#[test]
fn the_page_of_stack_files_is_what_the_schema_says() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .join("docs/reference/stack.md");
    let page = std::fs::read_to_string(&path).unwrap();
    let (head, _) = page.split_once(BEGIN).unwrap();
    let expected = format!("{head}{BEGIN}{}", sections());
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&path, &expected).unwrap();
    }
    let found = std::fs::read_to_string(&path).unwrap();
    assert!(
        found == expected,
        "docs/reference/stack.md is not what the schema says; set UPDATE=1 to write it"
    );
}
