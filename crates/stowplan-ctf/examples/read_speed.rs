//! Reads all traces in a folder and below, touching one field and the thread of
//! every event, and prints events per second; then what babeltrace2 needs to do
//! nothing with the same events, where it is installed.
//!
//! `cargo run --release -p stowplan-ctf --example read_speed -- FOLDER`

use std::process::Command;
use std::time::Instant;

use stowplan_ctf::dir::TraceFolder;
use stowplan_ctf::reader::Item;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args().nth(1).ok_or("usage: read_speed FOLDER")?;
    for _ in 0..5 {
        let begin = Instant::now();
        let folder = TraceFolder::open(&path)?;
        // Fields are resolved once; most ros2 events begin with a handle.
        let fields: Vec<Vec<_>> = folder
            .traces()
            .iter()
            .map(|trace| {
                let classes = trace.metadata().classes().iter();
                classes
                    .map(|class| class.fields.first().map(|field| field.field))
                    .collect()
            })
            .collect();
        let opened = begin.elapsed();
        let mut events = folder.events()?;
        let (mut count, mut lost, mut check) = (0u64, 0u64, 0u64);
        while let Some(item) = events.next_item()? {
            match item {
                Item::Event(event) => {
                    let field = fields[event.trace as usize][event.class_index as usize];
                    check ^= event.u64(field).unwrap_or(0);
                    check ^= event.vtid().unwrap_or(0).unsigned_abs();
                    count += 1;
                }
                Item::Lost(gap) => lost += gap.count,
            }
        }
        let seconds = begin.elapsed().as_secs_f64();
        println!(
            "{count} events, {lost} lost, {} streams, open {:.1} ms, all {:.1} ms, {:.2} M events/s (check {check:x})",
            events.streams().len(),
            opened.as_secs_f64() * 1e3,
            seconds * 1e3,
            count as f64 / seconds / 1e6,
        );
    }
    let begin = Instant::now();
    match Command::new("babeltrace2")
        .args([&path, "-o", "dummy"])
        .status()
    {
        Ok(status) => println!(
            "babeltrace2 -o dummy: {:.1} ms ({status})",
            begin.elapsed().as_secs_f64() * 1e3
        ),
        Err(error) => println!("babeltrace2: {error}"),
    }
    Ok(())
}
