//! What the files of a design say: systems, modules, nodes. Fields of older versions are taken too.

use super::fields::{Fields, text_of};
use super::yaml::{Text, Yaml};
use crate::error::{ImportError, Warnings};

/// Fields of every file that say nothing about nodes, topics and processes.
const HEAD: [&str; 2] = ["autoware_system_design_format", "package"];

/// `X.system.yaml`
#[derive(Debug)]
pub(super) struct System {
    pub name: Text,
    pub components: Vec<Instance>,
    pub connections: Vec<Connection>,
    pub node_groups: Vec<Group>,
    pub remaps: Vec<Remap>,
}

impl System {
    pub fn of(yaml: &Yaml, modes: &[Mode], warnings: &mut Warnings) -> Result<Self, ImportError> {
        let mut fields = Fields::of(yaml)?;
        fields.ignore(&HEAD);
        fields.ignore(&[
            "arguments",
            "variables",
            "variable_files",
            "parameter_sets",
            "modes",
        ]);
        for mode in modes {
            fields.ignore(&[&mode.name.value]);
        }
        let system = Self {
            name: fields.needed(&["name"])?,
            components: fields.list(&["components"], |item| Instance::of(item, warnings))?,
            connections: fields.list(&["connections"], Connection::of)?,
            node_groups: fields.list(&["node_groups"], |item| Group::of(item, warnings))?,
            remaps: fields.list(&["remaps"], |item| Remap::of(item, warnings))?,
        };
        fields.finish(warnings);
        Ok(system)
    }
}

/// A mode of a system.
#[derive(Debug)]
pub(super) struct Mode {
    pub name: Text,
    pub default: bool,
}

impl Mode {
    pub fn of(yaml: &Yaml, warnings: &mut Warnings) -> Result<Self, ImportError> {
        let mut fields = Fields::of(yaml)?;
        fields.ignore(&["description"]);
        let mode = Self {
            name: fields.needed(&["name"])?,
            default: fields.flag("default")?,
        };
        fields.finish(warnings);
        Ok(mode)
    }
}

/// A component of a system or an instance of a module.
#[derive(Debug)]
pub(super) struct Instance {
    pub name: Text,
    pub entity: Text,
    /// Namespace of a component, in formats before 0.3.1.
    pub namespace: Option<String>,
    /// Full name of a component.
    pub path: Option<Text>,
    pub compute_unit: Option<String>,
    /// Modes that it is part of; all where empty.
    pub mode: Vec<String>,
    /// How it is started, where that differs from what its node says.
    pub launch: Launch,
}

impl Instance {
    fn of(yaml: &Yaml, warnings: &mut Warnings) -> Result<Self, ImportError> {
        let mut fields = Fields::of(yaml)?;
        fields.ignore(&["parameter_set", "arguments"]);
        let instance = Self {
            name: fields.needed(&["name", "component", "instance"])?,
            entity: fields.needed(&["entity"])?,
            namespace: value(fields.text(&["namespace"])?),
            path: fields.text(&["path"])?.cloned(),
            compute_unit: value(fields.text(&["compute_unit"])?),
            mode: match fields.take(&["mode"]) {
                None | Some(Yaml::Nothing(_)) => Vec::new(),
                Some(Yaml::List(_, modes)) => values(modes)?,
                Some(one) => vec![text_of(one)?.value],
            },
            launch: Launch::of(fields.take(&["launch"]), warnings)?,
        };
        fields.finish(warnings);
        Ok(instance)
    }
}

fn value(text: Option<&Text>) -> Option<String> {
    text.map(|text| text.value.clone())
}

fn values(items: &[Yaml]) -> Result<Vec<String>, ImportError> {
    let texts = items.iter().map(text_of);
    texts.map(|text| Ok(text?.value)).collect()
}

/// Two ports in either order, as a list or as a map.
#[derive(Debug)]
pub(super) struct Connection {
    pub ends: [Text; 2],
}

