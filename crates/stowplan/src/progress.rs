//! What the user sees while an experiment runs: one line that is overwritten on a terminal, a line for each start elsewhere.

use std::io::{IsTerminal as _, Write as _};
use std::time::Duration;

use stowplan_model::units::show_ns;
use stowplan_suite::{Observer, Step};

use crate::output::note;
use crate::table;

/// How progress is shown.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub enum Style {
    /// A line for each start.
    #[default]
    Lines,
    /// One line, overwritten.
    InPlace,
    /// Not at all; warnings and the conclusion stay.
    Quiet,
}

impl Style {
    /// One line where standard error is a terminal, else a line for each start.
    pub fn of(quiet: bool) -> Self {
        match (quiet, std::io::stderr().is_terminal()) {
            (true, _) => Self::Quiet,
            (false, true) => Self::InPlace,
            (false, false) => Self::Lines,
        }
    }
}

/// Shows progress on standard error, each start before it begins.
#[derive(Debug, Default)]
pub struct ProgressLine {
    /// What the experiment is a part of; stands before each line.
    of: String,
    style: Style,
    /// Starts that were done when this command began, and when that was.
    first: Option<(usize, Duration)>,
    /// Whether a line stands that is to be overwritten.
    open: bool,
}

impl ProgressLine {
    /// In this style, each line after `of`.
    pub fn new(style: Style, of: String) -> Self {
        Self {
            of,
            style,
            first: None,
            open: false,
        }
    }

    fn line(&mut self, step: &Step<'_>) -> String {
        let done = (step.block as usize - 1) * step.deployments + step.place_in_block as usize - 1;
        let all = step.blocks as usize * step.deployments;
        let (done_before, from) = *self.first.get_or_insert((done, step.elapsed));
        let left = left(
            done - done_before.min(done),
            all.saturating_sub(done),
            step.elapsed.saturating_sub(from),
        );
        let left = left.map_or_else(String::new, |left| format!(" · about {} left", whole(left)));
        format!(
            "{}block {}/{} · run {}/{} · {} · {} · {} so far{left}",
            self.of,
            step.block,
            step.blocks,
            step.place_in_block,
            step.deployments,
            step.label,
            step.detail,
            show_ns(step.elapsed.as_nanos() as f64),
        )
    }

    /// Takes the line away that is to be overwritten, so that something else can be written.
    fn close(&mut self) {
        if std::mem::take(&mut self.open) {
            let _ = write!(std::io::stderr().lock(), "\r\u{1b}[K");
        }
    }
}

/// How long the rest takes, by how long those took that this command has done.
fn left(done: usize, rest: usize, took: Duration) -> Option<Duration> {
    let per_start = took.checked_div(u32::try_from(done).ok()?)?;
    per_start.checked_mul(u32::try_from(rest).ok()?)
}

/// In seconds up to two minutes, in minutes beyond.
fn whole(duration: Duration) -> String {
    match duration.as_secs() {
        seconds @ 0..120 => format!("{seconds} s"),
        seconds => format!("{} min", seconds.div_ceil(60)),
    }
}

impl Observer for ProgressLine {
    fn step(&mut self, step: &Step<'_>) {
        let line = self.line(step);
        match self.style {
            Style::Quiet => {}
            Style::Lines => note!("{line}"),
            Style::InPlace => {
                self.close();
                let width = usize::from(table::width()).saturating_sub(1);
                let shown: String = line.chars().take(width).collect();
                let mut out = std::io::stderr().lock();
                // Nobody reads what cannot be written.
                let _ = write!(out, "{shown}").and_then(|()| out.flush());
                self.open = true;
            }
        }
    }

    fn warning(&mut self, text: &str) {
        self.close();
        note!("warning: {text}");
    }

    fn sized(&mut self, blocks: u32, reason: &str) {
        self.close();
        note!("{}the pilot fixes {blocks} blocks: {reason}", self.of);
    }
}

impl Drop for ProgressLine {
    fn drop(&mut self) {
        self.close();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(block: u32, place_in_block: u32, elapsed: u64) -> Step<'static> {
        Step {
            block,
            blocks: 6,
            place_in_block,
            deployments: 3,
            label: "oci · single",
            detail: "warm start",
            elapsed: Duration::from_secs(elapsed),
        }
    }

    #[test]
    fn the_rest_takes_as_long_as_what_is_done() {
        let mut progress = ProgressLine::default();
        let first = progress.line(&step(1, 1, 1));
        assert!(!first.contains("left"), "{first}");
        let second = progress.line(&step(1, 2, 21));
        assert_eq!(
            second,
            "block 1/6 · run 2/3 · oci · single · warm start · 21.0 s so far · about 6 min left"
        );
        let last = progress.line(&step(6, 3, 341));
        assert!(last.ends_with("about 20 s left"), "{last}");
    }

    #[test]
    fn a_resumed_experiment_is_judged_by_what_it_has_done_itself() {
        let mut progress = ProgressLine::default();
        progress.line(&step(4, 1, 2));
        let line = progress.line(&step(4, 3, 22));
        assert!(line.ends_with("about 70 s left"), "{line}");
    }
}
