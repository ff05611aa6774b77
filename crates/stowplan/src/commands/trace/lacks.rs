//! What a trace lacks to say whose its events are, in words.

use stowplan_trace::Graph;

/// How the contexts are recorded that an analysis needs.
const ADD_CONTEXTS: &str = "lttng add-context --userspace --type=vpid --type=vtid --type=procname";

/// Sentences on callbacks without a node and on missing contexts, each with a hint where there is one.
pub fn lacks(graph: &Graph) -> Vec<(String, Option<String>)> {
    let mut all = Vec::new();
    let hint = || Some(format!("record with: {ADD_CONTEXTS}"));
    if graph.without_vpid > 0 {
        let events = graph.without_vpid;
        let text = format!(
            "the trace has no context vpid: {events} events of ROS 2 are left out, because nothing says which process recorded them"
        );
        all.push((text, hint()));
    }
    if graph.without_vtid > 0 {
        let text = "the trace has no context vtid: calls of callbacks are counted; durations, links and chains \
                    are left out, because nothing says which thread recorded what";
        all.push((text.to_owned(), hint()));
    }
    for unnamed in graph.unnamed_callbacks() {
        let count = match unnamed.callbacks {
            1 => "1 callback has".to_owned(),
            count => format!("{count} callbacks have"),
        };
        let missing = unnamed.missing.name();
        let why = if unnamed.began_before {
            format!("the trace has no {missing} for them; their processes began before it")
        } else {
            format!("the trace has no {missing} for them; it was not enabled or was discarded")
        };
        all.push((format!("{count} no node and no topic: {why}"), None));
    }
    all
}
