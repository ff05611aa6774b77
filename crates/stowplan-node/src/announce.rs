//! The connection to the agent: one JSON document a packet.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketAddrUnix, SocketFlags, SocketType, connect, recv,
    send, socket_with,
};
use stowplan_wire::announce::{Announcement, Control, MAX_PACKET};

use crate::error::NodeError;

/// The connection of this process to the agent. Packets are whole, so several threads may send.
#[derive(Debug)]
pub struct Agent {
    socket: OwnedFd,
    path: PathBuf,
}

/// What came from the agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AgentMessage {
    /// A request.
    Control(Control),
    /// It is gone: so should we be.
    Gone,
}

impl Agent {
    /// Connects to `announce.sock` in the service's run folder.
    ///
    /// # Errors
    /// When nobody listens there.
    pub fn connect(folder: &Path) -> Result<Self, NodeError> {
        let path = folder.join("announce.sock");
        let open = || -> Result<OwnedFd, Errno> {
            let socket = socket_with(
                AddressFamily::UNIX,
                SocketType::SEQPACKET,
                SocketFlags::CLOEXEC,
                None,
            )?;
            rustix::net::sockopt::set_socket_send_buffer_size(&socket, 2 * MAX_PACKET)?;
            connect(&socket, &SocketAddrUnix::new(&path)?)?;
            Ok(socket)
        };
        match open() {
            Ok(socket) => Ok(Self { socket, path }),
            Err(error) => Err(NodeError::Announce {
                path,
                source: error.into(),
            }),
        }
    }

    /// Tells the agent something.
    ///
    /// # Errors
    /// When it does not take it.
    pub fn say(&self, announcement: &Announcement) -> Result<(), NodeError> {
        let packet = serde_json::to_vec(announcement).map_err(|error| self.error(error.into()))?;
        loop {
            match send(&self.socket, &packet, SendFlags::NOSIGNAL) {
                Ok(_) => return Ok(()),
                Err(Errno::INTR) => {}
                Err(error) => return Err(self.error(error.into())),
            }
        }
    }

    /// Reads one packet; call it when [`Agent::readable`] is.
    ///
    /// # Errors
    /// When the packet is not a request.
    pub fn hear(&self) -> Result<AgentMessage, NodeError> {
        let mut packet = [0; 4096];
        let size = loop {
            match recv(&self.socket, &mut packet, RecvFlags::empty()) {
                Ok((size, _)) => break size,
                Err(Errno::INTR) => {}
                Err(Errno::CONNRESET) => return Ok(AgentMessage::Gone),
                Err(error) => return Err(self.error(error.into())),
            }
        };
        if size == 0 {
            return Ok(AgentMessage::Gone);
        }
        serde_json::from_slice(&packet[..size])
            .map(AgentMessage::Control)
            .map_err(|error| self.error(error.into()))
    }

    /// Drops what the agent has said and nobody has read: a socket that is closed with unread packets
    /// gives its other end an error before the last packets from here.
    pub fn drain(&self) {
        let mut packet = [0; 4096];
        while let Ok((1.., _)) = recv(&self.socket, &mut packet, RecvFlags::DONTWAIT) {}
    }

    /// Readable when the agent has said something.
    pub fn readable(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    fn error(&self, source: std::io::Error) -> NodeError {
        NodeError::Announce {
            path: self.path.clone(),
            source,
        }
    }
}
