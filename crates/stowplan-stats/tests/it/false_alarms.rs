//! How often two equal deployments are told apart.
//!
//! Each case simulates experiments in which reference and candidate are the same
//! and counts 95 % intervals that exclude zero. δ plays no part: it only makes
//! alarms rarer.

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;
use stowplan_stats::{
    Estimate, MIN_BLOCKS, Rule, Verdict, compare, compare_spread, sign_flip, t_interval, williams,
};

const EXPERIMENTS: usize = 2_000;
const BLOCKS: [usize; 3] = [6, 10, 20];

/// A standard normal number after Box and Muller.
fn normal(random: &mut Pcg64) -> f64 {
    let radius: f64 = random.random_range(f64::MIN_POSITIVE..1.0);
    let angle: f64 = random.random_range(0.0..std::f64::consts::TAU);
    (-2.0 * radius.ln()).sqrt() * angle.cos()
}

/// Checks the share of alarms of one kind of data for each number of blocks.
/// `differences` draws the paired differences of one experiment.
fn assert_alarms(
    name: &str,
    seed: u64,
    mut differences: impl FnMut(&mut Pcg64, usize) -> Vec<f64>,
) {
    let mut random = Pcg64::seed_from_u64(seed);
    for blocks in BLOCKS {
        let alarms = (0..EXPERIMENTS)
            .filter(|_| {
                let drawn = differences(&mut random, blocks);
                assert_eq!(drawn.len(), blocks);
                let interval = t_interval(&drawn, 0.95).expect("six finite values or more");
                interval.excludes_zero()
            })
            .count();
        let share = alarms as f64 / EXPERIMENTS as f64;
        println!("{name}: {blocks} blocks, {:.2} % alarms", share * 100.0);
        assert!(
            (0.02..=0.065).contains(&share),
            "{name}: {:.2} % alarms at {blocks} blocks",
            share * 100.0
        );
    }
}

/// Log ratios of two independent draws per block.
fn log_ratios(
    random: &mut Pcg64,
    blocks: usize,
    mut run: impl FnMut(&mut Pcg64) -> f64,
) -> Vec<f64> {
    (0..blocks)
        .map(|_| {
            let reference = run(random).ln();
            run(random).ln() - reference
        })
        .collect()
}

#[test]
fn normal_runs() {
    assert_alarms("normal", 1, |random, blocks| {
        log_ratios(random, blocks, |r| 100.0 + 5.0 * normal(r))
    });
}

#[test]
fn log_normal_runs() {
    assert_alarms("log-normal, log ratio", 2, |random, blocks| {
        log_ratios(random, blocks, |r| (0.5 * normal(r)).exp())
    });
    // The same data on the wrong scale: heavy tails make alarms rarer, not more.
    assert_alarms("log-normal, difference", 3, |random, blocks| {
        (0..blocks)
            .map(|_| (0.5 * normal(random)).exp() - (0.5 * normal(random)).exp())
            .collect()
    });
}

#[test]
fn runs_of_uniform_phase() {
    // A run's latency is its work and a wait of anything up to one period.
    assert_alarms("uniform phase", 4, |random, blocks| {
        log_ratios(random, blocks, |r| 30.0 + r.random_range(0.0..100.0))
    });
}

#[test]
fn run_means_of_autocorrelated_samples() {
    // Samples within a run hang together (ρ = 0.9), runs do not: the run is
    // the unit, so the interval holds.
    assert_alarms("AR(1) within runs", 5, |random, blocks| {
        log_ratios(random, blocks, |r| {
            let mut state = normal(r);
            let sum: f64 = (0..50)
                .map(|_| {
                    state = 0.9 * state + (1.0_f64 - 0.81).sqrt() * normal(r);
                    100.0 + 10.0 * state
                })
                .sum();
            sum / 50.0
        })
    });
}

#[test]
fn drift_shared_by_the_runs_of_a_block() {
    // The machine's state drifts from block to block (ρ = 0.9) by far more than
    // runs differ within a block, in which it cancels.
    assert_alarms("AR(1) over blocks", 6, |random, blocks| {
        let mut state = normal(random);
        (0..blocks)
            .map(|_| {
                state = 0.9 * state + (1.0_f64 - 0.81).sqrt() * normal(random);
                let base = 100.0 + 10.0 * state;
                let reference = (base + normal(random)).ln();
                (base + normal(random)).ln() - reference
            })
            .collect()
    });
}