impl Connection {
    fn of(yaml: &Yaml) -> Result<Self, ImportError> {
        let ends: Vec<&Yaml> = match yaml {
            Yaml::List(_, ends) => ends.iter().collect(),
            Yaml::Map(_, ends) => ends.iter().map(|(_, end)| end).collect(),
            Yaml::Nothing(_) | Yaml::Text(_) => Vec::new(),
        };
        match ends.as_slice() {
            [a, b] => Ok(Self {
                ends: [text_of(a)?, text_of(b)?],
            }),
            [_, _, more, ..] => {
                let third = match yaml {
                    Yaml::Map(_, entries) => format!(", '{}' is one more", entries[2].0.value),
                    _ => String::new(),
                };
                let message = format!("a connection has two ports{third}");
                Err(more.place().says(message))
            }
            _ => Err(yaml
                .place()
                .says("a connection is a list of two ports, or a map with 'from' and 'to'")),
        }
    }
}

/// Nodes of one component container.
#[derive(Debug)]
pub(super) struct Group {
    pub name: Text,
    pub kind: Option<Text>,
    pub nodes: Vec<Text>,
}

impl Group {
    fn of(yaml: &Yaml, warnings: &mut Warnings) -> Result<Self, ImportError> {
        let mut fields = Fields::of(yaml)?;
        let group = Self {
            name: fields.needed(&["name"])?,
            kind: fields.text(&["type"])?.cloned(),
            nodes: fields.list(&["nodes"], text_of)?,
        };
        fields.finish(warnings);
        Ok(group)
    }
}

/// Another topic for a publisher.
#[derive(Debug)]
pub(super) struct Remap {
    pub source: Text,
    pub topic: Text,
}

impl Remap {
    fn of(yaml: &Yaml, warnings: &mut Warnings) -> Result<Self, ImportError> {
        let mut fields = Fields::of(yaml)?;
        let remap = Self {
            source: fields.needed(&["source"])?,
            topic: fields.needed(&["topic"])?,
        };
        fields.finish(warnings);
        Ok(remap)
    }
}

/// `X.module.yaml`
#[derive(Debug)]
pub(super) struct Module {
    pub instances: Vec<Instance>,
    pub subscribers: Vec<Port>,
    pub publishers: Vec<Port>,
    pub connections: Vec<Connection>,
}

impl Module {
    pub fn of(yaml: &Yaml, warnings: &mut Warnings) -> Result<Self, ImportError> {
        let mut fields = Fields::of(yaml)?;
        fields.ignore(&HEAD);
        fields.ignore(&["name", "servers", "clients"]);
        let mut port = |item: &Yaml| Port::of(item, warnings);
        let mut module = Self {
            subscribers: fields.list(&["subscribers", "inputs"], &mut port)?,
            publishers: fields.list(&["publishers", "outputs"], &mut port)?,
            instances: Vec::new(),
            connections: fields.list(&["connections"], Connection::of)?,
        };
        // Until format 0.2.
        if let Some(edge @ Yaml::Map(..)) = fields.take(&["external_interfaces"]) {
            let mut edge = Fields::of(edge)?;
            edge.ignore(&["parameter"]);
            module.subscribers.extend(edge.list(&["input"], &mut port)?);
            module.publishers.extend(edge.list(&["output"], &mut port)?);
            edge.finish(warnings);
        }
        module.instances = fields.list(&["instances"], |item| Instance::of(item, warnings))?;
        fields.finish(warnings);
        Ok(module)
    }
}

/// `X.node.yaml`
#[derive(Debug)]
pub(super) struct Node {
    pub launch: Launch,
    pub subscribers: Vec<Port>,
    pub publishers: Vec<Port>,
    pub processes: Vec<Process>,
}

