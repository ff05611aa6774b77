//! Images in the daemon's store.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::Duration;

use bollard::body_try_stream;
use bollard::query_parameters::{ImportImageOptionsBuilder, RemoveImageOptionsBuilder};
use futures_util::TryStreamExt;
use stowplan_engine::{EngineError, ImageFiles};
use stowplan_engine_daemon::pieces;
use stowplan_image::{Contents, Settings, write_archive};

use crate::Daemon;
use crate::client::{Client, is_absent};

/// Longest time that loading an image may take.
const LOADING: Duration = Duration::from_secs(3600);

/// The store of a daemon.
pub(crate) struct Store(pub(crate) Daemon);

impl stowplan_engine_daemon::Daemon for Store {
    type Client = Client;

    fn engine(&self) -> &'static str {
        self.0.name()
    }

    fn connect(&self) -> Result<Client, EngineError> {
        Client::connect(self.0)
    }

    fn has_image(&self, client: &Client, tag: &str) -> Result<bool, EngineError> {
        match client.wait(client.api().inspect_image(tag)) {
            Ok(_) => Ok(true),
            Err(error) if is_absent(&error) => Ok(false),
            Err(error) => Err(client.error(format!("tell of the image {tag}"), error)),
        }
    }

    fn load_image(
        &self,
        client: &Client,
        contents: &Contents,
        tag: &str,
    ) -> Result<(), EngineError> {
        send(client, contents, tag)
    }

    fn remove_image(&self, client: &Client, tag: &str) -> Result<bool, EngineError> {
        let options = RemoveImageOptionsBuilder::default().build();
        let removed = client.api().remove_image(tag, Some(options), None);
        match client.wait(removed) {
            Ok(_) => Ok(true),
            Err(error) if is_absent(&error) => Ok(false),
            Err(error) => Err(client.error(format!("remove the image {tag}"), error)),
        }
    }
}

fn send(client: &Client, contents: &Contents, tag: &str) -> Result<(), EngineError> {
    let (what, name) = (contents.clone(), tag.to_owned());
    let (body, writer) = pieces(move |out| write_archive(&what, &name, &Settings::default(), out));
    let options = ImportImageOptionsBuilder::default().build();
    let api = client.patient(LOADING);
    let loading = api.import_image(options, body_try_stream(body), None);
    let loaded = client.wait(loading.try_for_each(|_| async { Ok(()) }));
    writer.end()?;
    loaded.map_err(|error| client.error(format!("load the image {tag}"), error))
}

/// Id of an image.
pub(crate) fn id(client: &Client, tag: &str) -> Result<String, EngineError> {
    let found = client.wait(client.api().inspect_image(tag));
    let found = found.map_err(|error| client.error(format!("tell of the image {tag}"), error))?;
    Ok(found.id.unwrap_or_default())
}

/// Told where a daemon's answer has no folders of an image, as with Docker's store of containerd, or the driver `vfs`.
const UNTOLD_FILES: &str = "the daemon does not tell where it keeps the files of images";

/// Where the daemon keeps the files of these images.
pub(crate) fn files(client: &Client, tags: &BTreeSet<&String>) -> ImageFiles {
    let mut found = BTreeSet::new();
    let mut unshown = None;
    for tag in tags {
        let folders = folders(client, tag);
        if folders.is_empty() {
            unshown = Some(UNTOLD_FILES.to_owned());
        }
        found.extend(folders.iter().map(|folder| folder.display().to_string()));
    }
    ImageFiles {
        paths: found.into_iter().collect(),
        unshown,
    }
}

/// Folders in which the daemon keeps the files of an image, where it tells.
fn folders(client: &Client, tag: &str) -> Vec<PathBuf> {
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
