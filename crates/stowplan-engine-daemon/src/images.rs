//! Images in a daemon's store: loaded when first needed, removed with the engine.

use std::collections::BTreeMap;
use std::io;
use std::sync::atomic::{AtomicU32, Ordering};

use stowplan_engine::EngineError;
use stowplan_host::ledger::{Ledger, Object, folder};
use stowplan_image::Contents;
use stowplan_wire::deployment::{DeploymentPlan, ServiceStart};

use crate::names::IMAGES;
use crate::program::contents;

/// A daemon that keeps images.
pub trait Daemon {
    /// A connection to it.
    type Client;

    /// Name of its engine.
    fn engine(&self) -> &'static str;

    /// Name of its images, before the colon.
    fn images_name(&self) -> String {
        IMAGES.to_owned()
    }

    /// Connects.
    ///
    /// # Errors
    /// When it does not answer.
    fn connect(&self) -> Result<Self::Client, EngineError>;

    /// Whether it has the image `tag`.
    ///
    /// # Errors
    /// When it cannot tell.
    fn has_image(&self, client: &Self::Client, tag: &str) -> Result<bool, EngineError>;

    /// Brings an image of these contents into its store as `tag`.
    ///
    /// # Errors
    /// When the contents cannot be read or the daemon does not take them.
    fn load_image(
        &self,
        client: &Self::Client,
        contents: &Contents,
        tag: &str,
    ) -> Result<(), EngineError>;

    /// Removes an image of ours. Whether there was one.
    ///
    /// # Errors
    /// When it cannot be removed.
    fn remove_image(&self, client: &Self::Client, tag: &str) -> Result<bool, EngineError>;
}

/// The images that one engine of this process has loaded.
///
/// They stay between runs, as a user's images do; a ledger of their own names them until the engine goes.
#[derive(Debug)]
pub struct Images<D: Daemon> {
    daemon: D,
    number: u32,
    tags: BTreeMap<String, String>,
    ledger: Option<Ledger>,
}

impl<D: Daemon> Images<D> {
    /// None yet.
    pub fn new(daemon: D) -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        Self {
            daemon,
            number: NEXT.fetch_add(1, Ordering::Relaxed),
            tags: BTreeMap::new(),
            ledger: None,
        }
    }

    /// Who keeps them.
    pub const fn daemon(&self) -> &D {
        &self.daemon
    }

    /// The tag of the image with these contents, which is in the daemon's store when this returns.
    ///
    /// # Errors
    /// When the contents cannot be read or the daemon does not take them.
    pub fn load(&mut self, client: &D::Client, contents: &Contents) -> Result<String, EngineError> {
        let fingerprint = contents.fingerprint().map_err(unreadable)?;
        let short = fingerprint.get(..16).unwrap_or(&fingerprint);
        let (name, pid) = (self.daemon.images_name(), std::process::id());
        let tag = format!("{name}:{pid}-{}-{short}", self.number);
        self.bring(client, contents, fingerprint, &tag)?;
        Ok(tag)
    }

    /// The tag of each service's image, in the order of the plan; all are in the daemon's store when this returns.
    ///
    /// # Errors
    /// When contents cannot be read or the daemon does not take them: with the service.
    pub fn load_all(
        &mut self,
        client: &D::Client,
        plan: &DeploymentPlan,
    ) -> Result<Vec<String>, EngineError> {
        let tag = |service: &ServiceStart| {
            self.load(client, &contents(plan, service))
                .map_err(|e| e.of_service(&service.name, Some(service.log.clone())))
        };
        plan.services.iter().map(tag).collect()
    }

    /// Brings an image of these contents into the daemon's store as `tag`, where it is not there by now.
    ///
    /// # Errors
    /// When the contents cannot be read or the daemon does not take them.
    pub fn load_as(
        &mut self,
        client: &D::Client,
        contents: &Contents,
        tag: &str,
    ) -> Result<(), EngineError> {
        let fingerprint = contents.fingerprint().map_err(unreadable)?;
        self.bring(client, contents, fingerprint, tag)
    }

    fn bring(
        &mut self,
        client: &D::Client,
        contents: &Contents,
        fingerprint: String,
        tag: &str,
    ) -> Result<(), EngineError> {
        // Somebody may have removed it.
        if self.tags.get(tag) == Some(&fingerprint) && self.daemon.has_image(client, tag)? {
            return Ok(());
        }
        if self.tags.insert(tag.to_owned(), fingerprint).is_none() {
            self.enter(tag)?;
        }
        self.daemon.load_image(client, contents, tag)
    }

    fn enter(&mut self, tag: &str) -> Result<(), EngineError> {
        let engine = self.daemon.engine();
        if self.ledger.is_none() {
            let name = format!("{engine}-images-{}", self.number);
            self.ledger = Some(Ledger::open(&folder()?, &name)?);
        }
        let object = object(engine, tag);
        let entered = self.ledger.as_mut().map(|ledger| ledger.enter(&object));
        entered.unwrap_or(Ok(())).map_err(EngineError::from)
    }

    /// Removes all that were loaded.
    ///
    /// # Errors
    /// When the daemon cannot remove one; what is left stands in the ledger.
    pub fn remove_all(&mut self) -> Result<(), EngineError> {
        let Some(mut ledger) = self.ledger.take() else {
            return Ok(());
        };
        let tags: Vec<String> = std::mem::take(&mut self.tags).into_keys().collect();
        let daemon = &self.daemon;
        let removed = daemon.connect().and_then(|client| {
            tags.iter().try_for_each(|tag| {
                daemon.remove_image(&client, tag)?;
                ledger.gone(&object(daemon.engine(), tag));
                Ok(())
            })
        });
        removed.and(ledger.close().map_err(EngineError::from))
    }
}

impl<D: Daemon> Drop for Images<D> {
    fn drop(&mut self) {
        // What could not be removed stands in the ledger, and nobody is left to tell.
        let _ = self.remove_all();
    }
}

fn unreadable(error: io::Error) -> EngineError {
    EngineError::new("cannot read what goes into the image").because(error)
}

fn object(engine: &str, tag: &str) -> Object {
    Object::Image {
        engine: engine.to_owned(),
        tag: tag.to_owned(),
    }
}
