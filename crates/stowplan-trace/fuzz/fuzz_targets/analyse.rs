//! From a trace folder to every answer: the bytes choose events and their handles, of which
//! there are few, so that they meet; what is left of them replaces bytes of the stream.
#![no_main]

use std::fs;

use libfuzzer_sys::fuzz_target;
use stowplan_ctf::events::ros2::*;
use stowplan_ctf::events::stowplan::*;
use stowplan_ctf::schema::{Gid, Handle};
use stowplan_ctf::writer::{EventContext, PacketHeader, PacketWriter, TraceInfo, metadata_text};
use stowplan_trace::{Analysis, Endpoint, Overview, Reading, Window};

const WORDS: usize = 2048;
const NAMES: [&str; 4] = ["a", "/b", "", "a"];

/// One event; `false` where the packet is full.
fn event(
    writer: &mut PacketWriter<'_>,
    now: u64,
    context: &EventContext,
    [kind, a, b, c]: [u8; 4],
) -> bool {
    let [x, y, z] = [a, b, c].map(|byte| Handle(u64::from(byte % 4) << 4));
    let name = NAMES[usize::from(c % 4)];
    let (stamp, flag) = (i64::from(c % 16), i32::from(c & 1));
    match kind % 26 {
        0 => writer.event(
            now,
            context,
            &RclInit {
                context_handle: x,
                version: "8.2.0",
            },
        ),
        1 => writer.event(
            now,
            context,
            &RclNodeInit {
                node_handle: x,
                rmw_handle: y,
                node_name: name,
                namespace: "/",
            },
        ),
        2 => writer.event(
            now,
            context,
            &RclPublisherInit {
                publisher_handle: x,
                node_handle: y,
                rmw_publisher_handle: x,
                topic_name: name,
                queue_depth: c.into(),
            },
        ),
        3 => writer.event(
            now,
            context,
            &RclSubscriptionInit {
                subscription_handle: x,
                node_handle: y,
                rmw_subscription_handle: x,
                topic_name: name,
                queue_depth: c.into(),
            },
        ),
        4 => writer.event(
            now,
            context,
            &RclcppSubscriptionInit {
                subscription_handle: x,
                subscription: y,
            },
        ),
        5 => writer.event(
            now,
            context,
            &RclcppSubscriptionCallbackAdded {
                subscription: x,
                callback: y,
            },
        ),
        6 => writer.event(
            now,
            context,
            &RclTimerInit {
                timer_handle: x,
                period: stamp - 2,
            },
        ),
        7 => writer.event(
            now,
            context,
            &RclcppTimerCallbackAdded {
                timer_handle: x,
                callback: y,
            },
        ),
        8 => writer.event(
            now,
            context,
            &RclcppTimerLinkNode {
                timer_handle: x,
                node_handle: y,
            },
        ),
        9 => writer.event(
            now,
            context,
            &RclcppCallbackRegister {
                callback: x,
                symbol: name,
            },
        ),
        10 => writer.event(
            now,
            context,
            &RclServiceInit {
                service_handle: x,
                node_handle: y,
                rmw_service_handle: z,
                service_name: name,
            },
        ),
        11 => writer.event(
            now,
            context,
            &RclcppServiceCallbackAdded {
                service_handle: x,
                callback: y,
            },
        ),
        12 => writer.event(
            now,
            context,
            &RmwPublisherInit {
                rmw_publisher_handle: x,
                gid: Gid([b; 24]),
            },
        ),
        13 => writer.event(
            now,
            context,
            &RclcppIpbToSubscription {
                ipb: x,
                subscription: y,
            },
        ),
        14 => writer.event(now, context, &RclcppBufferToIpb { buffer: x, ipb: y }),
        15 => writer.event(
            now,
            context,
            &RclcppRingBufferEnqueue {
                buffer: x,
                index: b.into(),
                size: 1,
                overwritten: flag,
            },
        ),
        16 => writer.event(
            now,
            context,
            &RclcppRingBufferDequeue {
                buffer: x,
                index: b.into(),
                size: 1,
            },
        ),
        17 => writer.event(
            now,
            context,
            &RclcppIntraPublish {
                publisher_handle: x,
                message: y,
            },
        ),
        18 => writer.event(
            now,
            context,
            &RclPublish {
                publisher_handle: x,
                message: y,
            },
        ),
        19 => writer.event(
            now,
            context,
            &RmwPublish {
                rmw_publisher_handle: x,
                message: y,
                timestamp: stamp,
            },
        ),
        20 => writer.event(
            now,
            context,
            &RmwTake {
                rmw_subscription_handle: x,
                message: y,
                source_timestamp: stamp,
                taken: i32::from(b & 1),
            },
        ),
        21 | 22 => writer.event(
            now,
            context,
            &CallbackStart {
                callback: x,
                is_intra_process: i32::from(b & 1),
            },
        ),
        23 | 24 => writer.event(now, context, &CallbackEnd { callback: x }),
        _ => writer.event(
            now,
            context,
            &Message {
                rmw_subscription_handle: x,
                publisher_id: b.into(),
                sequence: c.into(),
                origin_ns: stamp.unsigned_abs(),
                stamp_ns: stamp.unsigned_abs(),
            },
        ),
    }
}

