//! What would decide an answer that is inconclusive.

use stowplan_stats::{MIN_BLOCKS, Verdict};

use super::{Question, questions};
use crate::format::percent;
use crate::judgement::Judgement;

pub(super) fn sentence(judgement: &Judgement, main: &Question) -> Option<String> {
    if main.verdict != Verdict::Inconclusive {
        return None;
    }
    let pilot = judgement.figures.experiment.pilot.as_ref();
    if let Some(pilot) = pilot.filter(|pilot| pilot.fixed.is_none()) {
        return Some(format!(
            "The pilot of {} blocks is not over; it fixes the number of blocks.",
            pilot.blocks
        ));
    }
    let open = questions::comparisons(judgement, main);
    let open: Vec<_> = open
        .filter(|c| c.verdict == Verdict::Inconclusive)
        .collect();
    let done = open.iter().map(|c| c.blocks).max().unwrap_or(0);
    let more = open.iter().filter_map(|c| c.blocks_needed).max();
    let more = more.max((done < MIN_BLOCKS).then(|| MIN_BLOCKS - done));
    let Some(more) = more else {
        return Some(format!(
            "More blocks would not decide it. Measure on a quieter machine, or state that a larger difference than {} \
             matters (--delta).",
            percent(main.delta)
        ));
    };
    let minutes = (seconds_per_block(judgement)? * (done + more) as f64 / 60.0).ceil();
    Some(format!(
        "{} blocks should decide it, which take about {minutes:.0} min: {}",
        done + more,
        command(&judgement.figures.experiment.command, done + more)
    ))
}

/// From the beginning of one block to that of the next, on average.
fn seconds_per_block(judgement: &Judgement) -> Option<f64> {
    let runs = &judgement.figures.runs;
    let begins = || runs.iter().map(|run| run.start_unix_ns);
    let (first, last) = (begins().min()?, begins().max()?);
    let blocks = runs.iter().map(|run| run.block).max()?;
    let between = runs.len().checked_sub(1).filter(|n| *n > 0)?;
    let per_run = (last - first) as f64 / 1e9 / between as f64;
    Some(per_run * runs.len() as f64 / f64::from(blocks))
}

/// The command of the experiment with so many blocks.
fn command(said: &[String], blocks: usize) -> String {
    let mut words: Vec<String> = said.iter().skip(1).cloned().collect();
    if words.first().is_some_and(|word| word == "run") {
        let file = words.iter().skip(1).find(|word| !word.starts_with('-'));
        let file = file.map_or("FILE", |file| file);
        return format!("write 'blocks: {blocks}' into {file}, then stowplan run {file}");
    }
    let given = words.iter().position(|word| word == "--blocks");
    match given {
        Some(at) if at + 1 < words.len() => words[at + 1] = blocks.to_string(),
        _ => {
            words.retain(|word| !word.starts_with("--blocks="));
            words.extend(["--blocks".to_owned(), blocks.to_string()]);
        }
    }
    format!("stowplan {}", words.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(said: &str, blocks: usize) -> String {
        let words: Vec<String> = said.split(' ').map(str::to_owned).collect();
        command(&words, blocks)
    }

    #[test]
    fn the_command_is_the_same_with_other_blocks() {
        assert_eq!(
            with("stowplan latency hello", 20),
            "stowplan latency hello --blocks 20"
        );
        assert_eq!(
            with("/usr/bin/stowplan latency --blocks 6 hello", 9),
            "stowplan latency --blocks 9 hello"
        );
        assert_eq!(
            with("stowplan usage --blocks=6 x", 9),
            "stowplan usage x --blocks 9"
        );
        assert_eq!(
            with("stowplan run --budget mine.yaml", 8),
            "write 'blocks: 8' into mine.yaml, then stowplan run mine.yaml"
        );
    }
}
