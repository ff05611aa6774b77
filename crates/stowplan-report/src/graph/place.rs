//! Where boxes, arrows and their labels stand: Sugiyama's layered layout, from left to right.

use dagre::graph::{Graph, GraphOptions};
use dagre::{EdgeLabel, GraphLabel, LayoutOptions, NodeLabel, RankDir};

use super::picture::Picture;

/// Size of names in CSS pixels.
pub(super) const NAME_SIZE: f64 = 12.0;
/// Size of notes and of what stands beside arrows.
pub(super) const SMALL_SIZE: f64 = 10.5;
/// Height of a line of a label, as a multiple of its size.
pub(super) const LINE: f64 = 1.25;
/// Width of a character of a sans-serif font, as a multiple of its size: wide enough for most.
const CHARACTER: f64 = 0.56;
/// Likewise of a bold one.
const BOLD: f64 = 0.64;
/// Longer names are shortened at their beginning.
const LONGEST: usize = 38;

/// What a frame needs above its boxes for its name.
pub(super) const FRAME_HEAD: f64 = 12.0;

/// A rectangle by its centre.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Rectangle {
    pub x: f64,
    pub y: f64,
    pub width: f64,
    pub height: f64,
}

/// A picture with places.
#[derive(Debug)]
pub(super) struct Placed {
    pub picture: Picture,
    pub width: f64,
    pub height: f64,
    pub frames: Vec<Rectangle>,
    pub blocks: Vec<Rectangle>,
    /// By arrow: its way, and the middle of its label.
    pub arrows: Vec<(Vec<(f64, f64)>, Rectangle)>,
}

/// A name as it is written: without its beginning, if it is long.
pub(super) fn shortened(name: &str) -> String {
    let count = name.chars().count();
    if count <= LONGEST {
        return name.to_owned();
    }
    let rest: String = name.chars().skip(count - (LONGEST - 1)).collect();
    // Better whole parts of the name.
    let whole = rest.find('/').filter(|&at| at < LONGEST / 2);
    format!("…{}", &rest[whole.unwrap_or(0)..])
}

fn text_width(text: &str, size: f64) -> f64 {
    shortened(text).chars().count() as f64 * size
}

pub(super) fn place(picture: Picture) -> Placed {
    let mut graph: Graph<NodeLabel, EdgeLabel> = Graph::with_options(GraphOptions {
        directed: true,
        multigraph: true,
        compound: true,
    });
    for frame in 0..picture.frames.len() {
        if picture
            .blocks
            .iter()
            .any(|block| block.frame == Some(frame))
        {
            graph.set_node(framed(frame), Some(NodeLabel::default()));
        }
    }
    for (index, block) in picture.blocks.iter().enumerate() {
        let note = block.note.as_deref().unwrap_or("");
        let widest =
            text_width(&block.name, NAME_SIZE * BOLD).max(text_width(note, SMALL_SIZE * CHARACTER));
        let lines = NAME_SIZE + if note.is_empty() { 0.0 } else { SMALL_SIZE };
        let label = NodeLabel {
            width: widest + 20.0,
            height: lines * LINE + 12.0,
            ..NodeLabel::default()
        };
        graph.set_node(named(index), Some(label));
        if let Some(frame) = block.frame {
            graph.set_parent(&named(index), Some(&framed(frame)));
        }
    }
    for (index, arrow) in picture.arrows.iter().enumerate() {
        let widths = arrow
            .lines
            .iter()
            .map(|line| text_width(line, SMALL_SIZE * CHARACTER));
        let label = EdgeLabel {
            width: widths.fold(0.0, f64::max) + 8.0,
            height: arrow.lines.len() as f64 * SMALL_SIZE * LINE + 2.0,
            labelpos: dagre::layout::types::LabelPos::Center,
            ..EdgeLabel::default()
        };
        let (from, to) = (named(arrow.from), named(arrow.to));
        graph.set_edge(from, to, Some(label), Some(&index.to_string()));
    }
    let framed = picture.frames.iter().any(|frame| !frame.is_empty());
    let head = if framed { FRAME_HEAD } else { 0.0 };
    let options = LayoutOptions {
        rankdir: RankDir::LR,
        nodesep: 14.0 + head,
        edgesep: 8.0,
        ranksep: 24.0,
        marginx: 12.0,
        marginy: 12.0 + head,
        ..LayoutOptions::default()
    };
    dagre::layout(&mut graph, Some(options));
    read(&graph, picture)
}

