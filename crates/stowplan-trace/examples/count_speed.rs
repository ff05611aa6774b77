//! Counts a trace as `stowplan trace callbacks` does, and prints events per second and
//! the greatest resident set of this process.
//!
//! `cargo run --release -p stowplan-trace --example count_speed -- FOLDER [ROUNDS]`

use std::time::Instant;

use stowplan_trace::{Overview, Reading};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args()
        .nth(1)
        .ok_or("usage: count_speed FOLDER [ROUNDS]")?;
    let rounds = std::env::args()
        .nth(2)
        .map_or(Ok(3), |n| n.parse::<u32>())?;
    for _ in 0..rounds {
        let begin = Instant::now();
        let overview = Overview::from_ctf(&path, Reading::default())?;
        let callbacks = overview.callback_summaries().len();
        let seconds = begin.elapsed().as_secs_f64();
        let links = overview.link_summary();
        println!(
            "{} events, {} streams, {callbacks} callbacks, {} of {} takes linked: {:.0} ms, {:.2} M events/s",
            overview.events,
            overview.contents.streams,
            links.linked,
            links.takes,
            seconds * 1e3,
            overview.events as f64 / seconds / 1e6,
        );
    }
    let status = std::fs::read_to_string("/proc/self/status")?;
    for line in status
        .lines()
        .filter(|line| line.starts_with("VmHWM") || line.starts_with("RssAnon"))
    {
        println!("{line}");
    }
    Ok(())
}
