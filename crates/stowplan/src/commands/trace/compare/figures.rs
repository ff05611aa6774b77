//! One figure of two traces, and whether their spread over blocks of time explains how far it differs.

use stowplan_stats::{MIN_BLOCKS, compare_spread};

use crate::documents::trace_compare::{Change, ChangeVerdict};

/// A figure by block of time in each trace.
#[derive(Debug, Clone, PartialEq)]
pub struct Figure(pub [Vec<f64>; 2]);

impl Figure {
    /// Whether both traces have enough blocks.
    pub fn can_be_judged(&self) -> bool {
        self.0.iter().all(|blocks| blocks.len() >= MIN_BLOCKS)
    }

    /// How far it differs, as one of so many comparisons.
    pub fn change(&self, comparisons: usize) -> Change {
        let [a, b] = &self.0;
        let blocks = [a.len() as u64, b.len() as u64];
        match compare_spread(a, b, comparisons) {
            Ok(compared) => Change {
                blocks,
                a: Some(compared.means[0]),
                b: Some(compared.means[1]),
                change: Some(compared.difference),
                explained: Some(compared.explained),
                verdict: if compared.differs() {
                    ChangeVerdict::Changed
                } else {
                    ChangeVerdict::WithinSpread
                },
            },
            Err(_) => Change {
                blocks,
                a: None,
                b: None,
                change: None,
                explained: None,
                verdict: ChangeVerdict::CannotTell,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_blocks_cannot_tell() {
        let few = Figure([vec![1.0; 5], vec![9.0; 20]]);
        assert!(!few.can_be_judged());
        let change = few.change(1);
        assert_eq!(
            (change.verdict, change.blocks),
            (ChangeVerdict::CannotTell, [5, 20])
        );
        assert_eq!((change.change, change.explained), (None, None));
    }

    #[test]
    fn what_the_spread_explains_is_no_change() {
        let wide: Vec<f64> = (0..12).map(|i| 100.0 + 30.0 * f64::from(i % 3)).collect();
        let change = Figure([wide.clone(), wide.iter().map(|x| x + 20.0).collect()]).change(1);
        assert_eq!(change.verdict, ChangeVerdict::WithinSpread);
        assert!(change.explained.unwrap() > 20.0);
        let change = Figure([wide.clone(), wide.iter().map(|x| x + 200.0).collect()]).change(1);
        assert_eq!(change.verdict, ChangeVerdict::Changed);
        assert!((change.change.unwrap() - 200.0).abs() < 1e-9);
    }
}
