//! How often two equal deployments are told apart where a pilot fixes the number of blocks.
//!
//! The number follows from the spread of the pilot's differences, not from their mean, and the pilot's blocks
//! count. A spread that came out small by chance stops the experiment early and makes its interval short: that is what
//! `after_pilot` makes up for. Without it up to 6.6 % are flagged.

use std::collections::HashMap;

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;
use stowplan_stats::{ALPHA, Estimate, Margins, Moments, PILOT_BLOCKS, planned_blocks};

const EXPERIMENTS: usize = 4_000;

/// The most blocks of an experiment.
const MOST: usize = 60;

/// A standard normal number after Box and Muller.
fn normal(random: &mut Pcg64) -> f64 {
    let radius: f64 = random.random_range(f64::MIN_POSITIVE..1.0);
    let angle: f64 = random.random_range(0.0..std::f64::consts::TAU);
    (-2.0 * radius.ln()).sqrt() * angle.cos()
}

/// The number of blocks that a pilot fixes. Its spread is rounded to a percent of itself, so that the power of equal
/// spreads is integrated once.
fn size_of(pilot: &[f64], delta: f64, known: &mut HashMap<i64, usize>) -> usize {
    let moments: Moments = pilot.iter().copied().collect();
    let percents = (moments.std().expect("a pilot has two blocks or more").ln() * 100.0).round();
    let size = || {
        let std = (percents / 100.0).exp();
        planned_blocks(std, PILOT_BLOCKS, Margins::relative(delta), ALPHA, MOST)
    };
    *known.entry(percents as i64).or_insert_with(size)
}

/// What an experiment's differences are drawn from, one after another.
type Draw<'a> = Box<dyn FnMut() -> f64 + 'a>;

/// Simulates experiments and checks the share of alarms for a δ with which the pilot alone suffices in some, for one
/// with which nearly all go on, and for one with which some reach the cap.
fn assert_alarms(name: &str, seed: u64, deltas: [f64; 3], draws: fn(&mut Pcg64) -> Draw<'_>) {
    let mut random = Pcg64::seed_from_u64(seed);
    for delta in deltas {
        let (mut alarms, mut sizes, mut known) = (0, Vec::new(), HashMap::new());
        for _ in 0..EXPERIMENTS {
            let mut draw = draws(&mut random);
            let mut differences: Vec<f64> = (0..PILOT_BLOCKS).map(|_| draw()).collect();
            let size = size_of(&differences, delta, &mut known);
            differences.extend((differences.len()..size).map(|_| draw()));
            assert_eq!(differences.len(), size);
            let mean = Estimate::mean_of(&differences).expect("finite differences");
            let interval = mean
                .after_pilot(PILOT_BLOCKS)
                .interval(0.95)
                .expect("a level below 1");
            alarms += usize::from(interval.excludes_zero());
            sizes.push(size);
        }
        sizes.sort_unstable();
        let share = alarms as f64 / EXPERIMENTS as f64;
        let [low, middle, high] = [1, 2, 3].map(|q| sizes[q * EXPERIMENTS / 4]);
        println!(
            "{name}, delta {delta}: {:.2} % alarms, blocks {low} | {middle} | {high}",
            share * 100.0
        );
        assert!(
            (0.02..=0.065).contains(&share),
            "{name}: {:.2} % alarms with delta {delta}",
            share * 100.0
        );
        assert!(
            low < MOST,
            "{name}: the pilot decides nothing with delta {delta}"
        );
    }
}

#[test]
fn normal_runs() {
    assert_alarms("normal", 21, [0.06, 0.045, 0.03], |random| {
        Box::new(move || {
            let reference = (100.0 + 5.0 * normal(random)).ln();
            (100.0 + 5.0 * normal(random)).ln() - reference
        })
    });
}

#[test]
fn log_normal_runs() {
    assert_alarms("log-normal", 22, [0.25, 0.2, 0.12], |random| {
        Box::new(move || {
            let reference = 0.2 * normal(random);
            0.2 * normal(random) - reference
        })
    });
}

#[test]
fn runs_of_uniform_phase() {
    assert_alarms("uniform phase", 23, [0.6, 0.5, 0.35], |random| {
        Box::new(move || {
            let reference = (30.0 + random.random_range(0.0..100.0_f64)).ln();
            (30.0 + random.random_range(0.0..100.0_f64)).ln() - reference
        })
    });
}

#[test]
fn drift_shared_by_the_runs_of_a_block() {
    assert_alarms("AR(1) over blocks", 24, [0.012, 0.01, 0.007], |random| {
        let mut state = normal(random);
        Box::new(move || {
            state = 0.9 * state + (1.0_f64 - 0.81).sqrt() * normal(random);
            let base = 100.0 + 10.0 * state;
            let reference = (base + normal(random)).ln();
            (base + normal(random)).ln() - reference
        })
    });
}
