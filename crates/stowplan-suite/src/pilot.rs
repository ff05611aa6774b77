//! The number of blocks: as asked for, or fixed once by a pilot (docs/measuring.md §5).

use std::path::Path;

use stowplan_results::PilotRecord;
use stowplan_stats::PILOT_BLOCKS;

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

/// The pilot of a new experiment of at most so many blocks. Where there may be no more than the pilot has, nothing is
/// left to fix.
#[must_use]
pub fn pilot(most: u32) -> PilotRecord {
    let blocks = u32::try_from(PILOT_BLOCKS).unwrap_or(u32::MAX).min(most);
    let all = blocks == most;
    PilotRecord {
        blocks,
        most,
        fixed: all.then_some(blocks),
        reason: all.then(|| "there may be no more blocks than the pilot's".to_owned()),
    }
}

/// Blocks that are planned at this point, of `asked` where no pilot fixes them.
#[must_use]
pub fn planned(asked: u32, pilot: Option<&PilotRecord>) -> u32 {
    pilot.map_or(asked, |p| p.fixed.unwrap_or(p.blocks))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pilot_is_planned_alone_until_it_has_fixed_the_number() {
        assert_eq!(planned(6, None), 6);
        let mut pilot = pilot(40);
        assert_eq!((pilot.blocks, pilot.most, pilot.fixed), (10, 40, None));
        assert_eq!(planned(40, Some(&pilot)), 10);
        pilot.fixed = Some(25);
        assert_eq!(planned(40, Some(&pilot)), 25);
    }

    #[test]
    fn a_cap_below_the_pilot_leaves_nothing_to_fix() {
        let pilot = pilot(7);
        assert_eq!((pilot.blocks, pilot.fixed), (7, Some(7)));
    }
}
