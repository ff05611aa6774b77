//! `stowplan trace info`.

use std::collections::BTreeSet;
use std::path::Path;

use stowplan_model::units::show_ns;
use stowplan_trace::{Inventory, Reading};

use crate::documents;
use crate::documents::trace::TraceInfo;
use crate::failure::CommandError;
use crate::output::tell;
use crate::table;

/// Runs the command.
pub fn run(dir: &Path, json: bool, with_events: bool) -> Result<(), CommandError> {
    let inventory = super::inventory(dir, Reading::default())?;
    let document = document(&inventory, with_events);
    if json {
        return documents::print(&document);
    }
    tell!(
        "{} events{} in {}, {} discarded; {} processes, {} nodes, {} topics; tracetools {}, {}",
        document.events,
        match document.events - document.ros2_events {
            0 => String::new(),
            other => format!(" ({other} of them not of ROS 2)"),
        },
        show_ns(document.duration_ns as f64),
        document.discarded_events,
        document.processes,
        document.nodes,
        document.topics,
        document
            .tracetools_version
            .as_deref()
            .unwrap_or("unknown: no process recorded ros2:rcl_init"),
        document
            .distro
            .as_deref()
            .or(document.distro_reason.as_deref())
            .unwrap_or_default(),
    )?;
    for missing in &document.missing {
        tell!("missing: {missing}")?;
    }
    if let Some(by_event) = &document.by_event {
        let mut table = table::new(["event", "count"]);
        for (name, count) in by_event {
            table.add_row([name.clone(), count.to_string()]);
        }
        tell!("{table}")?;
    }
    Ok(())
}

fn document(inventory: &Inventory, with_events: bool) -> TraceInfo {
    let graph = &inventory.graph;
    let topics: BTreeSet<&String> = graph.topics.iter().map(|(_, name)| name).collect();
    let versions: BTreeSet<String> = graph
        .processes
        .iter()
        .filter_map(|(_, p)| p.tracetools_version.clone())
        .collect();
    let version =
        (!versions.is_empty()).then(|| versions.into_iter().collect::<Vec<_>>().join(", "));
    let (distro, distro_reason) = match inventory.distributions() {
        Ok(names) => (Some(names.join(", ")), None),
        Err(reason) => (None, Some(reason)),
    };
    let duration = inventory.extent.map(|extent| extent.to_ns - extent.from_ns);
    TraceInfo {
        schema: "stowplan.trace-info/1",
        events: inventory.contents.by_event.values().sum(),
        ros2_events: inventory.contents.by_event.values().sum::<u64>()
            - inventory.contents.other_events,
        discarded_events: inventory.contents.discarded_events,
        duration_ns: duration.and_then(|ns| u64::try_from(ns).ok()).unwrap_or(0),
        processes: graph.processes.len() as u64,
        nodes: graph.nodes.len() as u64,
        topics: topics.len() as u64,
        tracetools_version_reason: version
            .is_none()
            .then(|| "no process recorded ros2:rcl_init".to_owned()),
        tracetools_version: version,
        distro,
        distro_reason,
        discarded_packets: inventory.contents.discarded_packets,
        missing: super::missing_of_inventory(inventory),
        by_event: with_events.then(|| inventory.contents.by_event.clone()),
    }
}