#[test]
fn drift_from_run_to_run_in_a_williams_order() {
    // The state drifts from one run to the next too, so a block does not cancel
    // all of it; that the order is drawn anew keeps the rest from adding up.
    let mut experiment = 0;
    assert_alarms("AR(1) over runs", 7, |random, blocks| {
        experiment += 1;
        let mut state = normal(random);
        williams(2, blocks, experiment)
            .into_iter()
            .map(|order| {
                let mut values = [0.0; 2];
                for deployment in order {
                    state = 0.9 * state + (1.0_f64 - 0.81).sqrt() * normal(random);
                    values[deployment] = (100.0 + 10.0 * state).ln();
                }
                values[1] - values[0]
            })
            .collect()
    });
}

#[test]
fn the_sign_flip_test_keeps_its_level() {
    let mut random = Pcg64::seed_from_u64(8);
    for blocks in BLOCKS {
        let alarms = (0..EXPERIMENTS)
            .filter(|_| {
                let drawn = log_ratios(&mut random, blocks, |r| (0.5 * normal(r)).exp());
                sign_flip(&drawn, 0).unwrap().p <= 0.05
            })
            .count();
        let share = alarms as f64 / EXPERIMENTS as f64;
        assert!(share <= 0.065, "{share} at {blocks} blocks");
    }
}

#[test]
fn a_difference_of_delta_is_rarely_called_equivalent() {
    let mut random = Pcg64::seed_from_u64(10);
    for blocks in BLOCKS {
        let wrong = (0..EXPERIMENTS)
            .filter(|_| {
                let drawn = log_ratios(&mut random, blocks, |r| 100.0 + 0.5 * normal(r));
                let shifted: Vec<f64> = drawn.iter().map(|d| d + 1.02_f64.ln()).collect();
                let estimate = Estimate::mean_of(&shifted).unwrap();
                estimate.p_outside(0.98_f64.ln(), 1.02_f64.ln()) <= 0.05
            })
            .count();
        let share = wrong as f64 / EXPERIMENTS as f64;
        assert!(
            (0.035..=0.065).contains(&share),
            "{share} at {blocks} blocks"
        );
    }
}

#[test]
fn the_whole_rule_rarely_claims_a_difference_between_equals() {
    let mut random = Pcg64::seed_from_u64(9);
    let rule = Rule::time("reaction");
    let mut claims = 0;
    for _ in 0..300 {
        let mut draw = || -> Vec<f64> {
            (0..MIN_BLOCKS)
                .map(|_| 100.0 + 5.0 * normal(&mut random))
                .collect()
        };
        let c = compare(&rule, &draw(), &draw()).unwrap();
        let excludes = c.low.unwrap() > 0.0 || c.high.unwrap() < 0.0;
        let claim = matches!(c.verdict, Verdict::Better | Verdict::Worse);
        assert!(excludes || !claim);
        claims += usize::from(claim);
    }
    assert!(claims <= 30, "{claims} claims in 300");
}

/// Starts whose levels vary as much as the blocks within them, and starts that do not vary: recordings of both.
#[test]
fn recordings_of_equal_systems_by_their_spread() {
    let mut random = Pcg64::seed_from_u64(23);
    for (blocks, between, most) in [
        (6, 1.0, 0.065),
        (15, 1.0, 0.065),
        (30, 1.0, 0.065),
        (15, 0.0, 0.001),
    ] {
        let alarms = (0..EXPERIMENTS)
            .filter(|_| {
                let mut recording = || {
                    let level = 10.0 + between * normal(&mut random);
                    let blocks = (0..blocks).map(|_| level + normal(&mut random));
                    blocks.collect::<Vec<f64>>()
                };
                let (a, b) = (recording(), recording());
                let compared = compare_spread(&a, &b, 1).expect("six finite values or more");
                compared.interval.excludes_zero()
            })
            .count();
        let share = alarms as f64 / EXPERIMENTS as f64;
        println!("spread: {blocks} blocks, {:.2} % alarms", share * 100.0);
        assert!(
            share <= most,
            "{:.2} % alarms at {blocks} blocks",
            share * 100.0
        );
    }
}
