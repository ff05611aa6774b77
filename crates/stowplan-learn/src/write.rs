//! A draft as YAML that people can read and change.

use std::fmt::Write as _;

use stowplan_model::{Executor, NodeOptions, Profile};

use crate::draft::{
    Draft, DraftCallback, DraftChain, DraftNode, DraftProcess, DraftQos, DraftTopic, DraftTrigger,
    Figure,
};

/// Longest line of a comment at the head.
const WIDTH: usize = 100;

impl Draft {
    /// The file.
    #[must_use]
    pub fn to_yaml(&self) -> String {
        let mut out = String::new();
        for line in self.head.iter().flat_map(|text| wrapped(text)) {
            let _ = writeln!(out, "{}", format!("# {line}").trim_end());
        }
        let _ = writeln!(out, "\nname: {}", scalar(&self.name));
        let _ = writeln!(out, "description: {}", quoted(&self.description));
        let _ = writeln!(out, "profile: {}", profile(self.profile));
        if let Some(ns) = self.ns_per_iteration {
            let _ = writeln!(out, "ns_per_iteration: {ns:.4}");
        }
        let _ = writeln!(out, "qos: {}", qos(self.qos));
        if let Some(launch) = &self.launch {
            let start = figure(&launch.start, count);
            let entity = figure(&launch.entity, count);
            let _ = writeln!(out, "\nlaunch:\n  start: {start}\n  entity: {entity}");
        }
        self.kinds(&mut out);
        if !self.topics.is_empty() {
            out.push_str("\ntopics:\n");
        }
        for entry in &self.topics {
            line(&mut out, 2, &topic(entry), &entry.comment);
        }
        if !self.processes.is_empty() {
            out.push_str("\nprocesses: # in the order of their start\n");
        }
        for entry in &self.processes {
            line(&mut out, 2, &process(entry), &entry.comment);
        }
        out.push_str("\nmodules:\n");
        for module in &self.modules {
            let _ = writeln!(
                out,
                "  {}:\n    attributed: false\n    nodes:",
                scalar(&module.name)
            );
            for entry in &module.nodes {
                node(&mut out, entry);
            }
        }
        if !self.chains.is_empty() {
            out.push_str("\nchains:\n");
        }
        for entry in &self.chains {
            chain(&mut out, entry);
        }
        out
    }

    fn kinds(&self, out: &mut String) {
        if self.sizes.is_empty() && self.start_ups.is_empty() {
            return;
        }
        out.push_str("\nkinds:\n");
        if !self.sizes.is_empty() {
            out.push_str("  size:\n");
        }
        for (name, size) in &self.sizes {
            let _ = writeln!(out, "    {}: {}", scalar(name), figure(size, bytes));
        }
        if !self.start_ups.is_empty() {
            out.push_str("  start_up:\n");
        }
        for (name, cost) in &self.start_ups {
            let cost = figure(cost, count);
            let _ = writeln!(out, "    {}: {{ iterations: {cost} }}", scalar(name));
        }
    }
}

/// A line with its comment; text of traces has no line breaks in here.
fn line(out: &mut String, indent: usize, text: &str, comment: &str) {
    let comment = one_line(comment);
    let _ = if comment.is_empty() {
        writeln!(out, "{:indent$}{text}", "")
    } else {
        writeln!(out, "{:indent$}{text} # {comment}", "")
    };
}

fn one_line(text: &str) -> String {
    let plain: String = text
        .chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect();
    plain.trim().to_owned()
}

/// The words of a text in lines of at most [`WIDTH`]; continued lines of a list are indented.
fn wrapped(text: &str) -> Vec<String> {
    let text = one_line(text);
    let indent = if text.starts_with("- ") { "  " } else { "" };
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let last = lines.last_mut().expect("there is a first line");
        if last.trim().is_empty() || last.len() + 1 + word.len() <= WIDTH {
            if !last.trim().is_empty() {
                last.push(' ');
            }
            last.push_str(word);
        } else {
            lines.push(format!("{indent}{word}"));
        }
    }
    lines
}

/// A name that YAML takes for nothing else.
fn scalar(name: &str) -> String {
    let plain = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '/')
        && !matches!(
            name.to_ascii_lowercase().as_str(),
            "true" | "false" | "null" | "yes" | "no" | "on" | "off" | "y" | "n"
        );
    if plain { name.to_owned() } else { quoted(name) }
}

/// A text in double quotes.
fn quoted(text: &str) -> String {
    let escaped = one_line(text).replace('\\', "\\\\").replace('"', "\\\"");
    format!("\"{escaped}\"")
}

