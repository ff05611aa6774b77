//! The sockets of this process: where they listen, and what the kernel has thrown away before it could be read.

use std::collections::{BTreeSet, HashSet};
use std::fs;
use std::os::fd::RawFd;

/// Datagrams that the UDP sockets of this process have dropped since they exist, because their buffers were
/// full (or, rarely, a checksum was wrong). `None` where the kernel does not say.
#[must_use]
pub fn dropped_datagrams() -> Option<u64> {
    let own = own_inodes()?;
    let v4 = sum(&fs::read_to_string("/proc/self/net/udp").ok()?, &own)?;
    // A kernel without IPv6 has no such file, and no such sockets.
    let v6 = fs::read_to_string("/proc/self/net/udp6").map_or(Some(0), |text| sum(&text, &own))?;
    Some(v4 + v6)
}

/// Ports on which the UDP sockets of this process listen. `None` where the kernel does not say.
#[must_use]
pub fn local_ports() -> Option<BTreeSet<u16>> {
    ports(
        &fs::read_to_string("/proc/self/net/udp").ok()?,
        &own_inodes()?,
    )
}

/// SO_RCVBUF of the UDP sockets of this process over IPv4, in bytes. The kernel doubles what it is asked for (socket(7)).
/// `None` where it does not say what is open.
#[must_use]
pub fn receive_buffers() -> Option<BTreeSet<u64>> {
    let udp = |fd: RawFd| {
        let is = |name, value| option(fd, name) == Some(value);
        is(libc::SO_TYPE, libc::SOCK_DGRAM) && is(libc::SO_DOMAIN, libc::AF_INET)
    };
    let own = own_sockets()?.into_iter().map(|socket| socket.number);
    let sizes = own
        .filter(|fd| udp(*fd))
        .filter_map(|fd| option(fd, libc::SO_RCVBUF));
    Some(sizes.filter_map(|size| u64::try_from(size).ok()).collect())
}

/// A number that the kernel has of a socket; `None` of one that was closed meanwhile.
fn option(fd: RawFd, name: libc::c_int) -> Option<libc::c_int> {
    let mut value: libc::c_int = 0;
    let mut length = libc::socklen_t::try_from(size_of_val(&value)).ok()?;
    // SAFETY: both pointers are to variables of this function, and the kernel checks the descriptor.
    let code = unsafe {
        let value = (&raw mut value).cast();
        libc::getsockopt(fd, libc::SOL_SOCKET, name, value, &raw mut length)
    };
    (code == 0).then_some(value)
}

/// A socket that this process had open when it looked.
struct OpenSocket {
    number: RawFd,
    inode: u64,
}

/// The sockets that this process has open. `None` where the kernel does not say.
fn own_sockets() -> Option<Vec<OpenSocket>> {
    let open = fs::read_dir("/proc/self/fd").ok()?;
    let sockets = open.filter_map(Result::ok).filter_map(|entry| {
        // A descriptor that was closed meanwhile has no target.
        let target = fs::read_link(entry.path()).ok()?;
        let inode = target
            .to_str()?
            .strip_prefix("socket:[")?
            .strip_suffix(']')?;
        Some(OpenSocket {
            number: entry.file_name().to_str()?.parse().ok()?,
            inode: inode.parse().ok()?,
        })
    });
    Some(sockets.collect())
}

fn own_inodes() -> Option<HashSet<u64>> {
    let own = own_sockets()?;
    Some(own.iter().map(|socket| socket.inode).collect())
}

/// The words of the lines of a table of sockets whose column `inode`, the tenth, is one of these. `None` of a line that
/// is none.
fn own_lines<'a>(
    table: &'a str,
    own: &'a HashSet<u64>,
) -> impl Iterator<Item = Option<Vec<&'a str>>> {
    table.lines().skip(1).filter_map(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let inode = words.get(9).and_then(|word| word.parse().ok());
        match inode {
            Some(inode) => own.contains(&inode).then_some(Some(words)),
            None => Some(None),
        }
    })
}

/// The ports in the second column, `ADDRESS:PORT` in hexadecimal digits, of the own lines.
fn ports(table: &str, own: &HashSet<u64>) -> Option<BTreeSet<u16>> {
    let port = |words: Option<Vec<&str>>| {
        let (_, port) = words?.get(1)?.split_once(':')?;
        u16::from_str_radix(port, 16).ok()
    };
    own_lines(table, own).map(port).collect()
}

/// Sums the last column, `drops`, of the own lines.
fn sum(table: &str, own: &HashSet<u64>) -> Option<u64> {
    let drops = |words: Option<Vec<&str>>| words?.last()?.parse::<u64>().ok();
    own_lines(table, own).map(drops).sum()
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
        let listening = BTreeSet::from([0x1CF2, 0x1CF4]);
        assert_eq!(ports(table, &HashSet::from([77, 79])), Some(listening));
    }

    #[test]
    fn the_port_and_the_buffer_of_an_own_socket_are_found() {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        rustix::net::sockopt::set_socket_recv_buffer_size(&socket, 8192).unwrap();
        assert!(receive_buffers().unwrap().contains(&(2 * 8192)));
        let port = socket.local_addr().unwrap().port();
        assert!(local_ports().unwrap().contains(&port));
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
