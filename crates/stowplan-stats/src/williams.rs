//! The order in which deployments run within each block.

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_pcg::Pcg64;

/// Orders `treatments` treatments (numbered from 0) in `blocks` blocks by Williams
/// designs (1949).
///
/// In a full design every treatment stands equally often at every place and
/// follows every other equally often, so neither warming up nor what a run
/// leaves behind favours any. An even number needs as many blocks as treatments,
/// an odd one twice as many (a square and its mirror). More blocks repeat the
/// design; fewer take its beginning. Each design has its treatments relabelled
/// and each square its rows shuffled by `seed`, so that a drift over the
/// experiment meets no fixed order.
#[must_use]
pub fn williams(treatments: usize, blocks: usize, seed: u64) -> Vec<Vec<usize>> {
    if treatments == 0 {
        return vec![Vec::new(); blocks];
    }
    let mut random = Pcg64::seed_from_u64(seed);
    let mut orders: Vec<Vec<usize>> = Vec::with_capacity(blocks);
    while orders.len() < blocks {
        let mut labels: Vec<usize> = (0..treatments).collect();
        labels.shuffle(&mut random);
        for mut square in squares(treatments) {
            square.shuffle(&mut random);
            orders.extend(
                square
                    .into_iter()
                    .map(|row| row.into_iter().map(|t| labels[t]).collect::<Vec<_>>()),
            );
        }
    }
    orders.truncate(blocks);
    orders
}

/// One cyclic square for an even number, and its mirror too for an odd one.
fn squares(treatments: usize) -> Vec<Vec<Vec<usize>>> {
    // 0, 1, k−1, 2, k−2, …: neighbours differ by every step once.
    let first: Vec<usize> = (0..treatments)
        .map(|place| match place {
            0 => 0,
            odd if odd % 2 == 1 => odd.div_ceil(2),
            even => treatments - even / 2,
        })
        .collect();
    let square: Vec<Vec<usize>> = (0..treatments)
        .map(|shift| first.iter().map(|t| (t + shift) % treatments).collect())
        .collect();
    if treatments.is_multiple_of(2) || treatments == 1 {
        return vec![square];
    }
    let mirror = square
        .iter()
        .map(|row| row.iter().rev().copied().collect())
        .collect();
    vec![square, mirror]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How often each treatment stands at each place and follows each other.
    fn counts(orders: &[Vec<usize>], k: usize) -> (Vec<usize>, Vec<usize>) {
        let (mut places, mut follows) = (vec![0; k * k], vec![0; k * k]);
        for order in orders {
            for (place, t) in order.iter().enumerate() {
                places[place * k + t] += 1;
            }
            for pair in order.windows(2) {
                follows[pair[0] * k + pair[1]] += 1;
            }
        }
        (places, follows)
    }

    /// Source: Williams (1949): the first row for four treatments is 1 2 4 3.
    #[test]
    fn the_first_row_zigzags() {
        assert_eq!(squares(4)[0][0], [0, 1, 3, 2]);
        assert_eq!(squares(5)[0][0], [0, 1, 4, 2, 3]);
    }

    #[test]
    fn a_full_design_is_balanced() {
        for k in 2..=9 {
            let rows = if k % 2 == 0 { k } else { 2 * k };
            let orders = williams(k, 3 * rows, 11);
            let (places, follows) = counts(&orders, k);
            assert!(places.iter().all(|c| *c == 3 * rows / k), "{k}");
            for before in 0..k {
                for after in 0..k {
                    let expected = if before == after { 0 } else { 3 * rows / k };
                    assert_eq!(follows[before * k + after], expected, "{k}");
                }
            }
        }
    }

    #[test]
    fn every_block_runs_every_treatment_once() {
        for (k, blocks) in [(1, 3), (2, 1), (3, 4), (6, 7)] {
            let orders = williams(k, blocks, 5);
            assert_eq!(orders.len(), blocks);
            for mut order in orders {
                order.sort_unstable();
                assert_eq!(order, (0..k).collect::<Vec<_>>());
            }
        }
        assert_eq!(williams(0, 2, 5), [[0_usize; 0]; 2]);
    }

    #[test]
    fn the_seed_decides() {
        assert_eq!(williams(4, 20, 1), williams(4, 20, 1));
        assert_ne!(williams(4, 20, 1), williams(4, 20, 2));
    }
}
