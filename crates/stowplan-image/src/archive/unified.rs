//! Folders as an image of LXD and Incus: one tar archive with `metadata.yaml` and `rootfs/` (LXD, `doc/image_format`,
//! "Unified tarball").

use std::io::{self, Write};
use std::path::Path;

use serde_json::json;
use tar::{Builder, Header};

use super::Contents;

/// Folder of the root file system in the archive.
const ROOT: &str = "rootfs";

/// Writes `contents` as an archive whose properties have `name` under `key`: without them, LXD's own name of an image,
/// which is the digest of its archive, would be that of everybody who makes one of the same files.
///
/// Sockets and extended attributes are left out.
///
/// # Errors
/// When a file cannot be read, changes meanwhile, or `out` fails.
pub fn write_unified_archive(
    contents: &Contents,
    key: &str,
    name: &str,
    out: &mut dyn Write,
) -> io::Result<()> {
    let before = contents.fingerprint()?;
    let mut tar = Builder::new(out);
    // Every JSON document is one of YAML.
    let metadata = json!({
        "architecture": std::env::consts::ARCH,
        // Images have to have one; the same bytes each time.
        "creation_date": 1,
        "properties": {key: name, "description": "stowplan"},
    });
    let text = metadata.to_string();
    let mut header = Header::new_gnu();
    header.set_mode(0o644);
    header.set_size(text.len() as u64);
    header.set_mtime(0);
    tar.append_data(&mut header, "metadata.yaml", text.as_bytes())?;
    for layer in contents.layers() {
        layer.append(Path::new(ROOT), &mut tar)?;
    }
    tar.into_inner()?;
    if contents.fingerprint()? == before {
        Ok(())
    } else {
        Err(io::Error::other(
            "the files of an image changed while they were read",
        ))
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use serde_json::Value;

    use super::*;
    use crate::archive::tests::{files, image};

    #[test]
    fn metadata_stand_before_the_root_with_all_layers() {
        let folder = tempfile::tempdir().unwrap();
        let contents = image(folder.path(), "x");
        let write = |name: &str| {
            let mut out = Vec::new();
            write_unified_archive(&contents, "stowplan.image", name, &mut out).unwrap();
            out
        };
        let archive = write("7-0");
        let mut entries = tar::Archive::new(&archive[..]);
        let first = entries.entries().unwrap().next().unwrap().unwrap();
        assert_eq!(first.path().unwrap(), Path::new("metadata.yaml"));
        let found = files(&archive);
        let metadata: Value = serde_json::from_slice(&found["metadata.yaml"]).unwrap();
        assert_eq!(metadata["properties"]["stowplan.image"], "7-0");
        assert_eq!(metadata["architecture"], std::env::consts::ARCH);
        assert_eq!(found["rootfs/stowplan-node"], b"program");
        assert_eq!(found["rootfs/files/a/lib.so"], b"x");
        assert_eq!(write("7-0"), archive);
        assert_ne!(write("7-1"), archive);
    }

    #[test]
    fn links_of_a_root_lead_into_the_root() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("file"), "text").unwrap();
        fs::hard_link(folder.path().join("file"), folder.path().join("same")).unwrap();
        let mut out = Vec::new();
        let contents = Contents::Root(folder.path().to_owned());
        write_unified_archive(&contents, "k", "n", &mut out).unwrap();
        let mut archive = tar::Archive::new(&out[..]);
        let links: Vec<_> = archive
            .entries()
            .unwrap()
            .filter_map(|entry| {
                let entry = entry.unwrap();
                let to = entry.link_name().unwrap()?.display().to_string();
                Some((entry.path().unwrap().display().to_string(), to))
            })
            .collect();
        assert_eq!(
            links,
            [("rootfs/same".to_owned(), "rootfs/file".to_owned())]
        );
    }
}
