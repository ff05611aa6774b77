//! Prints what one event costs the recorder, without its clock read.

use std::time::Instant;

use stowplan_ctf::events::ros2::{CallbackStart, RmwTake};
use stowplan_ctf::schema::Handle;
use stowplan_ctf::writer::{EventContext, PacketHeader, PacketWriter};

const PACKETS: usize = 64;
const PACKET: usize = 256 * 1024;

fn main() {
    let mut memory = vec![0u64; PACKETS * PACKET / 8];
    let context = EventContext::new(1, 1, "bench");
    for round in 0..8 {
        let begin = Instant::now();
        let mut events = 0u64;
        for (sequence, words) in memory.chunks_mut(PACKET / 8).enumerate() {
            // SAFETY: every byte of a u64 may have any value, and u8 has no alignment.
            let (_, bytes, _) = unsafe { words.align_to_mut::<u8>() };
            let header = PacketHeader {
                uuid: [0; 16],
                stream_instance: 1,
                sequence: sequence as u64,
                cpu: 0,
                timestamp_begin_ns: events,
                discarded: 0,
            };
            let mut packet = PacketWriter::begin(bytes, &header).expect("aligned and large enough");
            while packet.event(
                events,
                &context,
                &CallbackStart {
                    callback: Handle(events),
                    is_intra_process: 0,
                },
            ) && packet.event(
                events,
                &context,
                &RmwTake {
                    rmw_subscription_handle: Handle(round),
                    message: Handle(events),
                    source_timestamp: 1,
                    taken: 1,
                },
            ) {
                events += 2;
            }
        }
        let spent = begin.elapsed();
        println!(
            "{events} events, {:.1} ns/event{}",
            spent.as_nanos() as f64 / events as f64,
            if round == 0 { " (first touch)" } else { "" }
        );
    }
}
