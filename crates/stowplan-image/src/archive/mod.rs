//! Folders as an image archive, as `docker save` writes it and `docker load` and `podman load` read it
//! (<https://github.com/moby/moby/blob/v24.0.0/image/spec/v1.2.md>, "Combined Image JSON + Filesystem Changeset Format").

mod blobs;
mod layer;
mod unified;

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use tar::{EntryType, Header};

pub use blobs::{Blob, Settings, blobs};
use layer::{Layer, Measured, Size};
pub use unified::write_unified_archive;

/// Size of the blocks of a tar archive in bytes.
const BLOCK: u64 = 512;

/// What becomes an image.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Contents {
    /// A folder that [`crate::build`] made: the program with its mount points is one layer, the start-up files are
    /// another, so that images of the same program share the first.
    Image(PathBuf),
    /// A whole root file system, in one layer.
    Root(PathBuf),
    /// One static program and the mount points that it needs.
    Program {
        /// Where it is here.
        from: PathBuf,
        /// Its name in the root folder of the image.
        name: String,
    },
}

impl Contents {
    fn layers(&self) -> Vec<Layer> {
        match self {
            Self::Image(dir) => vec![Layer::image_without_files(dir), Layer::files_of_image(dir)],
            Self::Root(dir) => vec![Layer::root(dir)],
            Self::Program { from, name } => vec![Layer::program(from, name)],
        }
    }

    /// A name that changes when a file in it does: from names, sizes, owners and times, not from what is in the files.
    ///
    /// # Errors
    /// When a folder cannot be read.
    pub fn fingerprint(&self) -> io::Result<String> {
        let mut hash = Sha256::new();
        for layer in self.layers() {
            layer.fingerprint(&mut hash)?;
        }
        Ok(hex::encode(hash.finalize()))
    }
}

/// Writes `contents` as an archive with one image, tagged `tag`.
///
/// Sockets and extended attributes are left out.
///
/// # Errors
/// When a file cannot be read, changes meanwhile, or `out` fails.
pub fn write_archive(
    contents: &Contents,
    tag: &str,
    settings: &Settings,
    out: &mut dyn Write,
) -> io::Result<()> {
    let layers = contents.layers();
    let mut names = Vec::new();
    let mut ids = Vec::new();
    for layer in &layers {
        let measured = layer.measure()?;
        let name = format!("{}/layer.tar", measured.sha256);
        header(&name, measured.bytes)?.write(out)?;
        write_measured(layer, &measured, out)?;
        pad(measured.bytes, out)?;
        ids.push(format!("sha256:{}", measured.sha256));
        names.push(name);
    }
    let config = config(&ids, settings).to_string();
    let config_name = format!("{}.json", hex::encode(Sha256::digest(&config)));
    let manifest = json!([{"Config": config_name, "RepoTags": [tag], "Layers": names}]).to_string();
    for (name, text) in [(config_name.as_str(), config), ("manifest.json", manifest)] {
        let bytes = text.len() as u64;
        header(name, bytes)?.write(out)?;
        out.write_all(text.as_bytes())?;
        pad(bytes, out)?;
    }
    // A tar archive ends with two blocks of zeros.
    out.write_all(&[0; 2 * BLOCK as usize])
}

/// Writes a layer that has to be what was measured before.
fn write_measured(layer: &Layer, measured: &Size, out: &mut dyn Write) -> io::Result<()> {
    let mut written = Measured::around(&mut *out);
    layer.write(&mut written)?;
    if written.finish() == *measured {
        return Ok(());
    }
    Err(io::Error::other(format!(
        "files of {} changed while they were read",
        layer.path().display()
    )))
}

/// The image's configuration: where it runs, its settings and its layers.
fn config(ids: &[String], settings: &Settings) -> Value {
    json!({
        "architecture": architecture(),
        "os": "linux",
        "config": {"Entrypoint": settings.entrypoint, "Labels": settings.labels},
        "rootfs": {"type": "layers", "diff_ids": ids},
        "history": ids.iter().map(|_| json!({"created_by": "stowplan"})).collect::<Vec<_>>(),
    })
}

/// As images name it.
pub(crate) fn architecture() -> &'static str {
    match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    }
}

/// Bytes of a header block.
struct Block(Header);

impl Block {
    fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        out.write_all(self.0.as_bytes())
    }
}

fn header(name: &str, bytes: u64) -> io::Result<Block> {
    let mut header = Header::new_ustar();
    header.set_path(name)?;
    header.set_entry_type(EntryType::Regular);
    header.set_mode(0o644);
    header.set_size(bytes);
    header.set_mtime(0);
    header.set_cksum();
    Ok(Block(header))
}

fn pad(bytes: u64, out: &mut dyn Write) -> io::Result<()> {
    let rest = (BLOCK - bytes % BLOCK) % BLOCK;
    out.write_all(&[0; BLOCK as usize][..usize::try_from(rest).unwrap_or(0)])
}

