//! OCI images on disk: the image layout as a folder or a tar archive of one (OCI image-spec 1.1,
//! <https://github.com/opencontainers/image-spec/blob/v1.1.0/image-layout.md>).

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use oci_spec::image::{
    Config, Descriptor, DigestAlgorithm, ImageConfiguration, ImageIndex, ImageManifest, Os,
    Platform,
};
use serde::de::DeserializeOwned;
use sha2::{Digest, Sha256};

use crate::ImageError;
use crate::archive::architecture;

/// Longest document that is read: manifests and configurations have some kilobytes.
const DOCUMENT_BYTES: u64 = 4 << 20;

/// Annotation of an index entry with the image's tag.
const TAG: &str = "org.opencontainers.image.ref.name";

/// What a program that runs from an image has by default.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RootConfig {
    /// Program and arguments.
    pub command: Vec<String>,
    /// Environment variables.
    pub env: Vec<(String, String)>,
    /// `USER[:GROUP]`.
    pub user: Option<String>,
    /// Folder that it starts in.
    pub working_dir: Option<String>,
}

/// An image: where its parts are, and what its configuration says.
pub(crate) struct OciImage {
    layout: Layout,
    /// SHA-256 of the manifest in hex: that of everything, since the manifest names all parts by their digests.
    pub digest: String,
    /// Layers from the lowest to the uppermost.
    pub layers: Vec<Descriptor>,
    pub config: RootConfig,
}

impl OciImage {
    /// Reads the image that `source` names: a path, or a path and a tag, as `PATH:TAG`.
    pub(crate) fn open(source: &str) -> Result<Self, ImageError> {
        let (path, tag) = match source.rsplit_once(':') {
            Some((path, tag)) if !Path::new(source).exists() => (path, Some(tag)),
            _ => (source, None),
        };
        let layout = Layout::open(Path::new(path))?;
        let bad = |reason: String| ImageError::Layout {
            path: path.into(),
            reason,
        };
        let index = layout.document("index.json")?;
        let index: ImageIndex = parse("index.json", &index).map_err(bad)?;
        let mut manifests = index.manifests().clone();
        // An index may lead to another, for platforms.
        let (digest, manifest) = loop {
            let chosen = choose(&manifests, tag).map_err(bad)?.clone();
            let document = layout.blob(&chosen)?;
            // Docker's list of manifests is an index by another name.
            let kind = chosen.media_type().to_string();
            if !kind.contains("index") && !kind.contains("list") {
                break (chosen, document);
            }
            let name = chosen.digest().to_string();
            let inner: ImageIndex = parse(&name, &document).map_err(bad)?;
            // What it names stands in the manifest's place, and has no tag.
            let here = |d: &&Descriptor| d.platform().as_ref().is_some_and(is_here);
            let inner = inner.manifests().iter().filter(here).cloned();
            manifests = inner.map(|one| with_annotations(one, &chosen)).collect();
        };
        let name = digest.digest().to_string();
        let manifest: ImageManifest = parse(&name, &manifest).map_err(bad)?;
        let config = layout.blob(manifest.config())?;
        let config: ImageConfiguration = parse("its configuration", &config).map_err(bad)?;
        Ok(Self {
            layout,
            digest: hash_of(&digest).map_err(bad)?.to_owned(),
            layers: manifest.layers().clone(),
            config: config
                .config()
                .as_ref()
                .map(RootConfig::from)
                .unwrap_or_default(),
        })
    }

    /// The bytes of a layer as they are stored.
    pub(crate) fn layer(&self, layer: &Descriptor) -> Result<impl Read + use<>, ImageError> {
        self.layout.open_blob(layer)
    }

    /// An error about a layer.
    pub(crate) fn bad_layer(&self, layer: &Descriptor, source: io::Error) -> ImageError {
        ImageError::Layer {
            path: self.layout.path.clone(),
            layer: layer.digest().to_string(),
            source,
        }
    }
}

impl From<&Config> for RootConfig {
    fn from(config: &Config) -> Self {
        let some = |text: &Option<String>| text.clone().filter(|text| !text.is_empty());
        let env = config.env().iter().flatten();
        let command = config.entrypoint().iter().chain(config.cmd());
        Self {
            command: command.flatten().cloned().collect(),
            env: env
                .filter_map(|variable| variable.split_once('='))
                .map(|(name, value)| (name.to_owned(), value.to_owned()))
                .collect(),
            user: some(config.user()),
            working_dir: some(config.working_dir()),
        }
    }
}

fn parse<T: DeserializeOwned>(what: &str, document: &[u8]) -> Result<T, String> {
    serde_json::from_slice(document).map_err(|e| format!("{what}: {e}"))
}

/// Whether a platform is that of this program.
fn is_here(platform: &Platform) -> bool {
    platform.os() == &Os::Linux && platform.architecture().to_string() == architecture()
}

/// One of an inner index, with the annotations of what names that index.
fn with_annotations(mut inner: Descriptor, outer: &Descriptor) -> Descriptor {
    let mut annotations = inner.annotations().clone().unwrap_or_default();
    annotations.extend(outer.annotations().clone().unwrap_or_default());
    inner.set_annotations(Some(annotations));
    inner
}

/// The one image of an index that is meant.
fn choose<'a>(manifests: &'a [Descriptor], tag: Option<&str>) -> Result<&'a Descriptor, String> {
    let tag_of = |d: &Descriptor| d.annotations().as_ref()?.get(TAG).cloned();
    let here = |d: &&Descriptor| {
        d.platform().as_ref().is_none_or(is_here)
            && tag.is_none_or(|tag| tag_of(d).as_deref() == Some(tag))
    };
    let mut found = manifests.iter().filter(here);
    match (found.next(), found.next()) {
        (Some(one), None) => Ok(one),
        (None, _) => Err(match tag {
            Some(tag) => format!("it has no image '{tag}' for this machine"),
            None => "it has no image for this machine".to_owned(),
        }),
        (Some(_), Some(_)) => {
            let tags: Vec<String> = manifests.iter().filter_map(tag_of).collect();
            Err(format!(
                "it has several images; add one of their tags as ':TAG': {}",
                tags.join(", ")
            ))
        }
    }
}

