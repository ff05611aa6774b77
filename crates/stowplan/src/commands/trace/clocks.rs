//! Hosts whose clocks differ, in words and in documents.

use stowplan_model::units::show_ns;
use stowplan_trace::{ClockDifference, LinkSummary};

use crate::documents::calls;
use crate::output::note;

/// Says on standard error which clocks differ.
pub fn warn(clocks: &[ClockDifference]) {
    for of in clocks {
        let most = of.most_ns.map_or_else(String::new, |most_ns| {
            format!(", the clocks differ by at most {}", show_ns(most_ns as f64))
        });
        note!(
            "warning: the clocks of hosts {ahead} and {behind} differ: messages from {ahead} arrive up to {least} before \
             they are sent{most}; times between the two hosts are invalid\nhint: synchronise the clocks, for example with PTP",
            ahead = of.ahead,
            behind = of.behind,
            least = show_ns(of.least_ns as f64),
        );
    }
}

/// What the trace lacks by them, in words.
pub fn missing(clocks: &[ClockDifference]) -> impl Iterator<Item = String> {
    clocks.iter().map(|of| {
        format!(
            "{} of {} messages from host {} to host {} were taken before they were published: the clocks differ by at least {}",
            of.early,
            of.messages,
            of.ahead,
            of.behind,
            show_ns(of.least_ns as f64)
        )
    })
}

/// Messages without a link whose timestamps tell of a clock that is ahead, in words.
pub fn unlinked(links: &LinkSummary) -> Option<String> {
    (links.unlinked_early > 0).then(|| {
        format!(
            "{} messages not linked, with source timestamps up to {} after they were taken: their publisher's clock is ahead",
            links.unlinked_early,
            show_ns(links.most_early_ns as f64)
        )
    })
}

/// As documents have it.
pub fn document(clocks: &[ClockDifference]) -> Vec<calls::ClockDifference> {
    let document = |of: &ClockDifference| calls::ClockDifference {
        ahead: of.ahead.clone(),
        behind: of.behind.clone(),
        least_ns: of.least_ns,
        most_ns: of.most_ns,
        messages: of.messages,
        early: of.early,
    };
    clocks.iter().map(document).collect()
}
