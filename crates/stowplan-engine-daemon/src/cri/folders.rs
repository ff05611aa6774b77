//! Where the files of images are.

use stowplan_engine::EngineError;

use super::api::containerd::services::containers::v1::GetContainerRequest;
use super::api::containerd::services::snapshots::v1::MountsRequest;
use super::api::containerd::services::snapshots::v1::snapshots_client::SnapshotsClient;
use super::client::{Client, below};

/// Folders in which containerd's snapshotter keeps the files of a container's image, where it is an overlay (overlayfs.rst).
///
/// # Errors
/// When the runtime does not tell.
pub async fn image_folders(client: &Client, id: &str) -> Result<Vec<String>, EngineError> {
    let failed = |status| client.error("tell where the files of an image are", status);
    let get = below(GetContainerRequest { id: id.to_owned() });
    let found = client.containers().get(get).await.map_err(failed)?;
    let container = found.into_inner().container.unwrap_or_default();
    let asked = below(MountsRequest {
        snapshotter: container.snapshotter,
        key: container.snapshot_key,
    });
    let mounts = SnapshotsClient::new(client.channel()).mounts(asked).await;
    let mounts = mounts.map_err(failed)?.into_inner().mounts;
    let options = mounts.iter().flat_map(|mount| &mount.options);
    Ok(options
        .filter_map(|option| option.strip_prefix("lowerdir="))
        .flat_map(|lower| lower.split(':'))
        .map(str::to_owned)
        .collect())
}