fn profile(profile: Profile) -> &'static str {
    match profile {
        Profile::Minimal => "minimal",
        Profile::Galactic => "galactic",
        Profile::Humble => "humble",
        Profile::Jazzy => "jazzy",
    }
}

fn qos(qos: DraftQos) -> String {
    let reliability = if qos.reliable {
        "reliable"
    } else {
        "best_effort"
    };
    let latched = if qos.transient_local {
        ", transient_local: true"
    } else {
        ""
    };
    format!(
        "{{ reliability: {reliability}, depth: {}{latched} }}",
        qos.depth
    )
}

fn figure(figure: &Figure, show: impl Fn(u64) -> String) -> String {
    let value = match &figure.spread {
        None => show(figure.value),
        Some(spread) => format!(
            "{{ log_normal: {{ median: {}, sigma: {:.3}, max: {} }} }}",
            show(spread.median),
            spread.sigma,
            // Rounding must not bring it below the median.
            show(spread.max.max(spread.median + spread.median / 1000))
        ),
    };
    match &figure.assumed {
        None => value,
        Some((low, high, because)) => format!(
            "{{ assumed: {value}, low: {}, high: {}, because: {} }}",
            show(*low),
            show(*high),
            quoted(because)
        ),
    }
}

/// Iterations with four digits, which is more than any of them is known to.
fn count(value: u64) -> String {
    match value {
        0..10_000 => value.to_string(),
        10_000..1_000_000 => format!("{}k", four_digits(value as f64 / 1e3)),
        1_000_000..1_000_000_000 => format!("{}M", four_digits(value as f64 / 1e6)),
        _ => format!("{}G", four_digits(value as f64 / 1e9)),
    }
}

fn bytes(value: u64) -> String {
    match value {
        0..1_000 => format!("{value}B"),
        1_000..1_000_000 => format!("{}kB", four_digits(value as f64 / 1e3)),
        _ => format!("{}MB", four_digits(value as f64 / 1e6)),
    }
}

fn four_digits(value: f64) -> String {
    let text = match value {
        x if x >= 1000.0 => format!("{x:.0}"),
        x if x >= 100.0 => format!("{x:.1}"),
        x if x >= 10.0 => format!("{x:.2}"),
        x => format!("{x:.3}"),
    };
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        text
    }
}

/// A period as people say it: a rate where that is a whole number, else a time to a microsecond's
/// thousandth part of it.
fn period(ns: u64) -> String {
    const SECOND: u64 = 1_000_000_000;
    match ns {
        ns if ns > 0 && ns <= SECOND && SECOND.is_multiple_of(ns) => format!("{}Hz", SECOND / ns),
        ns if ns.is_multiple_of(3600 * SECOND) => format!("{}h", ns / (3600 * SECOND)),
        ns if ns.is_multiple_of(SECOND) => format!("{}s", ns / SECOND),
        ns if ns.is_multiple_of(1_000_000) => format!("{}ms", ns / 1_000_000),
        ns if ns.is_multiple_of(1_000) => format!("{}us", ns / 1_000),
        ns => format!("{ns}ns"),
    }
}

fn topic(topic: &DraftTopic) -> String {
    let name = &topic.name;
    let mut rest = String::new();
    if let Some(own) = topic.qos {
        let _ = write!(rest, ", qos: {}", qos(own));
    }
    if topic.intra_process {
        rest.push_str(", intra_process: true");
    }
    if let Some(cost) = &topic.serialisation {
        let cost = figure(cost, count);
        let _ = write!(rest, ", serialisation: {{ message: {cost} }}");
    }
    if rest.is_empty() {
        format!("{name}: {}", topic.bytes)
    } else {
        format!("{name}: {{ bytes: {}{rest} }}", topic.bytes)
    }
}

fn process(process: &DraftProcess) -> String {
    let mut fields = Vec::new();
    if process.component_container {
        fields.push("component_container: true".to_owned());
    }
    match process.executor {
        Executor::Single => {}
        Executor::Static => fields.push("executor: static".to_owned()),
        Executor::Isolated => fields.push("executor: isolated".to_owned()),
        Executor::Multi { threads } => {
            fields.push(format!("executor: multi, threads: {threads}"));
        }
    }
    let name = scalar(&process.name);
    if fields.is_empty() {
        format!("{name}: {{}}")
    } else {
        format!("{name}: {{ {} }}", fields.join(", "))
    }
}

