//! The conclusion: one screen, the answer first.

use stowplan_judge::{Judgement, Throttled};
use stowplan_report::{Screen, conclusion};
use stowplan_results::RunStatus;

use crate::common;

const SCREEN: Screen = Screen {
    width: 100,
    colour: false,
};

fn judgement(blocks: u32) -> Judgement {
    common::judgement(common::Size {
        blocks,
        instances: 400,
        samples: 40,
    })
}

/// The same result after a change, with the verdicts of that.
fn changed(mut judgement: Judgement, change: impl FnOnce(&mut Judgement)) -> Judgement {
    change(&mut judgement);
    judgement.comparisons = judgement.figures.comparisons_with(None).unwrap();
    judgement
}

fn text(judgement: &Judgement) -> String {
    conclusion(judgement, "report: report.html", SCREEN)
}

#[test]
fn of_eight_blocks() {
    insta::assert_snapshot!(text(&judgement(8)));
}

#[test]
fn of_three_blocks_it_says_what_would_decide() {
    insta::assert_snapshot!(text(&judgement(3)));
}

#[test]
fn it_fits_one_screen_of_any_width() {
    for width in [60, 80, 100, 200] {
        let screen = Screen { width, ..SCREEN };
        let text = conclusion(&judgement(8), "report: report.html", screen);
        assert!(text.lines().count() <= 40, "{text}");
        for line in text.lines() {
            assert!(line.chars().count() <= width, "{width}: {line}");
        }
    }
}

#[test]
fn colours_are_all_that_a_terminal_adds() {
    let judgement = judgement(8);
    let screen = Screen {
        colour: true,
        ..SCREEN
    };
    let coloured = conclusion(&judgement, "report: report.html", screen);
    assert!(coloured.contains("\u{1b}["));
    let mut plain = String::new();
    let mut rest = coloured.as_str();
    while let Some((before, after)) = rest.split_once("\u{1b}[") {
        plain += before;
        rest = after.split_once('m').unwrap().1;
    }
    let plain = plain + rest;
    let plain: Vec<&str> = plain.lines().map(str::trim_end).collect();
    assert_eq!(plain.join("\n"), text(&judgement).trim_end());
}

#[test]
fn one_deployment_alone_has_its_figure() {
    let alone = changed(judgement(3), |judgement| {
        let runs = judgement.figures.runs.iter_mut();
        runs.filter(|run| &*run.deployment != "bare:flat/single")
            .for_each(|run| run.status = RunStatus::Skipped);
    });
    let text = text(&alone);
    let first = text.lines().next().unwrap();
    assert!(first.starts_with("bare:flat · single: "), "{text}");
    assert!(text.contains("compared with none"), "{text}");
}

#[test]
fn without_its_control_a_claim_is_not_made() {
    let without = changed(judgement(8), |judgement| {
        let runs = judgement.figures.runs.iter_mut();
        runs.filter(|run| {
            run.deployment.contains("grouped") || run.deployment.contains("flat/betz")
        })
        .for_each(|run| run.status = RunStatus::Skipped);
    });
    let text = text(&without);
    assert!(text.contains("! no control"), "{text}");
    assert!(!text.contains("Use oci"), "{text}");
}

#[test]
fn a_service_that_its_quota_stopped_is_told() {
    let mut judgement = judgement(8);
    let best = judgement.conclusion().questions[0].candidate.clone();
    judgement.figures.throttled.push(Throttled {
        deployment: best,
        service: "perception".to_owned(),
        periods: 47,
        runs: 1,
    });
    let told = "its CPU quota stopped service perception in 47 periods of one run";
    let said = judgement.conclusion();
    assert!(said.why.iter().any(|text| text.contains(told)), "{said:?}");
    assert!(said.warnings.iter().any(|w| w.text.contains(told)));
}

#[test]
fn means_of_requirements_are_those_of_the_table() {
    let judgement = judgement(8);
    let overview = judgement.conclusion().overview;
    let column = overview
        .columns
        .iter()
        .position(|c| c.metric == "e2e_paper_mean");
    let means = judgement.means("e2e_paper_mean");
    assert_eq!(means.len(), overview.rows.len());
    for (mean, (_, cells)) in means.iter().zip(&overview.rows) {
        assert_eq!(Some(mean.value), cells[column.unwrap()].value);
    }
    assert_eq!(judgement.means("no_such_metric"), []);
}

#[test]
fn where_nothing_is_decided_the_best_mean_is_shown() {
    let judgement = judgement(3);
    for question in judgement.conclusion().questions {
        let (best, other) = (
            question.best_value.unwrap(),
            question.reference_value.unwrap(),
        );
        assert!(best <= other, "{question:?}");
        let lower = question.difference.unwrap() < 0.0;
        assert_eq!(question.best == question.candidate, lower, "{question:?}");
    }
}
