//! What Perfetto asks of JSON traces: the Trace Event Format (Google, "Trace Event Format", sections "Duration", "Complete",
//! "Flow" and "Metadata Events"), and what its importer drops without a word.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

/// A slice of a thread: begin and end in nanoseconds.
type Slice = (i64, i64);

/// Fails the test unless all of the document can be shown.
pub fn assert_format(document: &Value) {
    let unit = document["displayTimeUnit"].as_str();
    assert!(unit.is_none_or(|unit| ["ms", "ns"].contains(&unit)));
    let events = document["traceEvents"].as_array().expect("traceEvents");
    let mut slices: BTreeMap<(i64, i64), Vec<Slice>> = BTreeMap::new();
    let mut named: BTreeSet<(i64, Option<i64>)> = BTreeSet::new();
    let mut flows: BTreeMap<String, Vec<&Value>> = BTreeMap::new();
    for event in events {
        let pid = event["pid"].as_i64().expect("pid is a whole number");
        let tid = event["tid"].as_i64();
        match event["ph"].as_str().expect("ph") {
            "M" => {
                let name = event["name"].as_str().expect("name");
                assert!(["process_name", "thread_name"].contains(&name), "{event}");
                assert!(event["args"]["name"].is_string(), "{event}");
                let thread = (name == "thread_name").then(|| tid.expect("tid"));
                assert!(named.insert((pid, thread)), "named twice: {event}");
            }
            "X" => {
                assert!(event["name"].is_string() && event["cat"].is_string());
                let begin = nanos(&event["ts"]);
                let duration = nanos(&event["dur"]);
                assert!(begin >= 0 && duration >= 0, "{event}");
                let lane = (pid, tid.expect("tid"));
                slices
                    .entry(lane)
                    .or_default()
                    .push((begin, begin + duration));
            }
            "s" | "f" => {
                // Both ends are found by category, name and id.
                let key = format!("{} {} {}", event["cat"], event["name"], event["id"]);
                flows.entry(key).or_default().push(event);
            }
            other => panic!("phase {other}: {event}"),
        }
    }
    for (lane, slices) in &mut slices {
        assert!(named.contains(&(lane.0, None)), "process {}", lane.0);
        assert!(named.contains(&(lane.0, Some(lane.1))), "thread {lane:?}");
        assert_nested(slices);
    }
    for ends in flows.values() {
        assert_flow(ends, &slices);
    }
}

/// Microseconds with fractions, as whole nanoseconds.
fn nanos(value: &Value) -> i64 {
    let micros = value.as_f64().expect("a number");
    (micros * 1e3).round() as i64
}

/// Slices of a thread lie inside of each other or one after the other: others are dropped.
fn assert_nested(slices: &mut [Slice]) {
    slices.sort_unstable_by_key(|slice| (slice.0, std::cmp::Reverse(slice.1)));
    let mut open: Vec<Slice> = Vec::new();
    for &slice in slices.iter() {
        open.retain(|outer| outer.1 > slice.0);
        if let Some(outer) = open.last() {
            assert!(slice.1 <= outer.1, "{slice:?} ends after {outer:?}");
        }
        open.push(slice);
    }
}

/// An arrow has one beginning and one end, in this order; its end binds to the slice around it.
fn assert_flow(ends: &[&Value], slices: &BTreeMap<(i64, i64), Vec<Slice>>) {
    let [start, finish] = ends else {
        panic!("{} ends: {:?}", ends.len(), ends.first());
    };
    assert_eq!((&start["ph"], &finish["ph"]), (&"s".into(), &"f".into()));
    assert_eq!(
        finish["bp"], "e",
        "without it an arrow leads to the next slice"
    );
    assert!(nanos(&start["ts"]) <= nanos(&finish["ts"]), "{start}");
    let at = nanos(&finish["ts"]);
    let lane = (
        finish["pid"].as_i64().unwrap(),
        finish["tid"].as_i64().unwrap(),
    );
    let mut around = slices.get(&lane).into_iter().flatten();
    assert!(around.any(|s| s.0 <= at && at <= s.1), "{finish}");
}
