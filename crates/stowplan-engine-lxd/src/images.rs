//! Images in the server's store: imported when first needed, removed with the engine.

use std::path::PathBuf;
use std::time::Duration;

use futures_util::TryStreamExt;
use http_body_util::StreamBody;
use hyper::Method;
use hyper::body::Frame;
use serde_json::Value;
use stowplan_engine::EngineError;
use stowplan_engine_daemon::{Daemon, pieces};
use stowplan_image::{Contents, write_unified_archive};

use crate::Server;
use crate::api::ImageInfo;
use crate::client::{Body, Client};
use crate::names;

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

/// The archive of an image, which every creation of a container unpacks, where it is to be seen.
pub(crate) fn file(client: &Client, fingerprint: &str) -> Option<PathBuf> {
    let folder = client.socket().parent()?;
    let file = folder.join("images").join(fingerprint);
    file.exists().then_some(file)
}
