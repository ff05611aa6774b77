//! Images in the daemon's store: loaded when first needed, removed with the engine.

use std::collections::BTreeMap;
use std::io::{self, BufWriter, ErrorKind, Write};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use bollard::body_try_stream;
use bollard::query_parameters::{ImportImageOptionsBuilder, RemoveImageOptionsBuilder};
use bytes::Bytes;
use futures_util::TryStreamExt;
use futures_util::stream;
use stowplan_engine::EngineError;
use stowplan_host::ledger::{Ledger, Object, folder};
use stowplan_image::{Contents, write_archive};
use tokio::sync::mpsc::{Receiver, Sender, channel};

use crate::Daemon;
use crate::client::{Client, is_absent};
use crate::names::IMAGES;

/// Longest time that loading an image may take.
const LOADING: Duration = Duration::from_secs(3600);
/// Size of the pieces in which an archive is sent.
const PIECE: usize = 1 << 20;

/// The images that one engine of this process has loaded.
///
/// They stay between runs, as a user's images do; a ledger of their own names them until the engine goes.
pub(crate) struct Images {
    daemon: Daemon,
    number: u32,
    tags: BTreeMap<String, String>,
    ledger: Option<Ledger>,
}

impl Images {
    pub(crate) fn new(daemon: Daemon) -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        Self {
            daemon,
            number: NEXT.fetch_add(1, Ordering::Relaxed),
            tags: BTreeMap::new(),
            ledger: None,
        }
    }

    /// The tag of the image with these contents, which is in the daemon's store when this returns.
    pub(crate) fn load(
        &mut self,
        client: &Client,
        contents: &Contents,
    ) -> Result<String, EngineError> {
        let unreadable =
            |e: io::Error| EngineError::new("cannot read what goes into the image").because(e);
        let fingerprint = contents.fingerprint().map_err(unreadable)?;
        if let Some(tag) = self.tags.get(&fingerprint) {
            match client.wait(client.api().inspect_image(tag)) {
                Ok(_) => return Ok(tag.clone()),
                // Somebody has removed it.
                Err(error) if is_absent(&error) => {}
                Err(error) => return Err(client.error(format!("tell of the image {tag}"), error)),
            }
        }
        let short = fingerprint.get(..16).unwrap_or(&fingerprint);
        let tag = format!("{IMAGES}:{}-{}-{short}", std::process::id(), self.number);
        if self.tags.insert(fingerprint, tag.clone()).is_none() {
            self.enter(&tag)?;
        }
        send(client, contents, &tag)?;
        Ok(tag)
    }

    fn enter(&mut self, tag: &str) -> Result<(), EngineError> {
        if self.ledger.is_none() {
            let name = format!("{}-images-{}", self.daemon.name(), self.number);
            self.ledger = Some(Ledger::open(&folder()?, &name)?);
        }
        let object = object(self.daemon, tag);
        let entered = self.ledger.as_mut().map(|ledger| ledger.enter(&object));
        entered.unwrap_or(Ok(())).map_err(EngineError::from)
    }
}

impl Images {
    /// Removes all that were loaded.
    pub(crate) fn remove_all(&mut self) -> Result<(), EngineError> {
        let Some(mut ledger) = self.ledger.take() else {
            return Ok(());
        };
        let tags: Vec<String> = std::mem::take(&mut self.tags).into_values().collect();
        let removed = Client::connect(self.daemon).and_then(|client| {
            tags.iter().try_for_each(|tag| {
                remove(&client, tag)?;
                ledger.gone(&object(self.daemon, tag));
                Ok(())
            })
        });
        // What is left stands in the ledger.
        removed.and(ledger.close().map_err(EngineError::from))
    }
}

fn object(daemon: Daemon, tag: &str) -> Object {
    Object::Image {
        engine: daemon.name().to_owned(),
        tag: tag.to_owned(),
    }
}

impl Drop for Images {
    fn drop(&mut self) {
        // What could not be removed stands in the ledger, and nobody is left to tell.
        let _ = self.remove_all();
    }
}

/// Removes an image of ours. Whether there was one.
pub(crate) fn remove(client: &Client, tag: &str) -> Result<bool, EngineError> {
    let options = RemoveImageOptionsBuilder::default().build();
    let removed = client.api().remove_image(tag, Some(options), None);
    match client.wait(removed) {
        Ok(_) => Ok(true),
        Err(error) if is_absent(&error) => Ok(false),
        Err(error) => Err(client.error(format!("remove the image {tag}"), error)),
    }
}

/// Writes the archive on a thread of its own, so that it is read while it is sent, and never lies anywhere as a whole.
fn send(client: &Client, contents: &Contents, tag: &str) -> Result<(), EngineError> {
    let (sender, receiver) = channel::<io::Result<Bytes>>(4);
    let (what, name) = (contents.clone(), tag.to_owned());
    let writer = std::thread::spawn(move || {
        let mut out = BufWriter::with_capacity(PIECE, Pieces(sender.clone()));
        let written = write_archive(&what, &name, &mut out).and_then(|()| out.flush());
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
    let options = ImportImageOptionsBuilder::default().build();
    let api = client.patient(LOADING);
    let loading = api.import_image(options, body_try_stream(body), None);
    let loaded = client.wait(loading.try_for_each(|_| async { Ok(()) }));
    match writer.join() {
        // The daemon hung up: what it says is the cause.
        Ok(Err(error)) if error.kind() != ErrorKind::BrokenPipe => {
            return Err(EngineError::new("cannot read what goes into the image").because(error));
        }
        Ok(_) => {}
        Err(_) => return Err(EngineError::new("cannot write the image's archive")),
    }
    loaded.map_err(|error| client.error(format!("load the image {tag}"), error))
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

/// Folders in which the daemon keeps the files of an image, where it tells.
pub(crate) fn folders(client: &Client, tag: &str) -> Vec<PathBuf> {
    let Ok(found) = client.wait(client.api().inspect_image(tag)) else {
        return Vec::new();
    };
    let data = found
        .graph_driver
        .map(|driver| driver.data)
        .unwrap_or_default();
    ["UpperDir", "LowerDir"]
        .iter()
        .filter_map(|key| data.get(*key))
        .flat_map(|folders| folders.split(':'))
        .map(PathBuf::from)
        .collect()
}