impl Node {
    pub fn of(yaml: &Yaml, warnings: &mut Warnings) -> Result<Self, ImportError> {
        let mut fields = Fields::of(yaml)?;
        fields.ignore(&HEAD);
        fields.ignore(&["name", "servers", "clients"]);
        fields.ignore(&["param_files", "param_values"]);
        fields.ignore(&["parameter_files", "parameters"]);
        let mut port = |item: &Yaml| Port::of(item, warnings);
        let node = Self {
            subscribers: fields.list(&["subscribers", "inputs"], &mut port)?,
            publishers: fields.list(&["publishers", "outputs"], &mut port)?,
            launch: Launch::of(fields.take(&["launch"]), warnings)?,
            processes: fields.list(&["processes"], |item| Process::of(item, warnings))?,
        };
        fields.finish(warnings);
        Ok(node)
    }
}

/// How a node is started, as far as it says which process it lives in.
#[derive(Debug, Default, Clone)]
pub(super) struct Launch {
    /// `None` where it says nothing: a process of its own, unless a group has the node.
    pub state: Option<State>,
    /// Path or name of the container of a component.
    pub container: Option<String>,
    pub executable: Option<String>,
}

/// What a node is to the launcher.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    /// A process of its own.
    Process,
    /// A component in a container.
    Component,
    /// A container that components are loaded into.
    Container,
}

impl Launch {
    fn of(yaml: Option<&Yaml>, warnings: &mut Warnings) -> Result<Self, ImportError> {
        let Some(yaml) = yaml else {
            return Ok(Self::default());
        };
        let mut fields = Fields::of(yaml)?;
        fields.ignore(&["plugin", "ros2_launch_file", "node_output", "args"]);
        let mut state = match fields.text(&["launch_state"])? {
            Some(text) => Some(State::of(text)?),
            None => None,
        };
        if let Some(text) = fields.text(&["type"])? {
            state = state.or(Some(State::of(text)?));
        }
        if fields.flag("use_container")? {
            state = Some(State::Component);
        }
        let container = fields.text(&["container_target"])?;
        let named = fields.text(&["container_name"])?;
        let launch = Self {
            state,
            container: value(container.or(named)),
            executable: value(fields.text(&["executable"])?),
        };
        fields.finish(warnings);
        Ok(launch)
    }

    /// This one, where `other` says nothing.
    pub fn changed_by(&self, other: &Self) -> Self {
        Self {
            state: other.state.or(self.state),
            container: other.container.clone().or_else(|| self.container.clone()),
            executable: self.executable.clone(),
        }
    }
}

impl State {
    fn of(text: &Text) -> Result<Self, ImportError> {
        match text.value.as_str() {
            "single_node" | "ros2_launch_file" => Ok(Self::Process),
            "composable_node" => Ok(Self::Component),
            "node_container" => Ok(Self::Container),
            other => Err(text.place.says(format!(
                "'{other}' is neither single_node, composable_node, node_container nor ros2_launch_file"
            ))),
        }
    }
}

/// A port of a node or module.
#[derive(Debug)]
pub(super) struct Port {
    pub name: Text,
    pub message_type: Option<String>,
    pub global: Option<String>,
    pub qos: Option<Qos>,
}

impl Port {
    fn of(yaml: &Yaml, warnings: &mut Warnings) -> Result<Self, ImportError> {
        let mut fields = Fields::of(yaml)?;
        fields.ignore(&["remap_target"]);
        let qos = fields.take(&["qos"]);
        let port = Self {
            name: fields.needed(&["name"])?,
            message_type: value(fields.text(&["message_type"])?),
            global: value(fields.text(&["global"])?),
            qos: qos.map(|qos| Qos::of(qos, warnings)).transpose()?,
        };
        fields.finish(warnings);
        Ok(port)
    }
}

/// Quality of service of a port.
#[derive(Debug)]
pub(super) struct Qos {
    pub best_effort: bool,
    pub transient_local: bool,
    pub depth: Option<u32>,
}

