//! Which tags an image has, and where.

use rand::RngExt;
use stowplan_wire::service::FramesPlan;

use super::pictures::{MODULES, TAGS};
use crate::draw::{Purpose, generator};

/// A tag in an image, by pixels from its upper left corner.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct PlacedTag {
    /// Its number in the family.
    pub(super) id: u32,
    /// The left column of its picture.
    pub(super) left: u32,
    /// The upper row of its picture.
    pub(super) top: u32,
}

/// Pixels of a module of a tag: its picture is half as wide as its field at most, so that it can move.
pub(super) fn module_pixels(plan: &FramesPlan) -> u32 {
    let (width, height) = field(plan);
    (width.min(height) / 2 / MODULES).max(1)
}

/// Width and height of the field of each tag.
fn field(plan: &FramesPlan) -> (u32, u32) {
    (
        plan.width / plan.columns.max(1),
        plan.height / plan.rows.max(1),
    )
}

/// The tags of an image: other ones in each, no two of which are the same, each somewhere in its field.
pub(super) fn placed(plan: &FramesPlan, publisher: u32, sequence: u64) -> Vec<PlacedTag> {
    // Of no seed: the detector knows publisher and number alone.
    let mut random = generator(0, Purpose::Image, publisher, sequence);
    let (width, height) = field(plan);
    let side = module_pixels(plan) * MODULES;
    let first = random.random_range(0..TAGS);
    let tag = |at: u32| PlacedTag {
        // A step that shares no factor with their count: none comes twice.
        id: (first + at * 97) % TAGS,
        left: at % plan.columns * width + random.random_range(0..=width.saturating_sub(side)),
        top: at / plan.columns * height + random.random_range(0..=height.saturating_sub(side)),
    };
    (0..plan.tags).map(tag).collect()
}
