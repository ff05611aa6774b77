//! Camera images with tags that a detector has to find.

/// Images of a topic: RGB with a byte each, and AprilTags of the family 36h11 in them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Frames {
    /// Pixels in a row.
    pub width: u32,
    /// Rows.
    pub height: u32,
    /// Tags in each image.
    pub tags: u32,
}

impl Frames {
    /// Pixels that a tag has at least in each direction to itself: detectors look at half of the resolution first.
    pub const LEAST_SIDE: u32 = 160;

    /// Bytes of an image; rows are whole words, so that it is, too.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        u64::from(self.width) * u64::from(self.height) * 3
    }

    /// Whether rows are whole words, as those of cameras are.
    #[must_use]
    pub fn has_whole_words(&self) -> bool {
        self.width.is_multiple_of(4)
    }

    /// Columns and rows of the grid with a field for each tag.
    #[must_use]
    pub fn grid(&self) -> (u32, u32) {
        let columns = (1..=self.tags).find(|side| side.saturating_mul(*side) >= self.tags);
        let columns = columns.unwrap_or(1);
        (columns, self.tags.div_ceil(columns))
    }

    /// Whether every tag has its room.
    #[must_use]
    pub fn has_room(&self) -> bool {
        let (columns, rows) = self.grid();
        self.tags > 0
            && self.width / columns >= Self::LEAST_SIDE
            && self.height / rows >= Self::LEAST_SIDE
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_have_fields_of_a_grid() {
        let of = |tags| Frames {
            width: 640,
            height: 480,
            tags,
        };
        assert_eq!(of(4).bytes(), 921_600);
        let grids = [1, 2, 3, 4, 5, 12].map(|tags| of(tags).grid());
        assert_eq!(grids, [(1, 1), (2, 1), (2, 2), (2, 2), (3, 2), (4, 3)]);
        let room = [0, 1, 4, 12, 13].map(|tags| of(tags).has_room());
        assert_eq!(room, [false, true, true, true, false]);
    }
}
