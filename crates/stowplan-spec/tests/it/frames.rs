//! Topics of camera images.

use stowplan_model::{Distribution, Frames};
use stowplan_spec::parse_spec;

fn of(topic: &str) -> Result<stowplan_spec::Spec, String> {
    let text = format!(
        "name: s
topics:
  /image: {topic}
modules:
  m:
    nodes:
      camera: {{ timer: 30Hz, publishes: /image }}
      detector: {{ subscribes: /image }}
"
    );
    parse_spec(&text, "s.yaml").map_err(|e| e.to_string())
}

#[test]
fn images_have_the_size_of_their_pixels() {
    let spec = of("{ frames: { width: 640, height: 480, tags: 4 } }").unwrap();
    let topic = spec.stack().topic("/image").unwrap();
    assert_eq!(topic.bytes, Distribution::Constant(921_600.0));
    let frames = Frames {
        width: 640,
        height: 480,
        tags: 4,
    };
    assert_eq!(topic.frames, Some(frames));
    assert_eq!(
        of("64").unwrap().stack().topic("/image").unwrap().frames,
        None
    );
}

#[test]
fn images_that_cannot_be_say_why() {
    for (topic, words) in [
        (
            "{ bytes: 64, frames: { width: 640, height: 480, tags: 4 } }",
            "'bytes' beside 'frames'",
        ),
        ("{ qos: { reliability: reliable, depth: 1 } }", "bytes"),
        (
            "{ frames: { width: 320, height: 480, tags: 7 } }",
            "images of '/image' have no room for 7 tags",
        ),
        (
            "{ frames: { width: 320, height: 480, tags: 0 } }",
            "no room for 0 tags",
        ),
        (
            "{ frames: { width: 321, height: 480, tags: 1 } }",
            "no multiple of 4",
        ),
        (
            "{ frames: { width: 320, height: 480, tags: 1 }, dds: { type: x, sends: sequence } }",
            "'frames' beside 'dds'",
        ),
    ] {
        let error = of(topic).unwrap_err();
        assert!(error.contains(words), "{topic}: {error}");
        assert!(error.contains("s.yaml:3"), "{topic}: {error}");
    }
}
