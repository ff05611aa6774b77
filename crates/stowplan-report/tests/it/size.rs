//! The number of blocks that a pilot fixes, and how fine intervals came out.

use stowplan_judge::Judgement;
use stowplan_results::PilotRecord;
use stowplan_stats::PILOT_BLOCKS;

use crate::common;

fn report(blocks: u32) -> Judgement {
    common::judgement(common::Size {
        blocks,
        instances: 60,
        samples: 8,
    })
}

/// The example's runs differ by some percent from block to block: enough to tell 20 % with the pilot alone, and not 2 %.
#[test]
fn the_declared_difference_decides_how_many_blocks_there_are() {
    let mut report = report(10);
    report.figures.experiment.metrics[0].delta = 0.2;
    let coarse = report.figures.size(60).unwrap().unwrap();
    assert_eq!(coarse.blocks, PILOT_BLOCKS);
    report.figures.experiment.metrics[0].delta = 0.02;
    let fine = report.figures.size(500).unwrap().unwrap();
    assert!(fine.blocks > PILOT_BLOCKS, "{fine:?}");
    // Four comparisons with the reference: each of them at a quarter of 5 %.
    let c = report.figures.comparisons_with(None).unwrap();
    let family = c.iter().filter(|c| c.primary).count();
    assert!(
        fine.reason
            .contains(&format!("each of {family} comparisons")),
        "{}",
        fine.reason
    );
    assert!(
        fine.reason.contains("2.0 % shall be told"),
        "{}",
        fine.reason
    );
    let few = report.figures.size(PILOT_BLOCKS + 1).unwrap().unwrap();
    assert_eq!(few.blocks, PILOT_BLOCKS + 1);
    assert!(few.reason.ends_with("at most 11"), "{}", few.reason);
}

#[test]
fn without_a_primary_comparison_nothing_can_be_fixed() {
    let mut report = report(3);
    report.figures.experiment.metrics[0].primary = false;
    assert_eq!(report.figures.size(60).unwrap(), None);
    let mut one_block = self::report(1);
    one_block.figures.experiment.metrics[0].primary = true;
    assert_eq!(
        one_block.figures.size(60).unwrap(),
        None,
        "one block has no spread"
    );
}

#[test]
fn the_half_width_that_was_reached_is_told() {
    let mut report = report(8);
    let primary = report.comparisons.iter().filter(|c| c.primary);
    let widest = primary.map(|c| (c.high.unwrap() - c.low.unwrap()) / 2.0);
    let widest = widest.fold(0.0, f64::max);
    let told = format!("Half-width of the 95 % interval: {:.1} %", widest * 100.0);
    assert!(report.precision().unwrap().starts_with(&told));
    assert!(stowplan_report::terminal(&report, 100).contains(&told));
    report.figures.experiment.pilot = Some(PilotRecord {
        blocks: 10,
        most: 60,
        fixed: None,
        reason: None,
    });
    assert!(stowplan_report::terminal(&report, 100).contains("The pilot of 10 blocks is not over"));
    assert_eq!(
        self::report(1).precision(),
        None,
        "one block has no interval"
    );
}
