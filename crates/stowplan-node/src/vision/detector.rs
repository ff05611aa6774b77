//! Looking for tags.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use apriltag::{Detector, Family, Image};
use stowplan_wire::announce::TagCounts;
use stowplan_wire::service::FramesPlan;

use super::pictures::MODULES;
use super::placed::{PlacedTag, module_pixels, placed};
use crate::error::NodeError;
use crate::payload::Head;

/// Bits of a tag that may be wrong and are put right.
const BITS_CORRECTED: usize = 1;

/// The image is looked at with half of its resolution first, as the library does by default.
const DECIMATION: f32 = 2.0;

/// How far from its place the centre of a tag may be found, pixels in each direction.
const TOLERANCE: f64 = 2.0;

/// The library's detector and the grey image that it looks at.
#[derive(Debug)]
struct Library {
    detector: Detector,
    grey: Image,
}

// SAFETY: both are memory of their own that no thread is bound to, and a lock lets one thread at a time to them.
unsafe impl Send for Library {}

/// What finds the tags in the images of a topic, for one callback.
#[derive(Debug)]
pub struct TagDetector {
    plan: FramesPlan,
    library: Mutex<Library>,
    shown: AtomicU64,
    wrong: AtomicU64,
}

impl TagDetector {
    /// For images as planned, on the thread that asks it.
    ///
    /// # Errors
    /// When the library has no memory.
    pub fn new(plan: FramesPlan) -> Result<Self, NodeError> {
        let failed = |e: apriltag::Error| NodeError::Detector(e.to_string());
        let family = Family::tag_36h11();
        let builder = Detector::builder().add_family_bits(family, BITS_CORRECTED);
        let mut detector = builder.build().map_err(failed)?;
        detector.set_thread_number(1);
        detector.set_decimation(DECIMATION);
        let (width, height) = (plan.width as usize, plan.height as usize);
        let grey = Image::zeros_with_stride(width, height, width).map_err(failed)?;
        Ok(Self {
            plan,
            library: Mutex::new(Library { detector, grey }),
            shown: AtomicU64::new(0),
            wrong: AtomicU64::new(0),
        })
    }

    /// Looks for the tags in an image, RGB with a byte each, and counts them.
    pub fn look(&self, head: &Head, image: &[u8]) {
        let wanted = placed(&self.plan, head.publisher, head.sequence);
        let found = self.found(image);
        let wrong = wrong(&wanted, &found, module_pixels(&self.plan) * MODULES);
        self.shown.fetch_add(wanted.len() as u64, Ordering::Relaxed);
        self.wrong.fetch_add(wrong as u64, Ordering::Relaxed);
    }

    /// Numbers and centres of the tags in an image; none in one that is cut.
    fn found(&self, image: &[u8]) -> Vec<(usize, [f64; 2])> {
        let mut library = self.library.lock().unwrap_or_else(PoisonError::into_inner);
        let Library { detector, grey } = &mut *library;
        let pixels = grey.as_slice_mut();
        if image.len() < pixels.len() * 3 {
            return Vec::new();
        }
        for (grey, rgb) in pixels.iter_mut().zip(image.chunks_exact(3)) {
            // ITU-R BT.601, in 256ths.
            let [r, g, b] = [rgb[0], rgb[1], rgb[2]].map(u16::from);
            *grey = ((77 * r + 150 * g + 29 * b) >> 8) as u8;
        }
        let found = detector.detect(grey);
        found.iter().map(|tag| (tag.id(), tag.center())).collect()
    }

    /// What has come of it so far.
    #[must_use]
    pub fn counts(&self) -> TagCounts {
        TagCounts {
            shown: self.shown.load(Ordering::Acquire),
            wrong: self.wrong.load(Ordering::Acquire),
        }
    }
}

/// Tags that were not found at their place, and what was found and is not there.
fn wrong(wanted: &[PlacedTag], found: &[(usize, [f64; 2])], side: u32) -> usize {
    let half = f64::from(side) / 2.0;
    let is = |tag: &PlacedTag, (id, [x, y]): &(usize, [f64; 2])| {
        let off = |at: u32, seen: f64| (f64::from(at) + half - seen).abs();
        tag.id as usize == *id && off(tag.left, *x) <= TOLERANCE && off(tag.top, *y) <= TOLERANCE
    };
    let missed = wanted
        .iter()
        .filter(|tag| !found.iter().any(|one| is(tag, one)));
    let more = found
        .iter()
        .filter(|one| !wanted.iter().any(|tag| is(tag, one)));
    missed.count() + more.count()
}

#[cfg(test)]
mod tests {
    use super::super::Camera;
    use super::*;
    use crate::payload::Origin;

    const PLAN: FramesPlan = FramesPlan {
        width: 640,
        height: 480,
        tags: 4,
        columns: 2,
        rows: 2,
    };

    fn head(sequence: u64) -> Head {
        Head {
            stamp_ns: 0,
            origin: Origin::NONE,
            sequence,
            publisher: 3,
        }
    }

    #[test]
    fn every_tag_of_every_image_is_found_at_its_place() {
        let most = FramesPlan {
            tags: 12,
            columns: 4,
            rows: 3,
            ..PLAN
        };
        let one = FramesPlan {
            width: 164,
            height: 163,
            tags: 1,
            columns: 1,
            rows: 1,
        };
        for plan in [PLAN, most, one] {
            let (mut camera, detector) = (Camera::new(plan, 3), TagDetector::new(plan).unwrap());
            for sequence in 0..10 {
                detector.look(&head(sequence), camera.image(sequence));
            }
            let shown = 10 * u64::from(plan.tags);
            assert_eq!(detector.counts(), TagCounts { shown, wrong: 0 });
        }
    }

    #[test]
    fn what_is_not_there_or_another_is_counted() {
        let wrong = |image: &[u8], sequence| {
            let detector = TagDetector::new(PLAN).unwrap();
            detector.look(&head(sequence), image);
            assert_eq!(detector.counts().shown, 4);
            detector.counts().wrong
        };
        let mut camera = Camera::new(PLAN, 3);
        let image = camera.image(5).to_vec();
        assert_eq!(wrong(&image, 5), 0);
        // Of another number, nothing is where it should be: four are missed, and four are too many.
        assert_eq!(wrong(&image, 6), 8);
        let tag = placed(&PLAN, 3, 5)[2];
        let mut covered = image.clone();
        for row in tag.top + 50..tag.top + 70 {
            let at = (row * PLAN.width + tag.left) as usize * 3;
            covered[at..at + 3 * 120].fill(128);
        }
        assert_eq!(wrong(&covered, 5), 1);
        assert_eq!(wrong(&image[..1000], 5), 4, "cut");
        assert_eq!(wrong(&vec![0; image.len()], 5), 4);
    }
}