/// Whether `path` is below one of `folders`, or is one.
fn is_below(path: &Path, folders: &[&str]) -> bool {
    folders.iter().any(|folder| path.starts_with(folder))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::fs;
    use std::io::Read;

    use super::*;
    use crate::PROGRAM_NAME;

    /// The files of an archive by name.
    pub(super) fn files(archive: &[u8]) -> BTreeMap<String, Vec<u8>> {
        let mut archive = tar::Archive::new(archive);
        let entries = archive.entries().unwrap();
        entries
            .map(|entry| {
                let mut entry = entry.unwrap();
                let name = entry.path().unwrap().display().to_string();
                let mut bytes = Vec::new();
                entry.read_to_end(&mut bytes).unwrap();
                (name, bytes)
            })
            .collect()
    }

    fn archive(contents: &Contents) -> BTreeMap<String, Vec<u8>> {
        let mut out = Vec::new();
        write_archive(contents, "localhost/t:1", &Settings::default(), &mut out).unwrap();
        assert_eq!(out.len() as u64 % BLOCK, 0);
        files(&out)
    }

    pub(super) fn image(folder: &Path, file: &str) -> Contents {
        let dir = folder.join("image");
        fs::create_dir_all(dir.join("files/a")).unwrap();
        fs::create_dir_all(dir.join("proc")).unwrap();
        fs::write(dir.join(PROGRAM_NAME), "program").unwrap();
        fs::write(dir.join("files/a/lib.so"), file).unwrap();
        Contents::Image(dir)
    }

    #[test]
    fn an_archive_names_its_layers_by_what_is_in_them() {
        let folder = tempfile::tempdir().unwrap();
        let found = archive(&image(folder.path(), "x"));
        let manifest: Value = serde_json::from_slice(&found["manifest.json"]).unwrap();
        assert_eq!(manifest[0]["RepoTags"], json!(["localhost/t:1"]));
        let config: Value =
            serde_json::from_slice(&found[manifest[0]["Config"].as_str().unwrap()]).unwrap();
        let layers = manifest[0]["Layers"].as_array().unwrap();
        assert_eq!(layers.len(), 2);
        for (layer, id) in layers
            .iter()
            .zip(config["rootfs"]["diff_ids"].as_array().unwrap())
        {
            let bytes = &found[layer.as_str().unwrap()];
            let digest = format!("sha256:{}", hex::encode(Sha256::digest(bytes)));
            assert_eq!(id.as_str().unwrap(), digest);
        }
        let of = |index: usize| files(&found[layers[index].as_str().unwrap()]);
        assert_eq!(of(0)["stowplan-node"], b"program");
        assert!(of(0).contains_key("proc") && !of(0).contains_key("files/a/lib.so"));
        assert_eq!(of(1)["files/a/lib.so"], b"x");
    }

    #[test]
    fn images_of_one_program_share_its_layer() {
        let (one, two) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let layers = |contents: &Contents| {
            let manifest: Value =
                serde_json::from_slice(&archive(contents)["manifest.json"]).unwrap();
            manifest[0]["Layers"].clone()
        };
        let (one, two) = (image(one.path(), "x"), image(two.path(), "y"));
        assert_eq!(layers(&one)[0], layers(&two)[0]);
        assert_ne!(layers(&one)[1], layers(&two)[1]);
        assert_ne!(one.fingerprint().unwrap(), two.fingerprint().unwrap());
    }

    #[test]
    fn a_root_keeps_links_modes_and_times() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        fs::write(root.join("file"), "text").unwrap();
        fs::hard_link(root.join("file"), root.join("same")).unwrap();
        std::os::unix::fs::symlink("file", root.join("to")).unwrap();
        let _socket = std::os::unix::net::UnixListener::bind(root.join("socket")).unwrap();
        let contents = Contents::Root(root.to_owned());
        let found = archive(&contents);
        let layer = found.iter().find(|(name, _)| name.ends_with("layer.tar"));
        let mut layer = tar::Archive::new(&layer.unwrap().1[..]);
        let kinds: BTreeMap<String, (EntryType, Option<String>)> = layer
            .entries()
            .unwrap()
            .map(|entry| {
                let entry = entry.unwrap();
                let link = entry.link_name().unwrap().map(|l| l.display().to_string());
                let name = entry.path().unwrap().display().to_string();
                (name, (entry.header().entry_type(), link))
            })
            .collect();
        let expected = [
            ("file", (EntryType::Regular, None)),
            ("same", (EntryType::Link, Some("file".to_owned()))),
            ("to", (EntryType::Symlink, Some("file".to_owned()))),
        ];
        assert_eq!(
            kinds,
            expected
                .map(|(name, kind)| (name.to_owned(), kind))
                .into_iter()
                .collect()
        );
        let before = contents.fingerprint().unwrap();
        fs::write(root.join("file"), "longer text").unwrap();
        assert_ne!(contents.fingerprint().unwrap(), before);
    }
}
