//! The real program against an agent that is nothing but a socket.
#![expect(clippy::unwrap_used, reason = "what fails in a helper fails the test")]

mod background;
mod common;
mod discovery;
mod exchange;
mod lifecycle;
