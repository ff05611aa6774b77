//! Rounds, and the table that they end in.

use stowplan_stats::{PairedComparison, Rule, Sorted, StatsError, compare, t_interval};

/// One contender: a value per round.
#[derive(Clone)]
pub struct Series {
    /// What was measured.
    pub name: String,
    /// One value per round.
    pub values: Vec<f64>,
}

impl Series {
    /// A series without values yet.
    pub fn named(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            values: Vec::new(),
        }
    }
}

/// Order of `contenders` in round `round`: A B C, C B A, A B C …, so that a drift of the machine meets all alike.
pub fn order(round: usize, contenders: usize) -> Vec<usize> {
    let forward = 0..contenders;
    if round.is_multiple_of(2) {
        forward.collect()
    } else {
        forward.rev().collect()
    }
}

/// The median.
pub fn median(values: &[f64]) -> Result<f64, StatsError> {
    Ok(Sorted::new(values.to_vec())?.quantile(0.5))
}

/// Prints a table of contenders and their ratio to `series[reference]`, paired by round.
pub fn print(
    title: &str,
    unit: &str,
    series: &[Series],
    reference: usize,
) -> Result<(), StatsError> {
    let against = &series[reference];
    let rounds = against.values.len();
    println!("\n{title} ({rounds} rounds; intervals: 95 %, Student's t on logarithms)");
    println!(
        "  {:<38} {:>24}   ratio to {}",
        "",
        format!("median [interval], {unit}"),
        against.name
    );
    for one in series {
        let middle = median(&one.values)?;
        let spread = spread(&one.values);
        let ratio = ratio(&one.name, &against.values, &one.values)?;
        println!("  {:<38} {middle:>8.2} {spread:>15}   {ratio}", one.name);
    }
    Ok(())
}

/// Interval of the geometric mean, which cannot reach below zero and fits the ratio, or why there is none.
fn spread(values: &[f64]) -> String {
    let logarithms: Vec<f64> = values.iter().map(|value| value.ln()).collect();
    t_interval(&logarithms, 0.95).map_or_else(
        |_| "[one round]".to_owned(),
        |interval| format!("[{:.2}, {:.2}]", interval.low.exp(), interval.high.exp()),
    )
}

/// How large the candidate is beside the reference: paired by round, with the interval.
pub fn ratio(name: &str, reference: &[f64], candidate: &[f64]) -> Result<String, StatsError> {
    let PairedComparison {
        estimate,
        low,
        high,
        ..
    } = compare(&Rule::time(name), reference, candidate)?;
    let interval = match (low, high) {
        (Some(low), Some(high)) => format!(" [{:.3}, {:.3}]", 1.0 + low, 1.0 + high),
        _ => String::new(),
    };
    Ok(format!("{:.3}{interval}", 1.0 + estimate))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_other_round_runs_backwards() {
        assert_eq!(order(0, 3), [0, 1, 2]);
        assert_eq!(order(1, 3), [2, 1, 0]);
    }

    #[test]
    fn an_interval_holds_the_geometric_mean() {
        assert_eq!(spread(&[2.0, 2.0]), "[2.00, 2.00]");
        assert_eq!(spread(&[2.0]), "[one round]");
    }

    #[test]
    fn a_ratio_is_the_geometric_mean_over_rounds() {
        let text = ratio("x", &[1.0, 2.0, 4.0], &[2.0, 4.0, 8.0]).unwrap();
        assert_eq!(text, "2.000 [2.000, 2.000]");
        assert_eq!(ratio("x", &[2.0], &[3.0]).unwrap(), "1.500");
    }
}
