//! Images in a runtime's store.
//!
//! The CRI pulls images and has no way to be given one. The store behind it has. That of containerd takes blobs by their digests, and
//! names for manifests (<https://github.com/containerd/containerd/blob/main/docs/content-flow.md>), of which its CRI plugin learns by an event; for CRI-O's see [`super::crio`].

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant, SystemTime};

use crate::{Daemon, IMAGES, Images, pieces};
use chrono::{DateTime, Utc};
use futures_util::StreamExt;
use serde_json::Value;
use stowplan_engine::EngineError;
use stowplan_host::ledger::{self, Object};
use stowplan_image::{Blob, Contents, blobs};

use super::api::containerd::services::content::v1::content_client::ContentClient;
use super::api::containerd::services::content::v1::{WriteAction, WriteContentRequest};
use super::api::containerd::services::images::v1::images_client::ImagesClient;
use super::api::containerd::services::images::v1::{
    CreateImageRequest, DeleteImageRequest, GetImageRequest, Image,
};
use super::api::containerd::services::leases::v1::leases_client::LeasesClient;
use super::api::containerd::services::leases::v1::{CreateRequest, DeleteRequest};
use super::api::containerd::types::Descriptor;
use super::api::runtime::v1::{
    ImageSpec, ImageStatusRequest, ImageStatusResponse, RemoveImageRequest,
};
use super::client::{Client, below, inside, is_absent, is_there, request};
use super::endpoint::Endpoint;
use super::runtime::Runtime;

/// Label of an image that was made here: its name. It is with the name in containerd's store. In that of CRI-O, and in what a registry
/// keeps, it is in the image's configuration, so that there no two names have the same image.
const LABEL: &str = "stowplan.image";
/// Label of a lease that ends by itself, should this process be killed.
const EXPIRES: &str = "containerd.io/gc.expire";
/// Longest time that loading an image may take.
const LOADING: Duration = Duration::from_secs(3600);
/// Longest wait until the CRI plugin knows a name of the store.
const PATIENCE: Duration = Duration::from_secs(30);

/// The store of the runtime on a socket, for the images of an engine.
#[derive(Debug, Clone)]
pub struct Store {
    /// Name of the engine, as in the ledger.
    pub engine: &'static str,
    /// The socket; `None` is where `crictl` would look for one.
    pub endpoint: Option<Endpoint>,
}

impl Store {
    fn endpoint(&self) -> Result<Endpoint, EngineError> {
        self.endpoint
            .clone()
            .map_or_else(Endpoint::of_this_machine, Ok)
    }

    /// Brings an image of these contents into the store as `tag`. Whether the store had it by its digest already: then nothing is
    /// written, and it gets one more name.
    ///
    /// # Errors
    /// When the contents cannot be read or the store does not take them.
    pub fn bring(
        &self,
        client: &Client,
        contents: &Contents,
        tag: &str,
    ) -> Result<bool, EngineError> {
        if let Some(storage) = &client.settings.storage {
            let settings = image_settings(contents, Some(tag));
            return storage.load(contents, tag, &settings).map(|()| false);
        }
        let blobs = blobs(contents, &image_settings(contents, None))
            .map_err(|e| EngineError::new("cannot read what goes into the image").because(e))?;
        client.wait(load(client, blobs, tag))
    }

    /// What to do where there is none.
    #[must_use]
    pub fn hint(&self) -> String {
        let runtime = self.endpoint().map_or_else(
            |_| Runtime::default(),
            |endpoint| Runtime::on(endpoint.first()),
        );
        runtime.hint()
    }
}

impl Daemon for Store {
    type Client = Client;

    fn engine(&self) -> &'static str {
        self.engine
    }

    fn connect(&self) -> Result<Client, EngineError> {
        Client::connect(&self.endpoint()?)
    }

    fn has_image(&self, client: &Client, tag: &str) -> Result<bool, EngineError> {
        client.wait(is_known(client, tag))
    }

    fn load_image(
        &self,
        client: &Client,
        contents: &Contents,
        tag: &str,
    ) -> Result<(), EngineError> {
        self.bring(client, contents, tag).map(drop)
    }

    fn remove_image(&self, client: &Client, tag: &str) -> Result<bool, EngineError> {
        if !client.wait(is_ours(client, tag))? || is_shared(self.engine, tag)? {
            return Ok(false);
        }
        client.wait(remove(client, tag))
    }
}

