//! What the kernel made of the DDS configuration, read back after the participant exists (docs/measuring.md §1).

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::net::Ipv4Addr;

use crate::sockets::{local_ports, receive_buffers};

/// Threads that CycloneDDS 11 starts for a domain, by name.
const THREADS: [&str; 7] = [
    "dq.builtins",
    "dq.user",
    "gc",
    "recv",
    "recvMC",
    "recvUC",
    "tev",
];

/// Group that every host is in, whatever it asked for (RFC 1112).
const ALL_HOSTS: Ipv4Addr = Ipv4Addr::new(224, 0, 0, 1);

/// Key and value of everything that could be read; what cannot be read is left out.
///
/// - `dds.multicast_groups`: groups that anybody in this network has joined on loopback.
/// - `dds.participant_index`: by the port that it listens on, DDSI-RTPS 2.5 §9.6.2.3; `none` if it took any.
/// - `dds.receive_buffer_bytes`: SO_RCVBUF of its UDP sockets.
/// - `dds.threads`: those of DDS, by name.
#[must_use]
pub fn take(domain: u32) -> BTreeMap<String, String> {
    let groups = fs::read_to_string("/proc/self/net/igmp").ok();
    let groups = groups.map(|text| joined_on_loopback(&text));
    let index = local_ports().map(|ports| {
        let index = ports.iter().find_map(|port| index_of(*port, domain));
        index.map_or_else(|| "none".to_owned(), |index| index.to_string())
    });
    let found = [
        ("dds.multicast_groups", groups.map(|all| listed(&all))),
        ("dds.participant_index", index),
        (
            "dds.receive_buffer_bytes",
            receive_buffers().as_ref().map(listed),
        ),
        ("dds.threads", threads().as_ref().map(listed)),
    ];
    let found = found.into_iter();
    found
        .filter_map(|(key, value)| Some((key.to_owned(), value?)))
        .collect()
}

fn listed<T: ToString>(all: &BTreeSet<T>) -> String {
    let words: Vec<String> = all.iter().map(ToString::to_string).collect();
    if words.is_empty() {
        "none".to_owned()
    } else {
        words.join(" ")
    }
}

/// Of /proc/net/igmp: a line for each interface, and below it one for each group, its address as a number in the
/// machine's byte order.
fn joined_on_loopback(igmp: &str) -> BTreeSet<Ipv4Addr> {
    let mut of_loopback = false;
    let mut joined = BTreeSet::new();
    for line in igmp.lines().skip(1) {
        let mut words = line.split_whitespace();
        if line.starts_with(char::is_whitespace) {
            let group = words
                .next()
                .and_then(|hex| u32::from_str_radix(hex, 16).ok());
            joined.extend(
                group
                    .filter(|_| of_loopback)
                    .map(|g| Ipv4Addr::from(g.to_ne_bytes())),
            );
        } else {
            of_loopback = words.nth(1) == Some("lo");
        }
    }
    joined.remove(&ALL_HOSTS);
    joined
}

/// Participant index of a unicast port: 7400 + 250 × domain + 10 or 11 + 2 × index.
fn index_of(port: u16, domain: u32) -> Option<u32> {
    let offset = u32::from(port).checked_sub(7410 + 250 * domain)?;
    (offset < 240).then_some(offset / 2)
}

fn threads() -> Option<BTreeSet<String>> {
    let tasks = fs::read_dir("/proc/self/task").ok()?;
    let name = |task: fs::DirEntry| fs::read_to_string(task.path().join("comm")).ok();
    let names = tasks.flatten().filter_map(name);
    let names = names.map(|name| name.trim_end().to_owned());
    Some(
        names
            .filter(|name| THREADS.contains(&name.as_str()))
            .collect(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_of_loopback_are_read() {
        let number = |address: [u8; 4]| format!("{:08X}", u32::from_ne_bytes(address));
        let igmp = format!(
            "Idx\tDevice    : Count Querier\tGroup    Users Timer\tReporter\n\
             1\tlo        :     2      V3\n\t\t\t\t{}     2 0:00000000\t\t0\n\t\t\t\t{}     1 0:00000000\t\t0\n\
             2\teth0      :     2      V3\n\t\t\t\t{}     1 0:00000000\t\t0\n",
            number([239, 255, 0, 1]),
            number([224, 0, 0, 1]),
            number([224, 0, 0, 251]),
        );
        assert_eq!(listed(&joined_on_loopback(&igmp)), "239.255.0.1");
        assert_eq!(listed(&joined_on_loopback("")), "none");
    }

    #[test]
    fn the_index_is_that_of_the_port() {
        assert_eq!(index_of(7410, 0), Some(0));
        assert_eq!(index_of(7400 + 250 * 61 + 11 + 2 * 7, 61), Some(7));
        assert_eq!(index_of(7400 + 250 * 61, 61), None, "multicast");
        assert_eq!(index_of(40_000, 61), None, "any port");
    }
}
