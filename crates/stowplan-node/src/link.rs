//! Between the launcher and its processes: which node to load, and what is loaded.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, recv, send, socketpair,
};

use crate::error::NodeError;

/// AgentMessage instead of a node's number: the process exists and can load.
pub const UP: u32 = u32::MAX;

/// One end of the connection. Each packet is a number.
#[derive(Debug)]
pub struct Link(OwnedFd);

impl Link {
    /// Both ends.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub fn pair() -> Result<(Self, OwnedFd), NodeError> {
        let (own, other) = socketpair(
            AddressFamily::UNIX,
            SocketType::SEQPACKET,
            SocketFlags::CLOEXEC,
            None,
        )
        .map_err(NodeError::system("connect launcher and process"))?;
        Ok((Self(own), other))
    }

    /// The end that was inherited.
    #[must_use]
    pub fn from_inherited(descriptor: OwnedFd) -> Self {
        Self(descriptor)
    }

    /// Says a number.
    ///
    /// # Errors
    /// When the other side is gone.
    pub fn say(&self, number: u32) -> Result<(), NodeError> {
        loop {
            match send(&self.0, &number.to_le_bytes(), SendFlags::NOSIGNAL) {
                Ok(_) => return Ok(()),
                Err(Errno::INTR) => {}
                Err(error) => return Err(NodeError::system("talk over the launch link")(error)),
            }
        }
    }

    /// The next number, if one is there; [`Gone`] when the other side has ended.
    ///
    /// # Errors
    /// When the other side has ended.
    pub fn hear(&self) -> Result<Option<u32>, Gone> {
        let mut bytes = [0; 4];
        match recv(&self.0, &mut bytes, RecvFlags::DONTWAIT) {
            Ok((4, _)) => Ok(Some(u32::from_le_bytes(bytes))),
            Err(Errno::AGAIN | Errno::INTR) => Ok(None),
            Ok(_) | Err(_) => Err(Gone),
        }
    }

    /// Readable when the other side has said something.
    pub fn readable(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// The other side has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Gone;
