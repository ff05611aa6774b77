//! Something large on its way to a daemon, read while it is sent, so that it never lies anywhere as a whole.

use std::io::{self, BufWriter, ErrorKind, Write};
use std::thread::JoinHandle;

use bytes::Bytes;
use futures_util::stream::{self, Stream};
use stowplan_engine::EngineError;
use tokio::sync::mpsc::{Receiver, Sender, channel};

/// Size of a piece in bytes.
const PIECE: usize = 1 << 20;

/// The thread that reads.
#[derive(Debug)]
pub struct Writer(JoinHandle<io::Result<()>>);

impl Writer {
    /// Waits for its end. That the daemon takes no more is no error: what it says is the cause.
    ///
    /// # Errors
    /// When something could not be read.
    pub fn end(self) -> Result<(), EngineError> {
        match self.0.join() {
            Ok(Err(error)) if error.kind() != ErrorKind::BrokenPipe => {
                Err(EngineError::new("cannot read what goes into the image").because(error))
            }
            Ok(_) => Ok(()),
            Err(_) => Err(EngineError::new("cannot write the image")),
        }
    }
}

/// What `write` writes, on a thread of its own, in pieces.
pub fn pieces(
    write: impl FnOnce(&mut dyn Write) -> io::Result<()> + Send + 'static,
) -> (
    impl Stream<Item = io::Result<Bytes>> + Send + 'static,
    Writer,
) {
    let (sender, receiver) = channel::<io::Result<Bytes>>(4);
    let writer = std::thread::spawn(move || {
        let mut out = BufWriter::with_capacity(PIECE, Pieces(sender.clone()));
        let written = write(&mut out).and_then(|()| out.flush());
        if let Err(error) = &written {
            // So that the daemon does not take what was sent for the whole.
            let broken = io::Error::new(error.kind(), error.to_string());
            let _ = sender.blocking_send(Err(broken));
        }
        written
    });
    let body = stream::unfold(receiver, |mut receiver: Receiver<_>| async move {
        receiver.recv().await.map(|piece| (piece, receiver))
    });
    (body, Writer(writer))
}

/// Sends what is written to it.
struct Pieces(Sender<io::Result<Bytes>>);

impl Write for Pieces {
    fn write(&mut self, part: &[u8]) -> io::Result<usize> {
        let piece = Bytes::copy_from_slice(part);
        self.0
            .blocking_send(Ok(piece))
            .map_err(|_| io::Error::from(ErrorKind::BrokenPipe))?;
        Ok(part.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