/// What an image of these contents says of itself. One whose name stands in it is another image than all others.
#[must_use]
pub fn image_settings(contents: &Contents, name: Option<&str>) -> stowplan_image::Settings {
    let label = name.map(|name| (LABEL.to_owned(), name.to_owned()));
    stowplan_image::Settings {
        entrypoint: entrypoint(contents),
        labels: label.into_iter().collect(),
    }
}

/// What a container of the image runs that says nothing else: a lone program holds, as the pause process of a pod.
fn entrypoint(contents: &Contents) -> Vec<String> {
    match contents {
        Contents::Program { name, .. } => vec![format!("/{name}"), "hold".to_owned()],
        Contents::Image(_) | Contents::Root(_) => Vec::new(),
    }
}

/// Makes sure that pods can be made: the runtime would pull the image of their pause process. Where it has none, it gets one of
/// ours under that name. Says so then.
///
/// # Errors
/// When the runtime cannot tell, or does not take it.
pub fn provide_pause(
    client: &Client,
    images: &mut Images<Store>,
    agent: PathBuf,
) -> Result<Option<String>, EngineError> {
    let Some(name) = &client.settings.sandbox_image else {
        return Ok(None);
    };
    if client.wait(is_known(client, name))? && !client.wait(is_ours(client, name))? {
        return Ok(None);
    }
    let contents = Contents::Program {
        from: agent,
        name: "stowplan-agent".to_owned(),
    };
    images.load_as(client, &contents, name)?;
    Ok(Some(format!(
        "pause image: {} has no {name}, pods have one of Stowplan's under that name",
        client.runtime.name()
    )))
}

/// Whether a living run needs the image too. Only the one that pods stand on has a name that runs share.
fn is_shared(engine: &str, tag: &str) -> Result<bool, EngineError> {
    if tag.starts_with(IMAGES) && tag[IMAGES.len()..].starts_with(':') {
        return Ok(false);
    }
    let object = Object::Image {
        engine: engine.to_owned(),
        tag: tag.to_owned(),
    };
    let owners = ledger::living_owners(&ledger::folder()?, &object)?;
    let own = owners
        .iter()
        .filter(|owner| owner.pid == std::process::id());
    Ok(owners.len() > own.count().min(1))
}

/// An image by its name, as a kubelet asks for it: CRI-O verifies signatures by the name that the user has given.
pub fn named(image: &str) -> ImageSpec {
    ImageSpec {
        image: image.to_owned(),
        user_specified_image: image.to_owned(),
    }
}

/// What the CRI says of the image.
async fn known(client: &Client, tag: &str) -> Result<ImageStatusResponse, EngineError> {
    let asked = request(ImageStatusRequest {
        image: Some(named(tag)),
        verbose: true,
    });
    let found = client.images().image_status(asked).await;
    found
        .map(tonic::Response::into_inner)
        .map_err(|status| client.error(format!("tell of the image {tag}"), status))
}

/// What the CRI calls the image of this name: digests of its configuration, and of its manifest where it has any.
///
/// # Errors
/// When the runtime cannot tell.
pub fn image_digests(client: &Client, tag: &str) -> Result<Vec<String>, EngineError> {
    let image = client.wait(known(client, tag))?.image.unwrap_or_default();
    Ok(std::iter::once(image.id)
        .chain(image.repo_digests)
        .collect())
}

/// Whether the CRI knows the image.
async fn is_known(client: &Client, tag: &str) -> Result<bool, EngineError> {
    Ok(known(client, tag).await?.image.is_some())
}

