//! Checks links against what the messages say of themselves.
//!
//! The payload carries the number of the publisher and of the message. Links
//! never rest on it, so agreement is evidence.

use std::collections::{BTreeMap, HashMap};

use crate::analysis::Analysis;
use crate::ids::{PublisherId, TakeId};
use crate::record::Payload;

/// Mismatches that are kept; more are only counted.
const KEPT: usize = 100;

/// The result of the check.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PayloadCheck {
    /// Linked messages with a payload.
    pub checked: u64,
    /// Of these, those whose link and payload disagree.
    pub mismatches: u64,
    /// The first of them.
    pub first_mismatches: Vec<Mismatch>,
    /// Linked messages without a payload in the trace.
    pub without_payload: u64,
    /// Messages with a payload and without a link.
    pub unlinked: u64,
}

/// A message whose link and payload disagree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mismatch {
    /// The message.
    pub take: TakeId,
    /// The publisher that it was linked to.
    pub publisher: PublisherId,
    /// What it says of itself.
    pub payload: Payload,
    /// In words.
    pub reason: String,
}

/// Number of a publisher in the plan, and what its sequence is ahead of the
/// number of publications in the trace.
type Numbering = (u32, i64);

impl Analysis {
    /// Compares every link with the payload's publisher, sequence and stamp.
    ///
    /// The trace counts the publications of each publisher, the payload carries
    /// the publisher's own count: their difference must be the same for all
    /// messages of a publisher, and no two publishers have one number.
    #[must_use]
    pub fn check_payload(&self) -> PayloadCheck {
        let numbering = self.numbering();
        let mut owners: HashMap<u32, PublisherId> = HashMap::new();
        for (&publisher, &(number, _)) in &numbering {
            owners.entry(number).or_insert(publisher);
        }
        let mut check = PayloadCheck::default();
        for (id, take) in self.records.takes.iter() {
            let (link, payload) = match (take.link, take.payload) {
                (Some(link), Some(payload)) => (link, payload),
                (Some(_), None) => {
                    check.without_payload += 1;
                    continue;
                }
                (None, Some(_)) => {
                    check.unlinked += 1;
                    continue;
                }
                (None, None) => continue,
            };
            check.checked += 1;
            let publication = &self.records.publications[link.publication];
            let publisher = publication.publisher;
            let (number, ahead) = numbering[&publisher];
            let began = publication
                .instance
                .map_or(i64::MIN, |id| self.records.instances[id].start_ns);
            let reason = if payload.publisher_id != number {
                format!("publisher {} instead of {number}", payload.publisher_id)
            } else if owners[&number] != publisher {
                format!("two publishers have the number {number}")
            } else if difference(payload.sequence, publication.ordinal) != ahead {
                format!(
                    "message {} instead of {}",
                    payload.sequence,
                    i64::from(publication.ordinal) + ahead
                )
            } else if payload.stamp_ns < began || payload.stamp_ns > take.time_ns {
                "its stamp is not between the publishing callback's start and the take".to_owned()
            } else {
                continue;
            };
            check.mismatches += 1;
            if check.first_mismatches.len() < KEPT {
                check.first_mismatches.push(Mismatch {
                    take: id,
                    publisher,
                    payload,
                    reason,
                });
            }
        }
        check
    }

    /// The numbering that most messages of each publisher agree on.
    fn numbering(&self) -> BTreeMap<PublisherId, Numbering> {
        let mut votes: BTreeMap<PublisherId, BTreeMap<Numbering, u64>> = BTreeMap::new();
        for (_, take) in self.records.takes.iter() {
            if let (Some(link), Some(payload)) = (take.link, take.payload) {
                let publication = &self.records.publications[link.publication];
                let ahead = difference(payload.sequence, publication.ordinal);
                let of_publisher = votes.entry(publication.publisher).or_default();
                *of_publisher
                    .entry((payload.publisher_id, ahead))
                    .or_default() += 1;
            }
        }
        votes
            .into_iter()
            .filter_map(|(publisher, votes)| {
                let best = votes.into_iter().max_by_key(|&(_, count)| count)?;
                Some((publisher, best.0))
            })
            .collect()
    }
}

fn difference(sequence: u64, ordinal: u32) -> i64 {
    (sequence as i64).wrapping_sub(i64::from(ordinal))
}

#[cfg(test)]
mod tests {
    use crate::scripted::Script;

    /// Two publishers, three messages each; the reader's words are given.
    fn check(words: [(u32, u64); 6]) -> super::PayloadCheck {
        let mut script = Script::new();
        let sink = script.process(9);
        let node = script.node(sink, "sink");
        let sub = script.subscription(node, "/t", "sink::on");
        for p in 0..2 {
            let source = script.process(1 + p);
            let node = script.node(source, "source");
            let publisher = script.publisher(node, "/t");
            for k in 0..3 {
                script.publish(1000 * k + 10 * p, source, publisher, Some(1 + 10 * k + p));
            }
        }
        for (n, (publisher, sequence)) in words.into_iter().enumerate() {
            let n = n as i64;
            let (k, p) = (n / 2, n % 2);
            let start = 1000 * k + 200 + 100 * p;
            script.receive(start, start + 20, sink, sub, 1 + 10 * k + p);
            script.words(start, sink, sub, publisher, sequence);
        }
        script.analyse().check_payload()
    }

    #[test]
    fn links_that_agree_have_no_mismatch() {
        let result = check([(4, 7), (5, 0), (4, 8), (5, 1), (4, 9), (5, 2)]);
        assert_eq!((result.checked, result.mismatches), (6, 0));
        assert_eq!((result.without_payload, result.unlinked), (0, 0));
    }

    #[test]
    fn a_message_of_another_number_or_publisher_is_a_mismatch() {
        let result = check([(4, 7), (5, 0), (4, 8), (4, 9), (4, 9), (5, 3)]);
        let reasons: Vec<&str> = result
            .first_mismatches
            .iter()
            .map(|m| m.reason.as_str())
            .collect();
        assert_eq!(result.mismatches, 2);
        assert_eq!(reasons.len(), 2, "{reasons:?}");
    }

    #[test]
    fn two_publishers_cannot_have_one_number() {
        let result = check([(4, 0), (4, 0), (4, 1), (4, 1), (4, 2), (4, 2)]);
        assert_eq!(result.mismatches, 3);
        assert_eq!(
            result.first_mismatches[0].reason,
            "two publishers have the number 4"
        );
    }
}
