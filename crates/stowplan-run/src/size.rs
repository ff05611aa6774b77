//! The number of blocks: as asked for, or fixed once by a pilot (docs/measuring.md §5).

use std::path::Path;

use stowplan_measure::phases::PhaseDraw;
use stowplan_results::PilotRecord;
use stowplan_stats::PILOT_BLOCKS;

use crate::live::{Live, fatal};
use crate::record::schedule;
use crate::request::Request;
use crate::schedule::RunFailed;

/// What the figures of a pilot ask for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fixed {
    /// Blocks of the whole experiment, those of the pilot included.
    pub blocks: u32,
    /// How it came to that number.
    pub reason: String,
}

/// Fixes the number of blocks, at most the given one, from the result of a pilot in a folder; or says why it cannot.
pub type Sizing<'a> = dyn FnMut(&Path, u32) -> Result<Fixed, String> + 'a;

/// Seeds of the phases before and after the pilot lie this far apart.
const AFTER_PILOT: u64 = 1 << 40;

/// The pilot of a new experiment, if one is asked for. Where there may be no more blocks than it has, nothing is left
/// to fix.
pub(crate) fn pilot(request: &Request) -> Option<PilotRecord> {
    let blocks = u32::try_from(PILOT_BLOCKS).unwrap_or(u32::MAX);
    let blocks = blocks.min(request.blocks);
    let all = blocks == request.blocks;
    request.pilot.then(|| PilotRecord {
        blocks,
        most: request.blocks,
        fixed: all.then_some(blocks),
        reason: all.then(|| "there may be no more blocks than the pilot's".to_owned()),
    })
}

/// Blocks that are planned at this point.
pub(crate) fn planned(request: &Request, pilot: Option<&PilotRecord>) -> u32 {
    pilot.map_or(request.blocks, |p| p.fixed.unwrap_or(p.blocks))
}

/// The draw of phases that a block belongs to. Those of a pilot are spread evenly over the period, and so are those
/// of the blocks after it, whose number the pilot's draw cannot know.
pub(crate) fn phases(request: &Request, pilot: Option<&PilotRecord>, block: u32) -> PhaseDraw {
    let seed = request.seed;
    match pilot {
        Some(pilot) if block >= pilot.blocks => PhaseDraw {
            seed: seed.wrapping_add(AFTER_PILOT),
            block: block - pilot.blocks,
            blocks: planned(request, Some(pilot)) - pilot.blocks,
        },
        pilot => PhaseDraw {
            seed,
            block,
            blocks: pilot.map_or(request.blocks, |p| p.blocks),
        },
    }
}

impl Live<'_, '_> {
    /// Blocks that there are, asked before block `next`: after the pilot its number is fixed and kept.
    pub(crate) fn number_of_blocks(&self, next: u32) -> Result<u32, RunFailed> {
        let pilot = self.experiment.borrow().pilot.clone();
        let Some(mut pilot) = pilot.filter(|p| p.fixed.is_none() && next >= p.blocks) else {
            let experiment = self.experiment.borrow();
            return Ok(planned(self.request, experiment.pilot.as_ref()));
        };
        let fixed = (self.shared.sizing.borrow_mut())(self.writer.dir(), pilot.most);
        let fixed = fixed.map_err(|why| RunFailed {
            message: format!("the number of blocks cannot be fixed after the pilot: {why}"),
            hint: Some("give a number of blocks instead of a pilot".to_owned()),
            fatal: true,
        })?;
        let blocks = fixed.blocks.clamp(pilot.blocks, pilot.most);
        self.shared
            .observer
            .borrow_mut()
            .sized(blocks, &fixed.reason);
        pilot.fixed = Some(blocks);
        pilot.reason = Some(fixed.reason);
        let mut experiment = self.experiment.borrow_mut();
        experiment.pilot = Some(pilot);
        experiment.blocks_planned = blocks;
        experiment.schedule = schedule(self.request, self.prepared, self.part, blocks);
        let written = self.writer.write_experiment(&experiment);
        written.map(|()| blocks).map_err(|e| fatal("pilot", &e))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::tests::request;

    fn asked(blocks: u32) -> Request {
        Request {
            pilot: true,
            blocks,
            ..request()
        }
    }

    #[test]
    fn without_a_pilot_the_number_is_the_one_asked_for() {
        let fixed = request();
        assert_eq!(pilot(&fixed), None);
        assert_eq!(planned(&fixed, None), 6);
        let last = phases(&fixed, None, 5);
        assert_eq!((last.seed, last.block, last.blocks), (1, 5, 6));
    }

    #[test]
    fn a_pilot_is_planned_alone_until_it_has_fixed_the_number() {
        let request = asked(40);
        let mut pilot = pilot(&request).unwrap();
        assert_eq!((pilot.blocks, pilot.most, pilot.fixed), (10, 40, None));
        assert_eq!(planned(&request, Some(&pilot)), 10);
        let before = phases(&request, Some(&pilot), 9);
        pilot.fixed = Some(25);
        assert_eq!(planned(&request, Some(&pilot)), 25);
        let after = phases(&request, Some(&pilot), 9);
        assert_eq!(before, after, "what is measured stays as it is");
        let first = phases(&request, Some(&pilot), 10);
        assert_eq!((first.block, first.blocks), (0, 15));
        assert_ne!(first.seed, after.seed);
        let last = phases(&request, Some(&pilot), 24);
        assert_eq!((last.block, last.blocks), (14, 15));
    }

    #[test]
    fn a_cap_below_the_pilot_leaves_nothing_to_fix() {
        let pilot = pilot(&asked(7)).unwrap();
        assert_eq!((pilot.blocks, pilot.fixed), (7, Some(7)));
    }
}
