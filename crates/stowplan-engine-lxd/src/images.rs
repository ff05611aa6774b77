//! Images in the server's store: imported when first needed, removed with the engine.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use futures_util::TryStreamExt;
use http_body_util::StreamBody;
use hyper::Method;
use hyper::body::Frame;
use serde_json::Value;
use stowplan_engine::{EngineError, ImageFiles};
use stowplan_engine_daemon::{Daemon, pieces};
use stowplan_image::{Contents, write_unified_archive};

use crate::Server;
use crate::api::{ImageInfo, PoolInfo};
use crate::client::{Body, Client};
use crate::names;

/// Why no start is cold on a pool that is a folder.
const UNPACKED: &str = "with the storage driver 'dir', an instance's files are unpacked when it is created, and are in the page \
                        cache when its program starts";

/// Longest time that importing an image may take.
const IMPORT: Duration = Duration::from_secs(3600);

impl Daemon for Server {
    type Client = Client;

    fn engine(&self) -> &'static str {
        self.name()
    }

    fn connect(&self) -> Result<Client, EngineError> {
        Client::connect(*self)
    }

    fn has_image(&self, client: &Client, tag: &str) -> Result<bool, EngineError> {
        Ok(fingerprint(client, tag)?.is_some())
    }

    fn load_image(
        &self,
        client: &Client,
        contents: &Contents,
        tag: &str,
    ) -> Result<(), EngineError> {
        let (what, name) = (contents.clone(), tag.to_owned());
        let (stream, writer) =
            pieces(move |out| write_unified_archive(&what, names::IMAGE, &name, out));
        let body = Body::new(StreamBody::new(stream.map_ok(Frame::data)));
        let path = "/1.0/images";
        let sent = client
            .serving()
            .wait(client.send(Method::POST, path, body, IMPORT));
        writer.end()?;
        sent.map_err(|error| client.error(format!("import the image {tag}"), error))
    }

    fn remove_image(&self, client: &Client, tag: &str) -> Result<bool, EngineError> {
        let Some(fingerprint) = fingerprint(client, tag)? else {
            return Ok(false);
        };
        let path = format!("/1.0/images/{fingerprint}");
        let removed = client.ask(Method::DELETE, &path, &Value::Null, Duration::ZERO);
        match client.serving().wait(removed) {
            Ok(()) => Ok(true),
            Err(error) if error.is_absent() => Ok(false),
            Err(error) => Err(client.error(format!("remove the image {tag}"), error)),
        }
    }
}

/// The server's own name of our image with this tag.
pub(crate) fn fingerprint(client: &Client, tag: &str) -> Result<Option<String>, EngineError> {
    let all: Vec<ImageInfo> = client
        .serving()
        .wait(client.list("/1.0/images?recursion=1"))
        .map_err(|error| client.error("tell its images", error))?;
    let ours = |image: &ImageInfo| image.properties.get(names::IMAGE).is_some_and(|t| t == tag);
    Ok(all.into_iter().find(ours).map(|image| image.fingerprint))
}

/// Where the server keeps what instances of these images read, for a cold start.
///
/// With `dir`, every instance gets files of its own, which are written when it is created: they are in the page cache when
/// its program starts. An instance on btrfs is a snapshot of the image's subvolume, whose files nobody has read before.
pub(crate) fn files(
    client: &Client,
    pool: &PoolInfo,
    fingerprints: &BTreeSet<String>,
) -> ImageFiles {
    let folder = client.socket().parent().unwrap_or(Path::new("/"));
    let below = |place: &Path| -> Vec<PathBuf> {
        let of_images = fingerprints.iter().map(|image| place.join(image));
        of_images.collect()
    };
    let archives = below(&folder.join("images"));
    let (wanted, unshown) = match &*pool.driver {
        "dir" => (archives, Some(UNPACKED.to_owned())),
        "btrfs" => {
            let volumes = folder.join("storage-pools").join(&pool.name).join("images");
            let disk = pool.config.get("source").map(PathBuf::from);
            let all = below(&volumes).into_iter();
            // The disk of a pool in a file has a page cache of its own.
            let all: Vec<PathBuf> = all.chain(disk.filter(|disk| disk.is_file())).collect();
            let hidden = all.iter().find(|path| !path.exists());
            let hidden = hidden.map(|path| format!("{} is not to be seen", path.display()));
            (all, hidden)
        }
        driver => (
            archives,
            Some(format!(
                "what a pool with the driver '{driver}' has in memory of instances' files is not known"
            )),
        ),
    };
    let seen = wanted.into_iter().filter(|path| path.exists());
    ImageFiles {
        paths: seen.map(|path| path.display().to_string()).collect(),
        unshown,
    }
}
