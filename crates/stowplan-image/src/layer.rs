//! One layer of an image onto the files of those below it (OCI image-spec 1.1,
//! <https://github.com/opencontainers/image-spec/blob/v1.1.0/layer.md>).

use std::collections::HashSet;
use std::fs;
use std::io::{self, BufRead, BufReader, Error, ErrorKind, Read};
use std::path::{Component, Path, PathBuf};

use tar::{Archive, Entry, EntryType};

/// A name that begins so says that the layers below have no such file any more.
const GONE: &str = ".wh.";
/// A file of this name says that its folder has nothing of the layers below any more.
const ALL_GONE: &str = ".wh..wh..opq";

/// The tar archive in a layer, whatever it is compressed with.
pub(crate) fn decompressed<'a>(layer: impl Read + 'a) -> io::Result<Box<dyn Read + 'a>> {
    let mut layer = BufReader::with_capacity(1 << 16, layer);
    let begin = layer.fill_buf()?;
    Ok(if begin.starts_with(&[0x1F, 0x8B]) {
        Box::new(flate2::bufread::MultiGzDecoder::new(layer))
    } else if begin.starts_with(&[0x28, 0xB5, 0x2F, 0xFD]) {
        Box::new(zstd::Decoder::with_buffer(layer)?)
    } else {
        Box::new(layer)
    })
}

/// Applies a layer to the files in `root`. Devices are left out: a container has a `/dev` of its own.
///
/// Owners are kept where this is root.
pub(crate) fn apply(layer: impl Read, root: &Path) -> io::Result<()> {
    let root = root.canonicalize()?;
    let mut archive = Archive::new(layer);
    archive.set_preserve_permissions(true);
    archive.set_preserve_ownerships(is_root());
    archive.set_unpack_xattrs(is_root());
    archive.set_overwrite(true);
    // What this layer itself brings stays when it says that something is gone.
    let mut own = HashSet::new();
    for entry in archive.entries()? {
        let mut entry = entry?;
        let name = entry.path()?.into_owned();
        let name = plain(&name)?;
        let Some(last) = name
            .file_name()
            .map(|last| last.to_string_lossy().into_owned())
        else {
            continue;
        };
        let path = inside(&root, &name)?;
        if last == ALL_GONE {
            let folder = path.parent().unwrap_or(&root);
            for below in fs::read_dir(folder).into_iter().flatten() {
                remove_unless(&below?.path(), &own)?;
            }
        } else if let Some(gone) = last.strip_prefix(GONE) {
            remove_unless(&path.with_file_name(gone), &own)?;
        } else if put(&mut entry, &path, &root)? {
            own.insert(path);
        }
    }
    Ok(())
}

fn is_root() -> bool {
    use std::os::unix::fs::MetadataExt;
    fs::metadata("/proc/self").is_ok_and(|own| own.uid() == 0)
}

/// A path without `.`, as in `./etc`.
fn plain(name: &Path) -> io::Result<PathBuf> {
    name.components()
        .filter(|part| !matches!(part, Component::CurDir | Component::RootDir))
        .map(|part| match part {
            Component::Normal(part) => Ok(part),
            _ => Err(Error::new(
                ErrorKind::InvalidData,
                format!("{} leads out of the image", name.display()),
            )),
        })
        .collect()
}

/// Where `name` is below `root`, with links on the way to it followed.
fn inside(root: &Path, name: &Path) -> io::Result<PathBuf> {
    let mut path = root.to_owned();
    let last = name.components().count().saturating_sub(1);
    for (at, part) in name.components().enumerate() {
        path.push(part);
        let is_link = fs::symlink_metadata(&path).is_ok_and(|found| found.is_symlink());
        if at < last && is_link {
            path = path.canonicalize()?;
            if !path.starts_with(root) {
                let why = format!("{} leads out of the image over a link", name.display());
                return Err(Error::new(ErrorKind::InvalidData, why));
            }
        }
    }
    Ok(path)
}

/// Puts what an entry has in its place, in place of what is there. Whether it was put.
fn put(entry: &mut Entry<'_, impl Read>, path: &Path, root: &Path) -> io::Result<bool> {
    let kind = entry.header().entry_type();
    if matches!(kind, EntryType::Char | EntryType::Block | EntryType::Fifo) {
        return Ok(false);
    }
    if let Ok(found) = fs::symlink_metadata(path) {
        if kind == EntryType::Directory && found.is_dir() {
            // Its owner and mode may be others now.
        } else if found.is_dir() {
            fs::remove_dir_all(path)?;
        } else {
            fs::remove_file(path)?;
        }
    }
    entry.unpack_in(root)
}

