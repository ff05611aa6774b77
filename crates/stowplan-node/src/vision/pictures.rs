//! Pictures of the tags, as the library that detects them draws them.

use apriltag::Image;

/// Tags of the family 36h11.
pub(super) const TAGS: u32 = 587;

/// Modules in each direction of a tag's picture: six of data, a black border and a white one around it.
pub(super) const MODULES: u32 = 10;

/// Which modules of each tag are white.
#[derive(Debug)]
pub(super) struct Pictures {
    white: Vec<bool>,
}

impl Pictures {
    /// Draws all of them.
    pub(super) fn new() -> Self {
        // SAFETY: it allocates the family, which is used below alone and freed there.
        let family = unsafe { apriltag_sys::tag36h11_create() };
        let mut white = Vec::new();
        for id in 0..TAGS.cast_signed() {
            // SAFETY: the family has this many tags, and the picture becomes ours.
            let picture = unsafe { Image::from_raw(apriltag_sys::apriltag_to_image(family, id)) };
            white.extend(picture.samples_iter().map(|value| value > 127));
        }
        // SAFETY: nobody has it any more.
        unsafe { apriltag_sys::tag36h11_destroy(family) };
        Self { white }
    }

    /// Whether a module of a tag is white.
    pub(super) fn is_white(&self, id: u32, column: u32, row: u32) -> bool {
        let at = (id * MODULES + row) * MODULES + column;
        self.white.get(at as usize).copied().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tag_has_a_white_border_around_a_black_one() {
        let pictures = Pictures::new();
        let all = (TAGS * MODULES * MODULES) as usize;
        assert_eq!(pictures.white.len(), all);
        for at in 0..MODULES {
            assert!(pictures.is_white(0, at, 0) && pictures.is_white(TAGS - 1, 0, at));
        }
        for at in 1..MODULES - 1 {
            assert!(!pictures.is_white(7, at, 1) && !pictures.is_white(7, 1, at));
        }
        let data = |id| {
            let modules = (2..8).flat_map(|row| (2..8).map(move |column| (column, row)));
            modules
                .map(|(column, row)| pictures.is_white(id, column, row))
                .collect::<Vec<_>>()
        };
        assert_ne!(data(0), data(1));
    }
}