/// The hexadecimal digits of a SHA-256 digest.
fn hash_of(part: &Descriptor) -> Result<&str, String> {
    match part.digest().algorithm() {
        DigestAlgorithm::Sha256 => Ok(part.digest().digest()),
        _ => Err(format!("'{}' is no SHA-256 digest", part.digest())),
    }
}

/// Files of an image layout.
struct Layout {
    path: PathBuf,
    /// Position and length of each file, in an archive.
    archive: Option<BTreeMap<PathBuf, (u64, u64)>>,
}

impl Layout {
    fn open(path: &Path) -> Result<Self, ImageError> {
        let metadata = std::fs::metadata(path).map_err(ImageError::io("read", path))?;
        let archive = if metadata.is_dir() {
            None
        } else {
            Some(contents(path).map_err(ImageError::io("read the archive", path))?)
        };
        Ok(Self {
            path: path.into(),
            archive,
        })
    }

    fn file(&self, name: &str) -> Result<impl Read + use<>, ImageError> {
        let failed = |e| ImageError::io("read", &self.path.join(name))(e);
        let (file, length) = match &self.archive {
            None => (File::open(self.path.join(name)).map_err(failed)?, u64::MAX),
            Some(contents) => {
                let found = contents.get(Path::new(name));
                let (begin, length) =
                    *found.ok_or_else(|| failed(io::ErrorKind::NotFound.into()))?;
                let mut file = File::open(&self.path).map_err(failed)?;
                file.seek(SeekFrom::Start(begin)).map_err(failed)?;
                (file, length)
            }
        };
        Ok(file.take(length))
    }

    fn document(&self, name: &str) -> Result<Vec<u8>, ImageError> {
        let mut bytes = Vec::new();
        self.file(name)?
            .take(DOCUMENT_BYTES)
            .read_to_end(&mut bytes)
            .map_err(ImageError::io("read", &self.path.join(name)))?;
        Ok(bytes)
    }

    fn blob_name(&self, part: &Descriptor) -> Result<String, ImageError> {
        let hash = hash_of(part).map_err(|reason| ImageError::Layout {
            path: self.path.clone(),
            reason,
        })?;
        Ok(format!("blobs/sha256/{hash}"))
    }

    fn open_blob(&self, part: &Descriptor) -> Result<impl Read + use<>, ImageError> {
        self.file(&self.blob_name(part)?)
    }

    /// A document that is what its digest says.
    fn blob(&self, part: &Descriptor) -> Result<Vec<u8>, ImageError> {
        let bytes = self.document(&self.blob_name(part)?)?;
        let digest = part.digest().to_string();
        let found = format!("sha256:{}", hex::encode(Sha256::digest(&bytes)));
        if found == digest {
            return Ok(bytes);
        }
        Err(ImageError::Layout {
            path: self.path.clone(),
            reason: format!("what it calls {digest} is {found}"),
        })
    }
}

/// Where the files of an archive are in it.
fn contents(path: &Path) -> io::Result<BTreeMap<PathBuf, (u64, u64)>> {
    let mut archive = tar::Archive::new(File::open(path)?);
    let mut contents = BTreeMap::new();
    for entry in archive.entries_with_seek()? {
        let entry = entry?;
        let name = entry.path()?;
        let name = name.strip_prefix("./").unwrap_or(&name).to_owned();
        contents.insert(name, (entry.raw_file_position(), entry.size()));
    }
    Ok(contents)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn manifests(entries: &[(char, &str, Option<&str>)]) -> Vec<Descriptor> {
        let manifests = entries.iter().map(|(hash, tag, architecture)| {
            let platform = architecture.map(|name| json!({"architecture": name, "os": "linux"}));
            let descriptor = json!({
                "mediaType": "application/vnd.oci.image.manifest.v1+json", "size": 1,
                "digest": format!("sha256:{}", hash.to_string().repeat(64)),
                "platform": platform, "annotations": {TAG: tag},
            });
            serde_json::from_value(descriptor).unwrap()
        });
        manifests.collect()
    }

    #[test]
    fn the_image_of_an_index_is_that_of_the_tag_and_this_machine() {
        let two = manifests(&[
            ('a', "one", None),
            ('b', "two", None),
            ('c', "two", Some("vax")),
        ]);
        let chosen = |tag| choose(&two, tag).map(|d| &d.digest().digest()[..1]);
        assert_eq!(chosen(Some("two")), Ok("b"));
        assert!(chosen(None).unwrap_err().contains("one, two"));
        assert!(chosen(Some("three")).unwrap_err().contains("'three'"));
        assert_eq!(choose(&two[..1], None).unwrap(), &two[0]);
    }

    #[test]
    fn a_digest_that_would_leave_the_layout_is_refused() {
        let of = |digest: &str| {
            let part = json!({"mediaType": "a/b", "size": 1, "digest": digest});
            let part: Descriptor = serde_json::from_value(part).map_err(|e| e.to_string())?;
            hash_of(&part).map(str::to_owned)
        };
        assert!(of(&format!("sha256:{}", "0".repeat(64))).is_ok());
        let longer = format!("sha512:{}", "0".repeat(128));
        for digest in [
            "sha256:../../etc/passwd",
            "sha512:00",
            &longer,
            "sha256:",
            "",
        ] {
            assert!(of(digest).is_err(), "{digest}");
        }
    }
}