/// Removes what is at `path`, but nothing of these.
fn remove_unless(path: &Path, own: &HashSet<PathBuf>) -> io::Result<()> {
    let Ok(found) = fs::symlink_metadata(path) else {
        return Ok(());
    };
    if !found.is_dir() {
        return if own.contains(path) {
            Ok(())
        } else {
            fs::remove_file(path)
        };
    }
    if own.iter().any(|own| own.starts_with(path)) {
        for below in fs::read_dir(path)? {
            remove_unless(&below?.path(), own)?;
        }
        return Ok(());
    }
    fs::remove_dir_all(path)
}

#[cfg(test)]
mod tests {
    use tar::{Builder, Header};

    use super::*;

    /// A layer of files, folders (a name that ends with `/`) and links (`name -> to`).
    fn layer(entries: &[(&str, &str)]) -> Vec<u8> {
        let mut builder = Builder::new(Vec::new());
        for (name, text) in entries {
            let mut header = Header::new_gnu();
            header.set_mode(0o755);
            header.set_uid(u64::from(own().0));
            header.set_gid(u64::from(own().1));
            header.set_size(0);
            if let Some((name, to)) = name.split_once(" -> ") {
                header.set_entry_type(EntryType::Symlink);
                builder.append_link(&mut header, name, to).unwrap();
            } else if name.ends_with('/') {
                header.set_entry_type(EntryType::Directory);
                builder.append_data(&mut header, name, io::empty()).unwrap();
            } else {
                header.set_size(text.len() as u64);
                builder
                    .append_data(&mut header, name, text.as_bytes())
                    .unwrap();
            }
        }
        builder.into_inner().unwrap()
    }

    fn own() -> (u32, u32) {
        use std::os::unix::fs::MetadataExt;
        let own = fs::metadata("/proc/self").unwrap();
        (own.uid(), own.gid())
    }

    fn applied(layers: &[&[(&str, &str)]]) -> io::Result<tempfile::TempDir> {
        let root = tempfile::tempdir().unwrap();
        for entries in layers {
            apply(layer(entries).as_slice(), root.path())?;
        }
        Ok(root)
    }

    #[test]
    fn upper_layers_replace_and_remove_what_lower_ones_have() {
        let root = applied(&[
            &[
                ("etc/", ""),
                ("etc/a", "1"),
                ("etc/b", "1"),
                ("opt/x/", ""),
                ("opt/x/old", "1"),
                ("tree/deep/file", "1"),
                ("now-a-folder", "1"),
            ],
            &[
                ("./etc/a", "2"),
                ("etc/.wh.b", ""),
                ("opt/x/new", "2"),
                ("opt/x/.wh..wh..opq", ""),
                ("tree", "2"),
                ("now-a-folder/", ""),
                ("now-a-folder/in", "2"),
            ],
        ])
        .unwrap();
        let read = |name: &str| fs::read_to_string(root.path().join(name)).ok();
        assert_eq!(read("etc/a").as_deref(), Some("2"));
        assert_eq!(read("etc/b"), None);
        assert_eq!(read("opt/x/new").as_deref(), Some("2"));
        assert_eq!(read("opt/x/old"), None);
        assert_eq!(read("tree").as_deref(), Some("2"));
        assert_eq!(read("now-a-folder/in").as_deref(), Some("2"));
        assert!(!root.path().join("etc/.wh.b").exists());
    }

    #[test]
    fn links_inside_are_followed_and_none_leads_out() {
        let root = applied(&[
            &[
                ("usr/lib/", ""),
                ("lib -> usr/lib", ""),
                ("usr/lib/old", "1"),
            ],
            &[("lib/new", "2"), ("lib/.wh.old", "")],
        ])
        .unwrap();
        let new = fs::read_to_string(root.path().join("usr/lib/new")).unwrap();
        assert_eq!(new, "2");
        assert!(!root.path().join("usr/lib/old").exists());
        let outside = tempfile::tempdir().unwrap();
        fs::write(outside.path().join("victim"), "").unwrap();
        let link = format!("way -> {}", outside.path().display());
        for name in ["way/new", "way/.wh.victim", "way/.wh..wh..opq"] {
            let error = applied(&[&[(link.as_str(), "")], &[(name, "")]]).unwrap_err();
            assert!(error.to_string().contains("leads out"), "{error}");
        }
        let left: Vec<_> = fs::read_dir(outside.path()).unwrap().collect();
        assert_eq!(left.len(), 1, "{left:?}");
    }

    #[test]
    fn every_compression_is_recognised() {
        let plain = layer(&[("a", "1")]);
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        io::Write::write_all(&mut gzip, &plain).unwrap();
        let zstd = zstd::encode_all(plain.as_slice(), 1).unwrap();
        for bytes in [plain.clone(), gzip.finish().unwrap(), zstd] {
            let mut back = Vec::new();
            let mut reader = decompressed(bytes.as_slice()).unwrap();
            reader.read_to_end(&mut back).unwrap();
            assert_eq!(back, plain);
        }
    }
}
