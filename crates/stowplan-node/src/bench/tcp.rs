//! A TCP stream over loopback, as `iperf3` measures it: the side that connects sends, then it receives.

use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, poll};

use super::measure::{Timed, median, timed};
use super::storage::Aligned;
use super::{BenchArgs, Found, failed};
use crate::error::NodeError;
use crate::record::now;

/// Length of a write, iperf3's default for TCP.
const LENGTH: usize = 128 << 10;

/// Time of a piece: some hundred writes.
const PIECE: Duration = Duration::from_millis(10);

pub(super) fn run(args: &BenchArgs) -> Result<Found, NodeError> {
    let wrong = |error: std::io::Error| failed("tcp", error.to_string());
    let mut figures = Vec::new();
    for (metric, connecting_sends) in [("tcp_send", true), ("tcp_receive", false)] {
        // The first part lets the window grow; iperf3 calls that `--omit`.
        let (omit, measured) = (args.time / 20, args.time);
        let timed = stream(connecting_sends, omit, measured).map_err(wrong)?;
        figures.push(timed.rate(metric, "MB/s", 1e-6));
    }
    Ok(Found::of(figures)
        .with("streams", 1)
        .with("length", format!("{LENGTH} bytes"))
        .with("network", "loopback"))
}

/// Bytes that came in the median piece of the measured time, at the side that receives.
fn stream(connecting_sends: bool, omit: Duration, time: Duration) -> std::io::Result<Timed> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let connecting = TcpStream::connect(listener.local_addr()?)?;
    let (accepting, _) = listener.accept()?;
    let (mut from, mut to) = if connecting_sends {
        (connecting, accepting)
    } else {
        (accepting, connecting)
    };
    to.set_nonblocking(true)?;
    // It owns both ends: what receives is closed before the sender is waited for.
    std::thread::scope(move |scope| {
        scope.spawn(move || {
            let mut buffer = Aligned::new(LENGTH);
            // It ends when the other side does not want any more.
            while from.write_all(buffer.get()).is_ok() {}
        });
        let mut buffer = Aligned::new(LENGTH);
        receive(&mut to, buffer.get(), omit)?;
        let (begin, mut pieces) = (now(), Vec::new());
        while pieces.is_empty() || u128::from(now() - begin) < time.as_nanos() {
            pieces.push(receive(&mut to, buffer.get(), PIECE.min(time))?);
        }
        Ok(median(pieces))
    })
}

fn receive(from: &mut TcpStream, buffer: &mut [u8], time: Duration) -> std::io::Result<Timed> {
    let mut bytes = 0;
    let mut result = Ok(());
    let all = timed(0, |_| {
        let end = now() + u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        while result.is_ok() && (bytes == 0 || now() < end) {
            match fill(from, buffer) {
                Ok(read) => bytes += read as u64,
                Err(error) => result = Err(error),
            }
        }
    });
    result.map(|()| Timed {
        count: bytes,
        ..all
    })
}

/// Waits until there is something, and reads it until the buffer is full or nothing is left. iperf3 does so from a socket that
/// does not block. What waits in `read` is woken at other times, and receives more.
fn fill(from: &mut TcpStream, buffer: &mut [u8]) -> std::io::Result<usize> {
    poll(&mut [PollFd::new(from, PollFlags::IN)], None)?;
    let mut filled = 0;
    while filled < buffer.len() {
        match from.read(&mut buffer[filled..]) {
            Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
            Ok(read) => filled += read,
            Err(error) if error.kind() == ErrorKind::WouldBlock => break,
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_counted_where_they_arrive() {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let mut out = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (mut own, _) = listener.accept().unwrap();
        out.write_all(&[1; 1000]).unwrap();
        drop(out);
        let error = receive(&mut own, &mut [0; 64], Duration::from_secs(60)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::UnexpectedEof);
    }

    #[test]
    fn a_buffer_is_filled_with_what_is_there() {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let mut out = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (mut own, _) = listener.accept().unwrap();
        own.set_nonblocking(true).unwrap();
        out.write_all(&[1; 1000]).unwrap();
        // What was written over loopback is there.
        let read = [64, 2000].map(|length| fill(&mut own, &mut vec![0; length]).unwrap());
        assert_eq!(read, [64, 936]);
    }

    #[test]
    fn both_directions_carry_bytes() {
        for connecting_sends in [true, false] {
            let time = Duration::from_millis(2);
            let timed = stream(connecting_sends, time, time).unwrap();
            assert!(timed.count > 0 && timed.ns >= 2_000_000, "{timed:?}");
        }
    }
}
