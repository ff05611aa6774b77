//! Chains: every callback must be able to start the next.

use stowplan_model::{Callback, CallbackRef, Chain, Node, Trigger};

use super::{Finding, Index, Subject, duplicates};
use crate::nearest::hint;

pub(super) fn check(index: &Index<'_>, findings: &mut Vec<Finding>) {
    duplicates(
        index.stack.chains.iter().map(|c| &c.name),
        "chain",
        |n| Subject::Chain(n.to_string()),
        findings,
    );
    for chain in &index.stack.chains {
        if chain.callbacks.len() < 2 {
            findings.push(Finding {
                subject: Subject::Chain(chain.name.to_string()),
                message: format!("chain '{}' has fewer than two callbacks", chain.name),
                hint: Some("list the callbacks from the sensor to the command".into()),
            });
        }
        one(index, chain, findings);
    }
}

fn one(index: &Index<'_>, chain: &Chain, findings: &mut Vec<Finding>) {
    let mut before: Option<(&Node, &Callback)> = None;
    for (link, reference) in chain.callbacks.iter().enumerate() {
        let found = match look_up(index, reference) {
            Ok(found) => found,
            Err((message, hint)) => {
                findings.push(Finding {
                    subject: Subject::Link(chain.name.to_string(), link),
                    message: format!("chain '{}': {message}", chain.name),
                    hint,
                });
                before = None;
                continue;
            }
        };
        if let Some(before) = before
            && let Err((message, hint)) = reaches(index, before, found)
        {
            findings.push(Finding {
                subject: Subject::Link(chain.name.to_string(), link),
                message: format!("chain '{}': {message}", chain.name),
                hint,
            });
        }
        before = Some(found);
    }
}

type Problem = (String, Option<String>);

fn look_up<'a>(
    index: &Index<'a>,
    reference: &CallbackRef,
) -> Result<(&'a Node, &'a Callback), Problem> {
    let node = index.nodes.get(reference.node.as_str()).ok_or_else(|| {
        (
            format!("no node is called '{}'", reference.node),
            hint(reference.node.as_str(), index.nodes.keys().copied()),
        )
    })?;
    let callback = node.callback(reference.callback.as_str()).ok_or_else(|| {
        (
            format!(
                "node '{}' has no callback '{}'",
                reference.node, reference.callback
            ),
            hint(
                reference.callback.as_str(),
                node.callbacks.iter().map(|c| c.name.as_str()),
            ),
        )
    })?;
    Ok((node, callback))
}

fn reaches(
    index: &Index<'_>,
    from: (&Node, &Callback),
    to: (&Node, &Callback),
) -> Result<(), Problem> {
    let (here, there) = (
        format!("{}/{}", from.0.name, from.1.name),
        format!("{}/{}", to.0.name, to.1.name),
    );
    if from.0.name == to.0.name && to.1.uses.contains(&from.1.name) {
        return Ok(());
    }
    match &to.1.trigger {
        Trigger::Subscription { topic } if from.1.publishes.contains(topic) => Ok(()),
        Trigger::Subscription { topic } => {
            let published = match from.1.publishes.as_slice() {
                [] => "publishes nothing".to_owned(),
                topics => format!("publishes {}", topics.join(", ")),
            };
            Err((
                format!(
                    "'{here}' cannot start '{there}', which subscribes to {topic}: '{here}' {published}"
                ),
                next_hint(index, from),
            ))
        }
        Trigger::Timer { .. } => Err((
            format!("'{here}' does not lead to the timer '{there}'"),
            Some(if from.0.name == to.0.name {
                format!("let the timer say 'uses: [{}]'", from.1.name)
            } else {
                "a timer can only follow a callback of its own node that it uses".to_owned()
            }),
        )),
    }
}

/// What could come next: a callback that the previous one does start.
fn next_hint(index: &Index<'_>, from: (&Node, &Callback)) -> Option<String> {
    let starts = |c: &Callback| matches!(&c.trigger, Trigger::Subscription { topic } if from.1.publishes.contains(topic));
    let next: Vec<String> = index
        .stack
        .nodes
        .iter()
        .flat_map(|n| {
            n.callbacks
                .iter()
                .filter(|c| starts(c))
                .map(move |c| format!("'{}/{}'", n.name, c.name))
        })
        .take(3)
        .collect();
    (!next.is_empty()).then(|| format!("it starts {}", next.join(", ")))
}
