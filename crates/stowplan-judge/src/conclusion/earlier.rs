//! What came out against an earlier result.

use crate::judgement::Judgement;
use crate::names::verdict_counts;

/// One sentence, where the result is compared with an earlier one.
pub(super) fn sentence(judgement: &Judgement) -> Option<String> {
    let against = judgement.against.as_ref()?;
    let earlier = against.against.as_ref()?;
    let how = match earlier.measured_again {
        true => "measured again in the same blocks",
        false => "as it was measured",
    };
    let primary = against.comparisons.iter().filter(|c| c.primary);
    let counts = verdict_counts(primary);
    let came_out = match counts.is_empty() {
        true => "nothing that answers the question is in both".to_owned(),
        false => format!("primary comparisons: {counts}"),
    };
    Some(format!("Against {}, {how}: {came_out}.", earlier.result))
}
