//! Recordings in CTF 2 as LTTng and babeltrace2 write them.

use std::collections::BTreeMap;
use std::fs;

use stowplan_testkit::{fixture, unpacked};
use stowplan_trace::{LinkMethod, Overview, Reading};

#[test]
fn what_lttng_and_babeltrace_write_is_read_whole() {
    let fixtures = fixture("ctf2-recordings");
    let counts = fs::read_to_string(fixtures.join("counts.json")).expect("what was emitted");
    let counts: BTreeMap<String, u64> = serde_json::from_str(&counts).expect("JSON");
    for name in ["lttng-2.16", "babeltrace-2.1"] {
        let folder = unpacked(&fixtures.join(format!("{name}.tar.zst")));
        let found = Overview::from_ctf(folder.path(), Reading::default()).expect("a trace");
        let read: BTreeMap<String, u64> = found
            .contents
            .by_event
            .iter()
            .map(|(name, count)| (name.to_string(), *count))
            .collect();
        assert_eq!(read, counts, "{name}");
        let links = found.link_summary();
        assert_eq!((links.takes, links.linked), (40, 40), "{name}");
        for method in [LinkMethod::RingBuffer, LinkMethod::SourceTimestamp] {
            assert_eq!(links.by_method[&method], 20, "{name}");
        }
        assert_eq!(found.graph.processes.len(), 1, "{name}");
    }
}
