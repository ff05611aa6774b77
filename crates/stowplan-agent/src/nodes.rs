//! The node programs of the run: their connections and what they say.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::net::{RecvFlags, SendFlags, SocketFlags, accept_with, recv, send, sockopt};
use stowplan_wire::agent::{Announced, Recipients};
use stowplan_wire::announce::{Announcement, Control, MAX_PACKET};

/// One process of the node program.
#[derive(Debug)]
pub(crate) struct Connection {
    /// Service.
    pub(crate) service: String,
    /// Pid on this host.
    pub(crate) pid: u32,
    /// Process name; the launcher has none, and is told apart by `up`.
    pub(crate) process: Option<String>,
    /// It has said `Up`.
    pub(crate) up: bool,
    /// It has said `Armed` since the last `Arm`.
    pub(crate) armed: bool,
    fd: OwnedFd,
}

impl Connection {
    /// Name for messages.
    pub(crate) fn name(&self) -> String {
        let process = self.process.as_deref().unwrap_or("launcher");
        format!("{}/{process} (pid {})", self.service, self.pid)
    }

    /// Sends a packet. A process that has ended shows by its connection.
    pub(crate) fn tell(&self, packet: &[u8]) {
        let flags = SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
        let _ = send(&self.fd, packet, flags);
    }
}

/// All node programs of a run.
pub(crate) struct Nodes {
    /// Id of this host.
    host: String,
    listeners: Vec<(String, OwnedFd)>,
    connections: Vec<Connection>,
    said: Vec<Announced>,
    /// Connections that ended since the last look: service and name.
    ended: Vec<(String, String)>,
    /// Whether one has said `Up` since the last look.
    came_up: bool,
    packet: Vec<u8>,
}

impl Nodes {
    /// Of the host with this id.
    pub(crate) fn new(host: String, listeners: Vec<(String, OwnedFd)>) -> Self {
        Self {
            host,
            listeners,
            connections: Vec::new(),
            said: Vec::new(),
            ended: Vec::new(),
            came_up: false,
            packet: vec![0; MAX_PACKET],
        }
    }

    /// Descriptors to wait for.
    pub(crate) fn fds(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        let listeners = self.listeners.iter().map(|(_, fd)| fd.as_fd());
        listeners.chain(self.connection_fds())
    }

    /// Descriptors of the connected processes.
    pub(crate) fn connection_fds(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        self.connections
            .iter()
            .map(|connection| connection.fd.as_fd())
    }

    /// The connected processes.
    pub(crate) fn connections(&self) -> &[Connection] {
        &self.connections
    }

    /// Pids of the connected processes on this host.
    pub(crate) fn pids(&self) -> Vec<u32> {
        self.connections.iter().map(|c| c.pid).collect()
    }

    /// Takes everything that has been said.
    pub(crate) fn take_said(&mut self) -> Vec<Announced> {
        std::mem::take(&mut self.said)
    }

    /// Everything that has been said and not been taken.
    pub(crate) fn said(&self) -> &[Announced] {
        &self.said
    }

    /// Takes the connections that have ended: service and name.
    pub(crate) fn take_ended(&mut self) -> Vec<(String, String)> {
        std::mem::take(&mut self.ended)
    }

    /// Takes whether a process has said `Up`.
    pub(crate) fn take_came_up(&mut self) -> bool {
        std::mem::take(&mut self.came_up)
    }

    /// Accepts and receives whatever is there, without waiting.
    pub(crate) fn serve(&mut self) {
        for (service, listener) in &self.listeners {
            while let Ok(fd) = accept_with(listener, SocketFlags::CLOEXEC | SocketFlags::NONBLOCK) {
                let pid = sockopt::socket_peercred(&fd)
                    .map_or(0, |peer| peer.pid.as_raw_nonzero().get().unsigned_abs());
                self.connections.push(Connection {
                    service: service.clone(),
                    pid,
                    process: None,
                    up: false,
                    armed: false,
                    fd,
                });
            }
        }
        let mut index = 0;
        while index < self.connections.len() {
            if self.receive(index) {
                index += 1;
            } else {
                let gone = self.connections.remove(index);
                self.ended.push((gone.service.clone(), gone.name()));
            }
        }
    }

    /// Receives from one connection; whether it still stands.
    fn receive(&mut self, index: usize) -> bool {
        loop {
            let connection = &mut self.connections[index];
            let length = match recv(&connection.fd, &mut *self.packet, RecvFlags::DONTWAIT) {
                Ok((0, _)) => return false,
                Ok((length, _)) => length.min(self.packet.len()),
                Err(rustix::io::Errno::AGAIN) => return true,
                // A process that ends with our last word unread gives this once, before its own last packets.
                Err(rustix::io::Errno::INTR | rustix::io::Errno::CONNRESET) => continue,
                Err(_) => return false,
            };
            let announcement = match serde_json::from_slice(&self.packet[..length]) {
                Ok(announcement) => announcement,
                Err(error) => Announcement::Failed {
                    process: connection.process.clone(),
                    message: format!("sent an announcement that cannot be read: {error}"),
                },
            };
            match &announcement {
                Announcement::Up { process, .. } => {
                    connection.process.clone_from(process);
                    connection.up = true;
                    self.came_up = true;
                }
                Announcement::Armed { .. } => connection.armed = true,
                _ => {}
            }
            self.said.push(Announced {
                host: self.host.clone(),
                service: connection.service.clone(),
                pid: connection.pid,
                announcement,
            });
        }
    }

    /// The connected processes of a service: all, or its launcher.
    pub(crate) fn of_service<'a>(
        &'a self,
        service: &'a str,
        to: Recipients,
    ) -> impl Iterator<Item = &'a Connection> {
        let of_service = self.connections.iter();
        let of_service = of_service.filter(move |one| one.up && one.service == service);
        of_service.filter(move |one| to == Recipients::All || one.process.is_none())
    }

    /// Tells every process. One that has ended in between shows by its connection.
    pub(crate) fn tell(&mut self, control: &Control) -> Result<(), serde_json::Error> {
        let packet = serde_json::to_vec(control)?;
        for connection in &mut self.connections {
            connection.armed = false;
            connection.tell(&packet);
        }
        Ok(())
    }
}