fn stream(instance: u64, choices: &[[u8; 4]]) -> Vec<u8> {
    let mut words = vec![0_u64; WORDS];
    // SAFETY: every byte of a u64 may have any value, and u8 has no alignment.
    let (_, bytes, _) = unsafe { words.align_to_mut::<u8>() };
    let header = PacketHeader {
        uuid: *b"trace-identifier",
        stream_instance: instance,
        sequence: 0,
        cpu: 0,
        timestamp_begin_ns: 1,
        discarded: 0,
    };
    let mut writer = PacketWriter::begin(bytes, &header).expect("aligned");
    let mut now = 2;
    for &choice in choices {
        // Some steps are longer than what is kept open.
        now += if choice[0] >= 0xf0 {
            3_000_000_000
        } else {
            u64::from(choice[0] % 3)
        };
        let number = 1 + i32::from(choice[3] >> 7);
        let context = EventContext::new(1, number, "process");
        if !event(&mut writer, now, &context, choice) {
            break;
        }
    }
    writer.finish(now);
    words.iter().flat_map(|word| word.to_ne_bytes()).collect()
}

fuzz_target!(|data: &[u8]| {
    let Some((&[patches, half], rest)) = data.split_first_chunk() else {
        return;
    };
    let (patches, events) = rest.split_at(rest.len().min(3 * usize::from(patches % 8)));
    let (choices, _) = events.as_chunks::<4>();
    let (first, second) = choices.split_at(choices.len() * usize::from(half) / 256);
    let mut streams = [stream(1, first), stream(2, second)];
    for patch in patches.as_chunks::<3>().0 {
        let at = usize::from(u16::from_le_bytes([patch[0], patch[1]]));
        if let Some(byte) = streams[at % 2].get_mut(at / 2) {
            *byte = patch[2];
        }
    }
    let folder = tempfile::tempdir_in("/dev/shm").expect("a folder");
    let info = TraceInfo {
        uuid: *b"trace-identifier",
        clock_uuid: *b"clock-identifier",
        clock_offset_ns: 1,
        hostname: "host".into(),
        tracer_version: (0, 1),
        env: vec![],
    };
    fs::write(folder.path().join("metadata"), metadata_text(&info)).expect("a file");
    for (number, stream) in streams.iter().enumerate() {
        fs::write(folder.path().join(format!("stream_{number}")), stream).expect("a file");
    }
    let (Ok(counted), Ok(whole)) = (
        Overview::from_ctf(folder.path(), Reading::default()),
        Analysis::from_ctf(folder.path()),
    ) else {
        return;
    };
    assert_eq!(counted.events, whole.events);
    assert_eq!(
        counted.callback_summaries().len(),
        whole.callback_summaries().len()
    );
    let _ = (
        counted.link_summary(),
        counted.edge_summaries(),
        counted.topic_summaries(),
    );
    let _ = (
        whole.losses(Window::ALWAYS),
        whole.check_payload(),
        whole.start_up(),
    );
    for (from, to) in [
        (Endpoint::Node("a"), Endpoint::Node("a")),
        (Endpoint::Topic("a"), Endpoint::Topic("/b")),
    ] {
        for found in whole.find_chains(from, to, 5).chains {
            let _ = whole.measure(found.chain, Window::ALWAYS);
        }
    }
});