impl Qos {
    fn of(yaml: &Yaml, warnings: &mut Warnings) -> Result<Self, ImportError> {
        let mut fields = Fields::of(yaml)?;
        let mut chosen = |name: &str, values: [&str; 2]| -> Result<bool, ImportError> {
            let Some(text) = fields.text(&[name])? else {
                return Ok(false);
            };
            if !values.contains(&text.value.as_str()) {
                let [usual, other] = values;
                let message = format!(
                    "'{name}' is neither {usual} nor {other}: '{}' is taken as {usual}",
                    text.value
                );
                warnings.add(text.place.says(message));
            }
            Ok(text.value == values[1])
        };
        let best_effort = chosen("reliability", ["reliable", "best_effort"])?;
        let transient_local = chosen("durability", ["volatile", "transient_local"])?;
        if let Some(text) = fields.text(&["history"])?
            && text.value != "keep_last"
        {
            let message = format!("the history '{}' is taken as keep_last", text.value);
            warnings.add(text.place.says(message));
        }
        let depth = fields.text(&["depth", "queue_size"])?;
        let depth = depth.map(|text| {
            let depth = text.value.parse::<u32>();
            depth.map_err(|_| text.place.says("the depth is no whole number of messages"))
        });
        let qos = Self {
            best_effort,
            transient_local,
            depth: depth.transpose()?,
        };
        fields.finish(warnings);
        Ok(qos)
    }
}

/// What a node does: triggers and outcomes.
#[derive(Debug)]
pub(super) struct Process {
    pub name: Text,
    pub trigger_conditions: Vec<Trigger>,
    pub outcomes: Vec<Outcome>,
}

impl Process {
    fn of(yaml: &Yaml, warnings: &mut Warnings) -> Result<Self, ImportError> {
        let mut fields = Fields::of(yaml)?;
        let process = Self {
            name: fields.needed(&["name"])?,
            trigger_conditions: fields
                .list(&["trigger_conditions"], |item| Trigger::of(item, warnings))?,
            outcomes: fields.list(&["outcomes"], |item| Outcome::of(item, warnings))?,
        };
        fields.finish(warnings);
        Ok(process)
    }
}

/// What starts a process. One of the first four is there, or it triggers once.
#[derive(Debug)]
pub(super) struct Trigger {
    pub or: Vec<Self>,
    pub and: Vec<Self>,
    pub on_input: Option<Text>,
    pub on_trigger: Option<Text>,
    /// Hertz.
    pub periodic: Option<f64>,
}

impl Trigger {
    fn of(yaml: &Yaml, warnings: &mut Warnings) -> Result<Self, ImportError> {
        let mut fields = Fields::of(yaml)?;
        // What a monitor watches.
        fields.ignore(&["warn_rate", "error_rate", "timeout"]);
        let trigger = Self {
            or: fields.list(&["or"], |item| Self::of(item, warnings))?,
            and: fields.list(&["and"], |item| Self::of(item, warnings))?,
            on_input: fields.text(&["on_input"])?.cloned(),
            on_trigger: fields.text(&["on_trigger"])?.cloned(),
            periodic: match fields.text(&["periodic"])? {
                None => None,
                Some(text) => match text.value.parse::<f64>() {
                    Ok(hz) => Some(hz),
                    Err(_) => return Err(text.place.says("'periodic' is no number of Hz")),
                },
            },
        };
        if let Some(once) = fields.take(&["once"]) {
            let message = "'once' is left out: what happens once at start is not modelled";
            warnings.add(once.place().says(message));
        }
        fields.finish(warnings);
        Ok(trigger)
    }
}

/// What a process leads to; neither where it ends a chain.
#[derive(Debug)]
pub(super) struct Outcome {
    pub to_output: Option<Text>,
    pub to_trigger: Option<Text>,
}

impl Outcome {
    fn of(yaml: &Yaml, warnings: &mut Warnings) -> Result<Self, ImportError> {
        let mut fields = Fields::of(yaml)?;
        fields.ignore(&["terminal"]);
        let outcome = Self {
            to_output: fields.text(&["to_output"])?.cloned(),
            to_trigger: fields.text(&["to_trigger"])?.cloned(),
        };
        fields.finish(warnings);
        Ok(outcome)
    }
}
