//! Ctrl-C: what has been started is removed before the command ends.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;

use super::error::PeersError;

/// Whether SIGINT or SIGTERM has come. A second one ends the command at once; what is left then stands in ledgers.
#[derive(Debug)]
pub struct Interruption(Arc<AtomicBool>);

impl Interruption {
    /// Takes both signals from now until the command ends.
    pub fn listen() -> Result<Self, PeersError> {
        let come = Arc::new(AtomicBool::new(false));
        let listen = |signal| -> io::Result<()> {
            // In this order: the first that comes finds the flag down.
            flag::register_conditional_default(signal, Arc::clone(&come))?;
            flag::register(signal, Arc::clone(&come)).map(drop)
        };
        for signal in [SIGINT, SIGTERM] {
            listen(signal).map_err(PeersError::io("listen to signals"))?;
        }
        Ok(Self(come))
    }

    /// Fails once one has come.
    pub fn check(&self) -> Result<(), PeersError> {
        if self.0.load(Ordering::SeqCst) {
            return Err(PeersError::Interrupted);
        }
        Ok(())
    }
}