fn named(index: usize) -> String {
    format!("b{index}")
}

fn framed(index: usize) -> String {
    format!("f{index}")
}

fn read(graph: &Graph<NodeLabel, EdgeLabel>, picture: Picture) -> Placed {
    let rectangle = |name: &str| {
        let label = graph.node(name).cloned().unwrap_or_default();
        Rectangle {
            x: label.x.unwrap_or(0.0),
            y: label.y.unwrap_or(0.0),
            width: label.width,
            height: label.height,
        }
    };
    let frames = (0..picture.frames.len()).map(|frame| rectangle(&framed(frame)));
    let blocks = (0..picture.blocks.len()).map(|block| rectangle(&named(block)));
    let arrows = picture.arrows.iter().enumerate().map(|(index, arrow)| {
        let name = index.to_string();
        let label = graph.edge(&named(arrow.from), &named(arrow.to), Some(&name));
        let label = label.cloned().unwrap_or_default();
        let points = label
            .points
            .iter()
            .map(|point| (point.x, point.y))
            .collect();
        let middle = Rectangle {
            x: label.x.unwrap_or(0.0),
            y: label.y.unwrap_or(0.0),
            width: label.width,
            height: label.height,
        };
        (points, middle)
    });
    let size = graph.graph_label::<GraphLabel>();
    Placed {
        width: size.map_or(0.0, |size| size.width),
        height: size.map_or(0.0, |size| size.height),
        frames: frames.collect(),
        blocks: blocks.collect(),
        arrows: arrows.collect(),
        picture,
    }
}

#[cfg(test)]
mod tests {
    use super::super::picture::{Arrow, Block};
    use super::*;

    #[test]
    fn long_names_lose_their_beginning() {
        assert_eq!(shortened("/talker"), "/talker");
        let long = "/perception/object_recognition/detection/clustering/shape_estimation";
        assert_eq!(shortened(long), "…/clustering/shape_estimation");
    }

    /// Boxes stand in the order of their arrows and none covers another, in a cycle, too.
    #[test]
    fn boxes_do_not_overlap() {
        let block = |name: &str| Block {
            name: name.to_owned(),
            note: None,
            aside: false,
            chain: false,
            frame: None,
        };
        let arrow = |from, to| Arrow {
            from,
            to,
            lines: vec!["/topic".to_owned()],
            title: String::new(),
            class: None,
            chain: false,
        };
        let picture = Picture {
            blocks: ["a", "b", "c", "d"].map(block).to_vec(),
            arrows: vec![
                arrow(0, 1),
                arrow(1, 2),
                arrow(0, 3),
                arrow(2, 0),
                arrow(1, 1),
            ],
            ..Picture::default()
        };
        let placed = place(picture);
        assert!(placed.blocks[0].x < placed.blocks[1].x && placed.blocks[1].x < placed.blocks[2].x);
        for (i, a) in placed.blocks.iter().enumerate() {
            assert!(a.x + a.width / 2.0 <= placed.width && a.y + a.height / 2.0 <= placed.height);
            for b in &placed.blocks[..i] {
                let apart_x = (a.x - b.x).abs() >= (a.width + b.width) / 2.0;
                let apart_y = (a.y - b.y).abs() >= (a.height + b.height) / 2.0;
                assert!(apart_x || apart_y, "{a:?} {b:?}");
            }
        }
        assert!(placed.arrows.iter().all(|(points, _)| points.len() >= 2));
    }
}
