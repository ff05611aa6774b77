//! Quality of service of an endpoint: the fields `qos_*`.

use serde_json::Value;

use super::files::Rest;
use super::{At, QOS};
use crate::draft::DraftQos;
use crate::error::{ImportError, Warnings};

/// Fields that a stack has nothing for, with the values that change nothing.
const PLAIN: [(&str, &[&str]); 6] = [
    ("qos_history", &["keep_last"]),
    ("qos_liveliness", &["automatic", "system_default"]),
    ("qos_deadline", &["default"]),
    ("qos_lifespan", &["default"]),
    ("qos_liveliness_lease_duration", &["default"]),
    ("qos_avoid_ros_namespace_conventions", &["false"]),
];

/// Takes the quality of service out of the fields of an endpoint; warns of what a stack cannot have.
pub(super) fn taken(
    at: &At<'_>,
    rest: &mut Rest,
    warnings: &mut Warnings,
) -> Result<DraftQos, ImportError> {
    for (field, values) in PLAIN {
        if let Some(value) = rest.remove(field)
            && !values.iter().any(|plain| value == *plain)
        {
            warnings.add(at.says(format!("{field} {value} is left out")));
        }
    }
    let mut chosen = |field: &str, usual: &str, other: &str| match rest.remove(field) {
        None => false,
        Some(value) => {
            if value != usual && value != other {
                warnings.add(at.says(format!("{field} {value} is taken as '{usual}'")));
            }
            value == other
        }
    };
    Ok(DraftQos {
        reliable: !chosen("qos_reliability", "reliable", "best_effort"),
        transient_local: chosen("qos_durability", "volatile", "transient_local"),
        depth: match rest.remove("qos_depth") {
            None => QOS.depth,
            Some(value) => depth(&value).ok_or_else(|| {
                let at = at.below(".qos_depth");
                at.says(format!("{value} is no number of messages"))
            })?,
        },
    })
}

fn depth(value: &Value) -> Option<u32> {
    let depth = u32::try_from(value.as_u64()?).ok()?;
    (depth > 0).then_some(depth)
}