/// Whether the store has an image of this name that was made here.
async fn is_ours(client: &Client, tag: &str) -> Result<bool, EngineError> {
    if client.settings.storage.is_some() {
        let found = known(client, tag).await?;
        return Ok(is_made_as(&inside(&found.info)["labels"], tag));
    }
    let asked = below(GetImageRequest {
        name: tag.to_owned(),
    });
    match ImagesClient::new(client.channel()).get(asked).await {
        Ok(found) => {
            let image = found.into_inner().image.unwrap_or_default();
            Ok(image.labels.get(LABEL).is_some_and(|name| name == tag))
        }
        Err(status) if is_absent(&status) => Ok(false),
        Err(status) => Err(client.error(format!("tell of the image {tag}"), status)),
    }
}

/// Removes an image that the runtime has pulled, if it says of itself that it was made here as `tag`. Whether there was one.
///
/// # Errors
/// When the runtime cannot tell, or does not remove it.
pub fn remove_pulled(client: &Client, image: &str, tag: &str) -> Result<bool, EngineError> {
    let info = inside(&client.wait(known(client, image))?.info);
    // That of containerd, and that of CRI-O.
    let labels = [&info["imageSpec"]["config"]["Labels"], &info["labels"]];
    if labels.iter().any(|labels| is_made_as(labels, tag)) {
        client.wait(remove_all(client, image))
    } else {
        Ok(false)
    }
}

/// Whether an image with these labels in its configuration was made here as `tag`.
#[must_use]
pub fn is_made_as(labels: &Value, tag: &str) -> bool {
    labels[LABEL] == tag
}

/// Takes a name away, and the image with it where that is the last one. Whether it was there.
async fn remove(client: &Client, tag: &str) -> Result<bool, EngineError> {
    let image = known(client, tag).await?.image.unwrap_or_default();
    let mut names = image.repo_tags.iter().chain(&image.repo_digests);
    // The CRI removes an image with all its names.
    if client.settings.storage.is_some() || names.all(|name| name == tag) {
        return remove_all(client, tag).await;
    }
    let delete = below(DeleteImageRequest {
        name: tag.to_owned(),
        sync: true,
    });
    match ImagesClient::new(client.channel()).delete(delete).await {
        Ok(_) => {}
        Err(status) if is_absent(&status) => return Ok(false),
        Err(status) => return Err(client.error(format!("remove the image {tag}"), status)),
    }
    learns(client, tag, false).await?;
    // Who had the other names may have taken them away meanwhile.
    let left = known(client, &image.id).await?.image;
    if left.is_some_and(|left| left.repo_tags.is_empty() && left.repo_digests.is_empty()) {
        remove_all(client, &image.id).await?;
    }
    Ok(true)
}

/// Removes an image with all its names. Whether there was one.
async fn remove_all(client: &Client, image: &str) -> Result<bool, EngineError> {
    let asked = request(RemoveImageRequest {
        image: Some(named(image)),
    });
    match client.images().remove_image(asked).await {
        Ok(_) => Ok(true),
        Err(status) if is_absent(&status) => Ok(false),
        Err(status) => Err(client.error(format!("remove the image {image}"), status)),
    }
}

