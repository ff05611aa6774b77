//! What the kernel has thrown away before this process could read it.

use std::collections::HashSet;
use std::fs;

/// Datagrams that the UDP sockets of this process have dropped since they exist, because their buffers were
/// full (or, rarely, a checksum was wrong). `None` where the kernel does not say.
#[must_use]
pub fn dropped_datagrams() -> Option<u64> {
    let own = own_sockets()?;
    let v4 = sum(&fs::read_to_string("/proc/self/net/udp").ok()?, &own)?;
    // A kernel without IPv6 has no such file, and no such sockets.
    let v6 = fs::read_to_string("/proc/self/net/udp6").map_or(Some(0), |text| sum(&text, &own))?;
    Some(v4 + v6)
}

/// Inodes of the sockets that this process has open.
fn own_sockets() -> Option<HashSet<u64>> {
    let open = fs::read_dir("/proc/self/fd").ok()?;
    let inodes = open.filter_map(Result::ok).filter_map(|entry| {
        // A descriptor that was closed meanwhile has no target.
        let target = fs::read_link(entry.path()).ok()?;
        let inode = target
            .to_str()?
            .strip_prefix("socket:[")?
            .strip_suffix(']')?;
        inode.parse().ok()
    });
    Some(inodes.collect())
}

/// Sums the last column, `drops`, of the lines with one of these inodes in column `inode`.
fn sum(table: &str, own: &HashSet<u64>) -> Option<u64> {
    const INODE: usize = 9;
    let mut total = 0;
    for line in table.lines().skip(1) {
        let words: Vec<&str> = line.split_whitespace().collect();
        if own.contains(&words.get(INODE)?.parse().ok()?) {
            total += words.last()?.parse::<u64>().ok()?;
        }
    }
    Some(total)
}

#[cfg(test)]
mod tests {
    use std::net::UdpSocket;

    use super::*;

    #[test]
    fn only_own_sockets_count() {
        let table = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode ref pointer drops\n\
             1: 0100007F:1CF2 00000000:0000 07 00000000:00000000 00:00000000 00000000     0        0 77 2 0000000000000000 5\n\
             2: 0100007F:1CF3 00000000:0000 07 00000000:00000000 00:00000000 00000000     0        0 78 2 0000000000000000 9\n\
             3: 0100007F:1CF4 00000000:0000 07 00000000:00000000 00:00000000 00000000     0        0 79 2 0000000000000000 2\n";
        assert_eq!(sum(table, &HashSet::from([77, 79])), Some(7));
        assert_eq!(sum("header\nnonsense\n", &HashSet::new()), None);
    }

    #[test]
    fn what_a_full_buffer_drops_is_counted() {
        let reader = UdpSocket::bind("127.0.0.1:0").unwrap();
        rustix::net::sockopt::set_socket_recv_buffer_size(&reader, 4096).unwrap();
        reader.set_nonblocking(true).unwrap();
        let writer = UdpSocket::bind("127.0.0.1:0").unwrap();
        let before = dropped_datagrams().unwrap();
        let sent = 200;
        for _ in 0..sent {
            let bytes = writer.send_to(&[7; 1000], reader.local_addr().unwrap());
            assert_eq!(bytes.unwrap(), 1000);
        }
        // On loopback a datagram is in the buffer or dropped when `send` returns.
        let mut received = 0;
        while reader.recv(&mut [0; 1000]).is_ok() {
            received += 1;
        }
        assert!(received < sent);
        assert_eq!(dropped_datagrams().unwrap() - before, sent - received);
    }
}