fn node(out: &mut String, node: &DraftNode) {
    let mut fields = vec![format!("process: {}", scalar(&node.process))];
    if let Some(start_up) = &node.start_up {
        fields.push(format!("start_up: {}", scalar(start_up)));
    }
    fields.extend(options(node));
    let silent = &node.silent;
    for (key, names) in [
        ("publishers", &silent.publishers),
        ("subscriptions", &silent.subscriptions),
        ("services", &silent.services),
        ("clients", &silent.clients),
    ] {
        if !names.is_empty() {
            fields.push(format!("{key}: [{}]", names.join(", ")));
        }
    }
    let name = scalar(&node.name);
    if node.callbacks.is_empty() {
        let text = format!("{name}: {{ {} }}", fields.join(", "));
        line(out, 6, &text, &node.comment);
        return;
    }
    line(out, 6, &format!("{name}:"), &node.comment);
    for field in &fields {
        line(out, 8, field, "");
    }
    line(out, 8, "callbacks:", "");
    for entry in &node.callbacks {
        line(out, 10, &callback(entry), &entry.comment);
    }
}

/// What differs from the options that a node has where its file says nothing.
fn options(node: &DraftNode) -> Vec<String> {
    let default = if node.is_own {
        NodeOptions::of_container()
    } else {
        NodeOptions::default()
    };
    let own = node.options;
    let mut different = Vec::new();
    for (key, value, default) in [
        (
            "start_parameter_services",
            own.parameter_services,
            default.parameter_services,
        ),
        (
            "start_parameter_event_publisher",
            own.parameter_event_publisher,
            default.parameter_event_publisher,
        ),
        ("enable_rosout", own.rosout, default.rosout),
        (
            "start_type_description_service",
            own.type_description_service,
            default.type_description_service,
        ),
    ] {
        if value != default {
            different.push(format!("{key}: {value}"));
        }
    }
    let mut fields = Vec::new();
    if !different.is_empty() {
        fields.push(format!("options: {{ {} }}", different.join(", ")));
    }
    if !own.parameter_event_subscription {
        fields.push("client_library: rclpy".to_owned());
    }
    fields
}

fn callback(callback: &DraftCallback) -> String {
    let mut fields = vec![match &callback.trigger {
        DraftTrigger::Timer(ns) => format!("timer: {}", period(*ns)),
        DraftTrigger::Subscription(topic) => format!("subscribes: {topic}"),
    }];
    if !callback.publishes.is_empty() {
        fields.push(format!("publishes: [{}]", callback.publishes.join(", ")));
    }
    if !callback.uses.is_empty() {
        let uses: Vec<String> = callback.uses.iter().map(|name| scalar(name)).collect();
        fields.push(format!("uses: [{}]", uses.join(", ")));
    }
    if let Some(work) = &callback.work {
        fields.push(match work.assumed {
            None => format!("work: {}", count(work.value)),
            Some(_) => format!("work: {{ iterations: {} }}", figure(work, count)),
        });
    }
    format!("{}: {{ {} }}", scalar(&callback.name), fields.join(", "))
}

fn chain(out: &mut String, chain: &DraftChain) {
    line(out, 2, &format!("{}:", scalar(&chain.name)), &chain.comment);
    line(out, 4, "callbacks:", "");
    for callback in &chain.callbacks {
        line(out, 6, &format!("- {}", scalar(callback)), "");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn periods_are_written_as_people_say_them() {
        for (ns, text) in [
            (100_000_000, "10Hz"),
            (1_000_000_000, "1Hz"),
            (33_000_000, "33ms"),
            (3_600_000_000_000_000, "1000h"),
            (5_000_000_000, "5s"),
            (33_333_333, "33333333ns"),
        ] {
            assert_eq!(period(ns), text);
        }
    }

    #[test]
    fn rounding_keeps_the_order_of_a_range() {
        let figure_of = |value, low, high| figure(&Figure::assumed(value, low, high, "x"), count);
        assert_eq!(
            figure_of(1_234_567, 999, 9_999_999_999),
            "{ assumed: 1.235M, low: 999, high: 10G, because: \"x\" }"
        );
        assert_eq!(count(999_999), "1000k");
    }

    #[test]
    fn names_and_texts_cannot_break_out() {
        assert_eq!(scalar("on"), "\"on\"");
        assert_eq!(scalar("1a"), "\"1a\"");
        assert_eq!(scalar("lidar.top"), "lidar.top");
        assert_eq!(quoted("a \"b\"\nc\\"), "\"a \\\"b\\\" c\\\\\"");
    }

    #[test]
    fn long_comments_are_wrapped() {
        let lines = wrapped(&format!("- {}", "word ".repeat(40)));
        assert!(lines.len() > 1 && lines.iter().all(|l| l.len() <= WIDTH));
        assert!(lines[1].starts_with("  word"));
    }
}
