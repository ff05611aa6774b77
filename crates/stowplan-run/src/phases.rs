//! Which draw of timer phases a block belongs to.

use stowplan_measure::phases::PhaseDraw;
use stowplan_results::PilotRecord;
use stowplan_suite::planned;

use crate::request::Request;

/// Seeds of the phases before and after the pilot lie this far apart.
const AFTER_PILOT: u64 = 1 << 40;

/// The draw of phases that a block belongs to. Those of a pilot are spread evenly over the period, and so are those
/// of the blocks after it, whose number the pilot's draw cannot know.
pub(crate) fn phases(request: &Request, pilot: Option<&PilotRecord>, block: u32) -> PhaseDraw {
    let seed = request.seed;
    match pilot {
        Some(pilot) if block >= pilot.blocks => PhaseDraw {
            seed: seed.wrapping_add(AFTER_PILOT),
            block: block - pilot.blocks,
            blocks: planned(request.blocks, Some(pilot)) - pilot.blocks,
        },
        pilot => PhaseDraw {
            seed,
            block,
            blocks: pilot.map_or(request.blocks, |p| p.blocks),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::tests::request;

    #[test]
    fn phases_of_a_pilot_stay_and_those_after_it_are_drawn_anew() {
        let request = Request {
            pilot: true,
            blocks: 40,
            ..request()
        };
        let mut pilot = stowplan_suite::pilot(40);
        let before = phases(&request, Some(&pilot), 9);
        pilot.fixed = Some(25);
        let after = phases(&request, Some(&pilot), 9);
        assert_eq!(before, after, "what is measured stays as it is");
        let first = phases(&request, Some(&pilot), 10);
        assert_eq!((first.block, first.blocks), (0, 15));
        assert_ne!(first.seed, after.seed);
        let last = phases(&request, Some(&pilot), 24);
        assert_eq!((last.block, last.blocks), (14, 15));
    }

    #[test]
    fn without_a_pilot_all_blocks_are_one_draw() {
        let last = phases(&request(), None, 5);
        assert_eq!((last.seed, last.block, last.blocks), (1, 5, 6));
    }
}
