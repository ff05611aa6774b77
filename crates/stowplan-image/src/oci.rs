//! OCI images on disk: the image layout as a folder or a tar archive of one (OCI image-spec 1.1,
//! <https://github.com/opencontainers/image-spec/blob/v1.1.0/image-layout.md>).

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use serde::Deserialize;
use sha2::{Digest, Sha256};

use crate::ImageError;
use crate::archive::architecture;
use crate::spec::hex;

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

/// A part of an image.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Descriptor {
    #[serde(rename = "mediaType", default)]
    media_type: String,
    pub digest: String,
    platform: Option<Platform>,
    #[serde(default)]
    annotations: BTreeMap<String, String>,
}

#[derive(Debug, Clone, Deserialize)]
struct Platform {
    architecture: String,
    os: String,
}

#[derive(Deserialize)]
struct Index {
    manifests: Vec<Descriptor>,
}

#[derive(Deserialize)]
struct Manifest {
    config: Descriptor,
    layers: Vec<Descriptor>,
}

#[derive(Default, Deserialize)]
struct Config {
    config: Option<Process>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
struct Process {
    entrypoint: Option<Vec<String>>,
    cmd: Option<Vec<String>>,
    env: Option<Vec<String>>,
    user: Option<String>,
    working_dir: Option<String>,
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
        let parse = |what: &str, e: serde_json::Error| bad(format!("{what}: {e}"));
        let index = layout.document("index.json")?;
        let mut index: Index =
            serde_json::from_slice(&index).map_err(|e| parse("index.json", e))?;
        // An index may lead to another, for platforms.
        let (digest, manifest) = loop {
            let chosen = choose(&index, tag).map_err(bad)?.clone();
            let document = layout.blob(&chosen.digest)?;
            if !chosen.media_type.contains("index") && !chosen.media_type.contains("list") {
                break (chosen.digest, document);
            }
            let inner: Index =
                serde_json::from_slice(&document).map_err(|e| parse(&chosen.digest, e))?;
            // What it names stands in the manifest's place, and has no tag.
            let platform = |d: &Descriptor| d.platform.as_ref().is_some_and(Platform::is_here);
            index.manifests = inner.manifests.into_iter().filter(platform).collect();
            for descriptor in &mut index.manifests {
                descriptor.annotations.extend(chosen.annotations.clone());
            }
        };
        let manifest: Manifest =
            serde_json::from_slice(&manifest).map_err(|e| parse(&digest, e))?;
        let config = layout.blob(&manifest.config.digest)?;
        let config: Config =
            serde_json::from_slice(&config).map_err(|e| parse("its configuration", e))?;
        Ok(Self {
            layout,
            digest: hash_of(&digest).map_err(bad)?.to_owned(),
            layers: manifest.layers,
            config: RootConfig::from(config.config.unwrap_or_default()),
        })
    }

    /// The bytes of a layer as they are stored.
    pub(crate) fn layer(&self, layer: &Descriptor) -> Result<impl Read + use<>, ImageError> {
        self.layout.open_blob(&layer.digest)
    }

    /// An error about a layer.
    pub(crate) fn bad_layer(&self, layer: &Descriptor, source: io::Error) -> ImageError {
        ImageError::Layer {
            path: self.layout.path.clone(),
            layer: layer.digest.clone(),
            source,
        }
    }
}

impl From<Process> for RootConfig {
    fn from(process: Process) -> Self {
        let some = |text: Option<String>| text.filter(|text| !text.is_empty());
        let env = process.env.unwrap_or_default();
        Self {
            command: [process.entrypoint, process.cmd]
                .into_iter()
                .flatten()
                .flatten()
                .collect(),
            env: env
                .iter()
                .filter_map(|variable| variable.split_once('='))
                .map(|(name, value)| (name.to_owned(), value.to_owned()))
                .collect(),
            user: some(process.user),
            working_dir: some(process.working_dir),
        }
    }
}

impl Platform {
    /// Whether it is that of this program.
    fn is_here(&self) -> bool {
        self.os == "linux" && self.architecture == architecture()
    }
}

/// The one image of an index that is meant.
fn choose<'a>(index: &'a Index, tag: Option<&str>) -> Result<&'a Descriptor, String> {
    let tag_of = |d: &Descriptor| d.annotations.get(TAG).cloned();
    let here = |d: &&Descriptor| {
        d.platform.as_ref().is_none_or(Platform::is_here)
            && tag.is_none_or(|tag| tag_of(d).as_deref() == Some(tag))
    };
    let mut found = index.manifests.iter().filter(here);
    match (found.next(), found.next()) {
        (Some(one), None) => Ok(one),
        (None, _) => Err(match tag {
            Some(tag) => format!("it has no image '{tag}' for this machine"),
            None => "it has no image for this machine".to_owned(),
        }),
        (Some(_), Some(_)) => {
            let tags: Vec<String> = index.manifests.iter().filter_map(tag_of).collect();
            Err(format!(
                "it has several images; add one of their tags as ':TAG': {}",
                tags.join(", ")
            ))
        }
    }
}

/// The hexadecimal digits of a SHA-256 digest.
fn hash_of(digest: &str) -> Result<&str, String> {
    digest
        .strip_prefix("sha256:")
        .filter(|hash| hash.len() == 64 && hash.bytes().all(|b| b.is_ascii_hexdigit()))
        .ok_or_else(|| format!("'{digest}' is no SHA-256 digest"))
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

    fn blob_name(&self, digest: &str) -> Result<String, ImageError> {
        let hash = hash_of(digest).map_err(|reason| ImageError::Layout {
            path: self.path.clone(),
            reason,
        })?;
        Ok(format!("blobs/sha256/{hash}"))
    }

    fn open_blob(&self, digest: &str) -> Result<impl Read + use<>, ImageError> {
        self.file(&self.blob_name(digest)?)
    }

    /// A document that is what its digest says.
    fn blob(&self, digest: &str) -> Result<Vec<u8>, ImageError> {
        let bytes = self.document(&self.blob_name(digest)?)?;
        let found = format!("sha256:{}", hex(&Sha256::digest(&bytes)));
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
    use super::*;

    fn index(entries: &[(&str, &str, Option<&str>)]) -> Index {
        let manifests = entries
            .iter()
            .map(|(digest, tag, architecture)| Descriptor {
                media_type: String::new(),
                digest: (*digest).to_owned(),
                platform: architecture.map(|architecture| Platform {
                    architecture: architecture.to_owned(),
                    os: "linux".to_owned(),
                }),
                annotations: BTreeMap::from([(TAG.to_owned(), (*tag).to_owned())]),
            })
            .collect();
        Index { manifests }
    }

    #[test]
    fn the_image_of_an_index_is_that_of_the_tag_and_this_machine() {
        let two = index(&[
            ("a", "one", None),
            ("b", "two", None),
            ("c", "two", Some("vax")),
        ]);
        let chosen = |tag| choose(&two, tag).map(|d| d.digest.as_str());
        assert_eq!(chosen(Some("two")), Ok("b"));
        assert!(chosen(None).unwrap_err().contains("one, two"));
        assert!(chosen(Some("three")).unwrap_err().contains("'three'"));
        assert_eq!(
            choose(&index(&[("a", "", None)]), None).unwrap().digest,
            "a"
        );
    }

    #[test]
    fn a_digest_that_would_leave_the_layout_is_refused() {
        assert!(hash_of(&format!("sha256:{}", "0".repeat(64))).is_ok());
        for digest in ["sha256:../../etc/passwd", "sha512:00", "sha256:", ""] {
            assert!(hash_of(digest).is_err(), "{digest}");
        }
    }
}
