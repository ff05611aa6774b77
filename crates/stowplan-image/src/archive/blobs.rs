//! Folders as the blobs of an OCI image (OCI image-spec 1.1), for daemons that keep blobs by their digests.

use std::collections::BTreeMap;
use std::io::{self, Write};

use serde_json::json;
use sha2::{Digest, Sha256};

use super::layer::{Layer, Size};
use super::{Contents, config, write_measured};

/// Media type of a layer.
const LAYER: &str = "application/vnd.oci.image.layer.v1.tar";
/// Media type of a configuration.
const CONFIG: &str = "application/vnd.oci.image.config.v1+json";
/// Media type of a manifest.
const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";

/// What an image says of itself beside its files.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Settings {
    /// Program and arguments of a container that says none.
    pub entrypoint: Vec<String>,
    /// Labels.
    pub labels: BTreeMap<String, String>,
}

/// A part of an image.
#[derive(Debug)]
pub struct Blob {
    /// Media type.
    pub media_type: &'static str,
    /// SHA-256 in hex, after `sha256:`.
    pub digest: String,
    /// Size in bytes.
    pub bytes: u64,
    source: Source,
}

#[derive(Debug)]
enum Source {
    Layer(Layer, Size),
    Text(String),
}

impl Blob {
    /// Writes it.
    ///
    /// # Errors
    /// When a file cannot be read, has changed since, or `out` fails.
    pub fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        match &self.source {
            Source::Text(text) => out.write_all(text.as_bytes()),
            Source::Layer(layer, measured) => write_measured(layer, measured, out),
        }
    }

    fn text(media_type: &'static str, text: String) -> Self {
        Self {
            media_type,
            digest: format!("sha256:{}", hex::encode(Sha256::digest(&text))),
            bytes: text.len() as u64,
            source: Source::Text(text),
        }
    }

    fn descriptor(&self) -> serde_json::Value {
        json!({"mediaType": self.media_type, "digest": self.digest, "size": self.bytes})
    }
}

/// The blobs of an image with these contents: its layers, its configuration, and last the manifest, which names them.
///
/// # Errors
/// When a file cannot be read.
pub fn blobs(contents: &Contents, settings: &Settings) -> io::Result<Vec<Blob>> {
    let mut blobs = Vec::new();
    for layer in contents.layers() {
        let measured = layer.measure()?;
        blobs.push(Blob {
            media_type: LAYER,
            digest: format!("sha256:{}", measured.sha256),
            bytes: measured.bytes,
            source: Source::Layer(layer, measured),
        });
    }
    let ids: Vec<String> = blobs.iter().map(|blob| blob.digest.clone()).collect();
    let config = Blob::text(CONFIG, config(&ids, settings).to_string());
    let layers: Vec<_> = blobs.iter().map(Blob::descriptor).collect();
    let manifest = json!({
        "schemaVersion": 2,
        "mediaType": MANIFEST,
        "config": config.descriptor(),
        "layers": layers,
    });
    blobs.extend([config, Blob::text(MANIFEST, manifest.to_string())]);
    Ok(blobs)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn every_blob_is_what_the_manifest_says() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("program"), "text").unwrap();
        let contents = Contents::Program {
            from: folder.path().join("program"),
            name: "agent".to_owned(),
        };
        let settings = Settings {
            entrypoint: vec!["/agent".to_owned()],
            labels: BTreeMap::from([("a".to_owned(), "b".to_owned())]),
        };
        let blobs = blobs(&contents, &settings).unwrap();
        let written: Vec<Vec<u8>> = blobs
            .iter()
            .map(|blob| {
                let mut bytes = Vec::new();
                blob.write(&mut bytes).unwrap();
                assert_eq!(
                    blob.digest,
                    format!("sha256:{}", hex::encode(Sha256::digest(&bytes)))
                );
                assert_eq!(blob.bytes, bytes.len() as u64);
                bytes
            })
            .collect();
        let json = |at: usize| serde_json::from_slice::<serde_json::Value>(&written[at]).unwrap();
        let manifest = json(2);
        assert_eq!(manifest["layers"][0]["digest"], blobs[0].digest);
        assert_eq!(manifest["config"]["digest"], blobs[1].digest);
        assert_eq!(json(1)["config"]["Entrypoint"], json!(["/agent"]));
        assert_eq!(json(1)["rootfs"]["diff_ids"], json!([blobs[0].digest]));
        fs::write(folder.path().join("program"), "other").unwrap();
        let changed = blobs[0].write(&mut Vec::new()).unwrap_err();
        assert!(changed.to_string().contains("changed"), "{changed}");
    }
}
