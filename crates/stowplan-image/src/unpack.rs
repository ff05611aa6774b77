//! Root file systems of real programs, unpacked from OCI images once.

use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use crate::ImageError;
use crate::build::{lock, temporary};
use crate::layer;
use crate::oci::{OciImage, RootConfig};

/// A root file system that is whole and never changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Root {
    /// Its folder.
    pub dir: PathBuf,
    /// SHA-256 of the image's manifest, in hex.
    pub digest: String,
    /// What a program that runs from it has by default.
    pub config: RootConfig,
    /// Whether it existed before.
    pub reused: bool,
}

/// Unpacks the OCI image `source` into `store`, or finds it there by its digest.
///
/// `source` is a folder or an uncompressed tar archive in the OCI image layout, with `:TAG` at its end where it holds
/// several images. What a killed call leaves does not count and is removed by the next.
///
/// # Errors
/// When it is no image, has none for this machine, is not what its digests say, would write outside of its root, or
/// the store cannot be written.
pub fn unpack(source: &str, store: &Path) -> Result<Root, ImageError> {
    let image = OciImage::open(source)?;
    let dir = store.join("roots").join(&image.digest);
    let mut reused = dir.is_dir();
    if !reused {
        let _lock = lock(store)?;
        // Another call may have made it while this one waited.
        reused = dir.is_dir();
        if !reused {
            unpack_into(&image, &dir, &temporary(store)?)?;
        }
    }
    Ok(Root {
        dir,
        digest: image.digest,
        config: image.config,
        reused,
    })
}

fn unpack_into(image: &OciImage, dir: &Path, temporary: &Path) -> Result<(), ImageError> {
    let root = temporary.join("root");
    fs::create_dir(&root).map_err(ImageError::io("create", &root))?;
    for layer in &image.layers {
        let failed = |e| image.bad_layer(layer, e);
        let mut hashing = Hashing {
            from: image.layer(layer)?,
            hash: Sha256::new(),
        };
        {
            let mut archive = layer::decompressed(&mut hashing).map_err(failed)?;
            layer::apply(&mut archive, &root).map_err(failed)?;
            // What follows the archive's end counts for the digest, too.
            io::copy(&mut archive, &mut io::sink()).map_err(failed)?;
        }
        io::copy(&mut hashing, &mut io::sink()).map_err(failed)?;
        let found = format!("sha256:{}", hex::encode(hashing.hash.finalize()));
        if found != layer.digest().to_string() {
            let why = format!("what it calls so is {found}");
            return Err(failed(io::Error::new(io::ErrorKind::InvalidData, why)));
        }
    }
    if let Some(parent) = dir.parent() {
        fs::create_dir_all(parent).map_err(ImageError::io("create", parent))?;
    }
    fs::rename(&root, dir).map_err(ImageError::io("create", dir))?;
    let _ = fs::remove_dir_all(temporary);
    Ok(())
}

/// Digests what it reads.
struct Hashing<R> {
    from: R,
    hash: Sha256,
}

impl<R: Read> Read for Hashing<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.from.read(buffer)?;
        self.hash.update(&buffer[..count]);
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Writes an image layout with these layers.
    fn layout(folder: &Path, layers: &[Vec<u8>]) {
        let blobs = folder.join("blobs/sha256");
        fs::create_dir_all(&blobs).unwrap();
        let put = |kind: &str, bytes: &[u8]| {
            let hash = hex::encode(Sha256::digest(bytes));
            fs::write(blobs.join(&hash), bytes).unwrap();
            json!({
                "mediaType": format!("application/vnd.oci.image.{kind}"),
                "digest": format!("sha256:{hash}"), "size": bytes.len(),
            })
        };
        let layers: Vec<_> = layers
            .iter()
            .map(|layer| put("layer.v1.tar", layer))
            .collect();
        let config = json!({
            "architecture": crate::archive::architecture(), "os": "linux",
            "rootfs": {"type": "layers", "diff_ids": []},
            "config": {"Entrypoint": ["/bin/a"], "Cmd": ["b c"], "Env": ["X=1=2"], "User": "7:9", "WorkingDir": "/w"},
        });
        let config = put("config.v1+json", config.to_string().as_bytes());
        let manifest = json!({"schemaVersion": 2, "config": config, "layers": layers});
        let manifest = put("manifest.v1+json", manifest.to_string().as_bytes());
        let index = json!({"schemaVersion": 2, "manifests": [manifest]});
        fs::write(folder.join("index.json"), index.to_string()).unwrap();
    }

    fn layer(name: &str, text: &str) -> Vec<u8> {
        let mut builder = tar::Builder::new(Vec::new());
        let mut header = tar::Header::new_gnu();
        header.set_mode(0o644);
        header.set_uid(0);
        header.set_gid(0);
        header.set_size(text.len() as u64);
        builder
            .append_data(&mut header, name, text.as_bytes())
            .unwrap();
        builder.into_inner().unwrap()
    }

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        io::Write::write_all(&mut gzip, bytes).unwrap();
        gzip.finish().unwrap()
    }

    #[test]
    fn an_image_is_unpacked_once_from_a_folder_or_an_archive() {
        let folder = tempfile::tempdir().unwrap();
        let (image, store) = (folder.path().join("image"), folder.path().join("store"));
        layout(&image, &[layer("a", "1"), gzip(&layer("a", "2"))]);
        let source = image.display().to_string();
        let root = unpack(&source, &store).unwrap();
        assert_eq!(fs::read_to_string(root.dir.join("a")).unwrap(), "2");
        assert!(!root.reused && !store.join("building").exists());
        let expected = RootConfig {
            command: vec!["/bin/a".to_owned(), "b c".to_owned()],
            env: vec![("X".to_owned(), "1=2".to_owned())],
            user: Some("7:9".to_owned()),
            working_dir: Some("/w".to_owned()),
        };
        assert_eq!(root.config, expected);
        let archive = folder.path().join("image.tar");
        let mut builder = tar::Builder::new(fs::File::create(&archive).unwrap());
        builder.append_dir_all(".", &image).unwrap();
        builder.finish().unwrap();
        let again = unpack(&archive.display().to_string(), &store).unwrap();
        assert_eq!(
            again,
            Root {
                reused: true,
                ..root
            }
        );
    }

    #[test]
    fn what_is_not_what_its_digest_says_is_refused_and_leaves_no_root() {
        let folder = tempfile::tempdir().unwrap();
        let (image, store) = (folder.path().join("image"), folder.path().join("store"));
        let good = layer("a", "1");
        layout(&image, std::slice::from_ref(&good));
        let blob = image
            .join("blobs/sha256")
            .join(hex::encode(Sha256::digest(&good)));
        fs::write(blob, layer("a", "3")).unwrap();
        let error = unpack(&image.display().to_string(), &store).unwrap_err();
        assert!(error.to_string().contains("layer sha256:"), "{error}");
        let cause = std::error::Error::source(&error).unwrap().to_string();
        assert!(cause.contains("is sha256:"), "{cause}");
        assert!(!store.join("roots").exists());
    }

    #[test]
    fn what_is_no_image_is_an_error_that_names_it_and_says_what_would_be() {
        let folder = tempfile::tempdir().unwrap();
        let none = folder.path().display().to_string();
        let error = unpack(&none, folder.path()).unwrap_err();
        assert!(error.to_string().contains("index.json"), "{error}");
        fs::write(folder.path().join("index.json"), "{").unwrap();
        let error = unpack(&none, folder.path()).unwrap_err();
        assert!(error.to_string().contains("index.json"), "{error}");
        assert!(error.hint().unwrap().contains("OCI image layout"));
    }
}
