//! Drawing images.

use stowplan_wire::service::FramesPlan;

use super::pictures::{MODULES, Pictures};
use super::placed::{PlacedTag, module_pixels, placed};

/// A camera: the images of a publisher, drawn one after the other into the same memory.
#[derive(Debug)]
pub struct Camera {
    plan: FramesPlan,
    publisher: u32,
    pictures: Pictures,
    /// RGB, a byte each, row by row.
    pixels: Vec<u8>,
    /// What the last image has.
    shown: Vec<PlacedTag>,
}

const WHITE: [u8; 3] = [235, 230, 225];
const BLACK: [u8; 3] = [25, 20, 30];

/// A bright wall, darker to the left. Every channel has another share of it.
fn background(plan: &FramesPlan, column: u32) -> [u8; 3] {
    let light = 90 + column * 80 / plan.width.max(1);
    let light = u8::try_from(light).unwrap_or(u8::MAX);
    [light, light.saturating_sub(10), light.saturating_add(10)]
}

impl Camera {
    /// For the images of a publisher.
    #[must_use]
    pub fn new(plan: FramesPlan, publisher: u32) -> Self {
        let row: Vec<u8> = (0..plan.width)
            .flat_map(|at| background(&plan, at))
            .collect();
        Self {
            plan,
            publisher,
            pictures: Pictures::new(),
            pixels: row.repeat(plan.height as usize),
            shown: Vec::new(),
        }
    }

    /// The image with this number.
    pub fn image(&mut self, sequence: u64) -> &[u8] {
        let (plan, pictures) = (self.plan, &self.pictures);
        let scale = module_pixels(&plan);
        let side = scale * MODULES;
        for old in &self.shown {
            paint(&mut self.pixels, &plan, old, side, |column, _| {
                background(&plan, old.left + column)
            });
        }
        self.shown = placed(&plan, self.publisher, sequence);
        for new in &self.shown {
            paint(&mut self.pixels, &plan, new, side, |column, row| {
                if pictures.is_white(new.id, column / scale, row / scale) {
                    WHITE
                } else {
                    BLACK
                }
            });
        }
        &self.pixels
    }
}

/// Gives the square at the place of a tag the colours that `colour` has for its columns and rows.
fn paint(
    pixels: &mut [u8],
    plan: &FramesPlan,
    at: &PlacedTag,
    side: u32,
    colour: impl Fn(u32, u32) -> [u8; 3],
) {
    for row in 0..side {
        let first = ((at.top + row) * plan.width + at.left) as usize * 3;
        let line = &mut pixels[first..first + side as usize * 3];
        for (column, pixel) in (0..).zip(line.chunks_exact_mut(3)) {
            pixel.copy_from_slice(&colour(column, row));
        }
    }
}
