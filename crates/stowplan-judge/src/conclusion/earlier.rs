//! What came out against an earlier result.

use stowplan_stats::Verdict;

use crate::judgement::Judgement;

/// One sentence, where the result is compared with an earlier one.
pub(super) fn sentence(judgement: &Judgement) -> Option<String> {
    let against = judgement.against.as_ref()?;
    let earlier = against.against.as_ref()?;
    let how = match earlier.measured_again {
        true => "measured again in the same blocks",
        false => "as it was measured",
    };
    let mut counts: Vec<(Verdict, usize)> = Vec::new();
    for c in against.comparisons.iter().filter(|c| c.primary) {
        match counts.iter_mut().find(|(verdict, _)| *verdict == c.verdict) {
            Some((_, count)) => *count += 1,
            None => counts.push((c.verdict, 1)),
        }
    }
    let all: usize = counts.iter().map(|(_, count)| count).sum();
    let counts: Vec<String> = counts
        .iter()
        .map(|(verdict, count)| format!("{count} {verdict}"))
        .collect();
    let came_out = match all {
        0 => "nothing that answers the question is in both".to_owned(),
        _ => format!("primary comparisons: {}", counts.join(", ")),
    };
    Some(format!("Against {}, {how}: {came_out}.", earlier.result))
}
