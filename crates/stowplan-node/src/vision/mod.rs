//! Camera images with AprilTags, and the detector that finds them.
//!
//! Where the tags of an image are follows from its publisher and number, which its message says: the detector's findings are
//! held against that, image by image.

mod camera;
mod detector;
mod pictures;
mod placed;

pub use camera::Camera;
pub use detector::TagDetector;