/// Waits until containerd's CRI plugin knows of a name that it is there, or that it is gone.
async fn learns(client: &Client, tag: &str, is_there: bool) -> Result<(), EngineError> {
    let begin = Instant::now();
    while is_known(client, tag).await? != is_there {
        if begin.elapsed() > PATIENCE {
            let what = if is_there { "has" } else { "has removed" };
            return Err(EngineError::new(format!(
                "containerd {what} the image {tag}, but its CRI plugin does not learn of it"
            )));
        }
        // The plugin tells nobody when it has seen the event: ask again.
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    Ok(())
}

/// Writes the blobs, the manifest last, and names it. A lease keeps containerd from removing what no image names yet.
/// Whether the store had the manifest already.
async fn load(client: &Client, blobs: Vec<Blob>, tag: &str) -> Result<bool, EngineError> {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let failed = |status| client.error(format!("load the image {tag}"), status);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let lease = format!("stowplan-{}-{number}", std::process::id());
    let mut leases = LeasesClient::new(client.channel());
    let expires: DateTime<Utc> = (SystemTime::now() + LOADING).into();
    let create = below(CreateRequest {
        id: lease.clone(),
        labels: HashMap::from([(EXPIRES.to_owned(), expires.to_rfc3339())]),
    });
    leases.create(create).await.map_err(failed)?;
    let written = write_all(client, blobs, tag, &lease).await;
    let deleted = leases.delete(below(DeleteRequest { id: lease })).await;
    let had_it = written?;
    deleted.map_err(failed)?;
    learns(client, tag, true).await?;
    Ok(had_it)
}

async fn write_all(
    client: &Client,
    blobs: Vec<Blob>,
    tag: &str,
    lease: &str,
) -> Result<bool, EngineError> {
    let digests: Vec<String> = blobs.iter().map(|blob| blob.digest.clone()).collect();
    let (mut target, mut had_it) = (Descriptor::default(), false);
    for (number, blob) in blobs.into_iter().enumerate() {
        target = Descriptor {
            media_type: blob.media_type.to_owned(),
            digest: blob.digest.clone(),
            size: length(&blob),
        };
        // What a blob names stays as long as itself (https://github.com/containerd/containerd/blob/main/docs/garbage-collection.md).
        let is_manifest = number + 1 == digests.len();
        let refers = digests[..number].iter().enumerate();
        let labels = refers
            .filter(|_| is_manifest)
            .map(|(at, digest)| (format!("containerd.io/gc.ref.content.{at}"), digest.clone()));
        had_it = write(client, blob, labels.collect(), lease).await?;
    }
    let create = below(CreateImageRequest {
        image: Some(Image {
            name: tag.to_owned(),
            labels: HashMap::from([(LABEL.to_owned(), tag.to_owned())]),
            target: Some(target),
        }),
    });
    match ImagesClient::new(client.channel()).create(create).await {
        // Another run was faster with the image that pods stand on.
        Err(status) if !is_there(&status) => {
            Err(client.error(format!("load the image {tag}"), status))
        }
        _ => Ok(had_it),
    }
}

fn length(blob: &Blob) -> i64 {
    i64::try_from(blob.bytes).unwrap_or(i64::MAX)
}

/// Writes a blob. Whether the store had it already, which the lease keeps from now on.
async fn write(
    client: &Client,
    blob: Blob,
    labels: HashMap<String, String>,
    lease: &str,
) -> Result<bool, EngineError> {
    let about = WriteContentRequest {
        r#ref: format!("{lease}-{}", blob.digest),
        total: length(&blob),
        expected: blob.digest.clone(),
        ..WriteContentRequest::default()
    };
    let commit = WriteContentRequest {
        action: WriteAction::Commit as i32,
        offset: about.total,
        labels,
        ..about.clone()
    };
    let (pieces, writer) = pieces(move |out| blob.write(out));
    let mut offset = 0;
    // Where a piece could not be read, the whole is too short to be committed.
    let data = pieces
        .take_while(|piece| std::future::ready(piece.is_ok()))
        .filter_map(|piece| std::future::ready(piece.ok()))
        .map(move |data| {
            let request = WriteContentRequest {
                action: WriteAction::Write as i32,
                offset,
                data: data.to_vec(),
                ..about.clone()
            };
            offset += i64::try_from(data.len()).unwrap_or(i64::MAX);
            request
        });
    let mut asked = below(data.chain(futures_util::stream::once(async { commit })));
    let lease = lease
        .parse()
        .map_err(|_| EngineError::new("a lease has a plain name"))?;
    asked.metadata_mut().insert("containerd-lease", lease);
    let outcome = async {
        let mut answers = ContentClient::new(client.channel())
            .write(asked)
            .await?
            .into_inner();
        while answers.message().await?.is_some() {}
        Ok(())
    };
    let outcome: Result<(), tonic::Status> = outcome.await;
    match outcome {
        // A layer that other images have too.
        Err(status) if is_there(&status) => Ok(true),
        outcome => {
            writer.end()?;
            outcome
                .map(|()| false)
                .map_err(|status| client.error("take a part of an image", status))
        }
    }
}
