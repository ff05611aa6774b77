//! Checks links against what the messages say of themselves.
//!
//! The payload carries the number of the publisher and of the message. Links
//! never rest on it, so agreement is evidence.

use std::collections::{BTreeMap, HashMap};

use crate::analysis::Analysis;
use crate::ids::{PublisherId, TakeId};
use crate::record::{Payload, Publication};

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

/// What the messages of one publisher agree on.
#[derive(Debug)]
struct Agreed {
    /// Number of the publisher in the plan.
    number: u32,
    /// What their stamps are ahead of the trace's time of publication: zero,
    /// unless the publisher runs on another clock.
    stamp_ahead_ns: i64,
    /// Sequence by number of publication in the trace. The difference of the two
    /// never shrinks; it grows where messages that nobody could get left no event.
    sequences: BTreeMap<u32, u64>,
}

impl Analysis {
    /// Compares every link with the payload's publisher, sequence and stamp.
    ///
    /// The node program reads the clock once for a message's stamp and the event
    /// that begins its publication: stamp and linked publication agree to the
    /// nanosecond.
    #[must_use]
    pub fn check_payload(&self) -> PayloadCheck {
        let agreed = self.agreed();
        let mut owners: HashMap<u32, PublisherId> = HashMap::new();
        for (&publisher, of_publisher) in &agreed {
            owners.entry(of_publisher.number).or_insert(publisher);
        }
        let mut check = PayloadCheck::default();
        for (id, take) in self.records.takes.iter() {
            let (link, payload) = match (take.link, &take.payload) {
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
            let of_publisher = &agreed[&publisher];
            let reason = if owners[&of_publisher.number] != publisher {
                format!("two publishers have the number {}", of_publisher.number)
            } else {
                match of_publisher.disagrees(publication, payload) {
                    Some(reason) => reason,
                    None => continue,
                }
            };
            check.mismatches += 1;
            if check.first_mismatches.len() < KEPT {
                check.first_mismatches.push(Mismatch {
                    take: id,
                    publisher,
                    payload: **payload,
                    reason,
                });
            }
        }
        check
    }

    fn agreed(&self) -> BTreeMap<PublisherId, Agreed> {
        type Votes = BTreeMap<(u32, i64), u64>;
        let mut votes: BTreeMap<PublisherId, (Votes, BTreeMap<u32, u64>)> = BTreeMap::new();
        for (_, take) in self.records.takes.iter() {
            let (Some(link), Some(payload)) = (take.link, &take.payload) else {
                continue;
            };
            let publication = &self.records.publications[link.publication];
            let ahead = payload.stamp_ns - publication.time_ns;
            let (votes, sequences) = votes.entry(publication.publisher).or_default();
            *votes.entry((payload.publisher_id, ahead)).or_default() += 1;
            sequences
                .entry(publication.ordinal)
                .or_insert(payload.sequence);
        }
        votes
            .into_iter()
            .filter_map(|(publisher, (votes, sequences))| {
                let ((number, stamp_ahead_ns), _) =
                    votes.into_iter().max_by_key(|&(_, count)| count)?;
                let agreed = Agreed {
                    number,
                    stamp_ahead_ns,
                    sequences,
                };
                Some((publisher, agreed))
            })
            .collect()
    }
}

impl Agreed {
    /// Why a message and the publication that it was linked to do not belong together.
    fn disagrees(&self, publication: &Publication, payload: &Payload) -> Option<String> {
        if payload.publisher_id != self.number {
            return Some(format!(
                "publisher {} instead of {}",
                payload.publisher_id, self.number
            ));
        }
        let stamp = publication.time_ns + self.stamp_ahead_ns;
        if payload.stamp_ns != stamp {
            return Some(format!("stamped {} instead of {stamp}", payload.stamp_ns));
        }
        let ordinal = publication.ordinal;
        let before = self.sequences.range(..ordinal).next_back();
        let ahead = |sequence: u64, ordinal: u32| i128::from(sequence) - i128::from(ordinal);
        let shrinks = before.is_some_and(|(&earlier, &sequence)| {
            ahead(payload.sequence, ordinal) < ahead(sequence, earlier)
        });
        (shrinks || self.sequences[&ordinal] != payload.sequence)
            .then(|| format!("message {} does not follow those before", payload.sequence))
    }
}

#[cfg(test)]
mod tests {
    use crate::scripted::Script;

    /// Two publishers, three messages each; the reader's words are given: publisher,
    /// sequence, stamp less the time of publication.
    fn check(words: [(u32, u64, i64); 6]) -> super::PayloadCheck {
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
        for (n, (publisher, sequence, ahead)) in words.into_iter().enumerate() {
            let n = n as i64;
            let (k, p) = (n / 2, n % 2);
            let start = 1000 * k + 200 + 100 * p;
            script.receive(start, start + 20, sink, sub, 1 + 10 * k + p);
            let stamp = 1000 * k + 10 * p + ahead;
            script.words(start, sink, sub, [publisher.into(), sequence, stamp as u64]);
        }
        script.analyse().check_payload()
    }

    #[test]
    fn links_that_agree_have_no_mismatch() {
        let words = [
            (4, 7, 0),
            (5, 0, 0),
            (4, 8, 0),
            (5, 1, 0),
            (4, 9, 0),
            (5, 3, 0),
        ];
        let result = check(words);
        assert_eq!((result.checked, result.mismatches), (6, 0));
        assert_eq!((result.without_payload, result.unlinked), (0, 0));
    }

    #[test]
    fn a_message_of_another_number_publisher_or_time_is_a_mismatch() {
        let words = [
            (4, 7, 0),
            (5, 0, 0),
            (5, 8, 0),
            (5, 1, 0),
            (4, 7, 0),
            (5, 2, 9),
        ];
        let result = check(words);
        let reasons: Vec<&str> = result
            .first_mismatches
            .iter()
            .map(|m| m.reason.as_str())
            .collect();
        assert_eq!(
            reasons,
            [
                "publisher 5 instead of 4",
                "message 7 does not follow those before",
                "stamped 2019 instead of 2010",
            ]
        );
        assert_eq!(result.mismatches, 3);
    }

    #[test]
    fn two_publishers_cannot_have_one_number() {
        let words = [
            (4, 0, 0),
            (4, 0, 0),
            (4, 1, 0),
            (4, 1, 0),
            (4, 2, 0),
            (4, 2, 0),
        ];
        let result = check(words);
        assert_eq!(result.mismatches, 3);
        assert_eq!(
            result.first_mismatches[0].reason,
            "two publishers have the number 4"
        );
    }
}
