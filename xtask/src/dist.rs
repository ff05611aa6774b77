//! What users install: an archive and a Debian package of the stripped programs, stacks, man pages, completions and licences.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde::Deserialize;

use crate::node;

/// Level of zstd(1): half a minute for a tenth less than at the default.
const LEVEL: i32 = 19;

type Done<T> = Result<T, String>;

/// Builds everything for users into `target/dist`, and prints what was made with its size.
pub(crate) fn make(deb: bool) -> Done<()> {
    let root = crate::root()?;
    let built = node::build_static(root)?;
    cargo(root, &["build", "--release", "--package", "stowplan"])?;
    let name = format!("stowplan-{}-x86_64", env!("CARGO_PKG_VERSION"));
    let dist = root.join("target/dist");
    // Without the version, for the list of files of the Debian package.
    let tree = dist.join("stowplan");
    if tree.exists() {
        fs::remove_dir_all(&tree).map_err(|e| failed("remove", &tree, &e))?;
    }
    fill(root, &built, &tree)?;
    let archive = dist.join(format!("{name}.tar.zst"));
    pack(&tree, &name, &archive)?;
    told(&archive)?;
    if deb {
        let out = dist.to_string_lossy();
        cargo(
            root,
            &[
                "deb",
                "--no-build",
                "--package",
                "stowplan",
                "--output",
                &out,
            ],
        )
        .map_err(|error| format!("{error}; hint: cargo install cargo-deb"))?;
    }
    Ok(())
}

fn told(path: &Path) -> Done<()> {
    let size = fs::metadata(path)
        .map_err(|e| failed("read", path, &e))?
        .len();
    println!("{} ({:.1} MB)", path.display(), size as f64 / 1e6);
    Ok(())
}

/// The tree as it is below a prefix such as /usr.
fn fill(root: &Path, built: &Path, tree: &Path) -> Done<()> {
    let program = root.join("target/release/stowplan");
    copy(&program, &tree.join("bin/stowplan"))?;
    for name in node::PROGRAMS {
        copy(&built.join(name), &tree.join("libexec/stowplan").join(name))?;
    }
    let share = tree.join("share");
    copy_folder(&root.join("stacks"), &share.join("stowplan/stacks"))?;
    let man = share.join("man/man1");
    fs::create_dir_all(&man).map_err(|e| failed("make", &man, &e))?;
    output(Command::new(&program).arg("man").arg(&man))?;
    for (shell, file) in [
        ("bash", "bash-completion/completions/stowplan"),
        ("zsh", "zsh/site-functions/_stowplan"),
        ("fish", "fish/vendor_completions.d/stowplan.fish"),
    ] {
        let text = output(Command::new(&program).args(["completions", shell]))?;
        write(&share.join(file), &text)?;
    }
    let doc = share.join("doc/stowplan");
    for name in ["LICENSE", "README.md", "CHANGELOG.md"] {
        copy(&root.join(name), &doc.join(name))?;
    }
    write(&doc.join("THIRD-PARTY.txt"), licences(root)?.as_bytes())
}

/// A package of the dependency graph, as cargo metadata(1) has it.
#[derive(Deserialize)]
struct Package {
    name: String,
    version: String,
    license: Option<String>,
    source: Option<String>,
    manifest_path: PathBuf,
}

#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
}

/// Every library that is linked, with its licence; then each text once, with the libraries that have it.
fn licences(root: &Path) -> Done<String> {
    let mut asked = Command::new(program());
    asked
        .current_dir(root)
        .args(["metadata", "--format-version", "1", "--locked"])
        .args(["--filter-platform", "x86_64-unknown-linux-gnu"]);
    let metadata: Metadata = serde_json::from_slice(&output(&mut asked)?)
        .map_err(|error| format!("cargo metadata is not understood: {error}"))?;
    let mut list = String::from("Stowplan is linked with these libraries.\n\n");
    let mut texts: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for package in metadata.packages.iter().filter(|p| p.source.is_some()) {
        let name = format!("{} {}", package.name, package.version);
        let licence = package.license.as_deref().unwrap_or("see its text");
        list += &format!("{name}: {licence}\n");
        for text in licence_texts(&package.manifest_path) {
            texts.entry(text).or_default().push(name.clone());
        }
    }
    for (text, names) in texts {
        list += &format!(
            "\n{}\n{}\n\n{}\n",
            "=".repeat(78),
            names.join(", "),
            text.trim()
        );
    }
    Ok(list)
}

/// Texts beside a manifest, or in a folder beside it, whose name says that they are a licence or a notice: crates carry the sources of
/// C libraries in folders.
fn licence_texts(manifest: &Path) -> Vec<String> {
    let beside = entries(manifest.parent().unwrap_or(manifest));
    let folders = beside.iter().filter(|path| path.is_dir());
    let below: Vec<PathBuf> = folders.flat_map(|folder| entries(folder)).collect();
    let mut files: Vec<PathBuf> = beside
        .into_iter()
        .chain(below)
        .filter(|path| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            let name = name.to_uppercase();
            ["LICENSE", "LICENCE", "NOTICE", "COPYING"]
                .iter()
                .any(|begin| name.starts_with(begin))
        })
        .collect();
    files.sort();
    files
        .iter()
        .filter_map(|path| fs::read_to_string(path).ok())
        .collect()
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten();
    entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .collect()
}

/// One archive of the tree, with names below `name`, the same bytes for the same files.
fn pack(tree: &Path, name: &str, archive: &Path) -> Done<()> {
    let failed = |error: std::io::Error| failed("write", archive, &error);
    let file = fs::File::create(archive).map_err(failed)?;
    let packed = zstd::Encoder::new(file, LEVEL).map_err(failed)?;
    let mut tar = tar::Builder::new(packed);
    tar.mode(tar::HeaderMode::Deterministic);
    let mut files = Vec::new();
    list(tree, &mut files)?;
    files.sort();
    for path in files {
        let within = path.strip_prefix(tree).unwrap_or(&path);
        tar.append_path_with_name(&path, Path::new(name).join(within))
            .map_err(failed)?;
    }
    let packed = tar.into_inner().map_err(failed)?;
    packed.finish().map_err(failed)?;
    Ok(())
}

fn list(folder: &Path, into: &mut Vec<PathBuf>) -> Done<()> {
    for entry in fs::read_dir(folder).map_err(|e| failed("read", folder, &e))? {
        let path = entry.map_err(|e| failed("read", folder, &e))?.path();
        match path.is_dir() {
            true => list(&path, into)?,
            false => into.push(path),
        }
    }
    Ok(())
}

fn copy_folder(from: &Path, to: &Path) -> Done<()> {
    let mut files = Vec::new();
    list(from, &mut files)?;
    for path in files {
        let within = path.strip_prefix(from).unwrap_or(&path);
        copy(&path, &to.join(within))?;
    }
    Ok(())
}

fn copy(from: &Path, to: &Path) -> Done<()> {
    if let Some(folder) = to.parent() {
        fs::create_dir_all(folder).map_err(|e| failed("make", folder, &e))?;
    }
    fs::copy(from, to).map_err(|e| failed("copy", from, &e))?;
    Ok(())
}

fn write(path: &Path, text: &[u8]) -> Done<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).map_err(|e| failed("make", folder, &e))?;
    }
    fs::write(path, text).map_err(|e| failed("write", path, &e))
}

fn cargo(root: &Path, arguments: &[&str]) -> Done<()> {
    let status = Command::new(program())
        .current_dir(root)
        .args(arguments)
        .status()
        .map_err(|error| format!("cannot run cargo: {error}"))?;
    match status.success() {
        true => Ok(()),
        false => Err(format!("cargo {} failed: {status}", arguments[0])),
    }
}

fn program() -> std::ffi::OsString {
    std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into())
}

fn output(command: &mut Command) -> Done<Vec<u8>> {
    let output = command
        .output()
        .map_err(|error| format!("cannot run {command:?}: {error}"))?;
    match output.status.success() {
        true => Ok(output.stdout),
        false => Err(format!(
            "{command:?} failed: {}",
            String::from_utf8_lossy(&output.stderr)
        )),
    }
}

fn failed(what: &str, path: &Path, error: &std::io::Error) -> String {
    format!("cannot {what} {}: {error}", path.display())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_archive_is_the_same_for_the_same_files_and_has_one_folder() {
        let folder = tempfile::tempdir().unwrap();
        let tree = folder.path().join("tree");
        write(&tree.join("bin/program"), b"x").unwrap();
        write(&tree.join("share/doc/text"), b"y").unwrap();
        let archives = ["a", "b"].map(|name| folder.path().join(name));
        for archive in &archives {
            pack(&tree, "stowplan-1", archive).unwrap();
        }
        let [a, b] = archives.map(|path| fs::read(path).unwrap());
        assert_eq!(a, b);
        let mut unpacked = tar::Archive::new(zstd::Decoder::new(&a[..]).unwrap());
        let names = unpacked.entries().unwrap().map(|entry| {
            let path = entry.unwrap().path().unwrap().into_owned();
            path.display().to_string()
        });
        let names: Vec<String> = names.collect();
        assert_eq!(
            names,
            ["stowplan-1/bin/program", "stowplan-1/share/doc/text"]
        );
    }

    #[test]
    fn the_texts_of_licences_are_found_by_their_names() {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in [
            ("Cargo.toml", ""),
            ("LICENSE-MIT", "mit"),
            ("licence.txt", "l"),
            ("src.rs", ""),
            ("library/LICENSE.txt", "of c"),
            ("library/deeper/LICENSE", "of a test of it"),
        ] {
            write(&folder.path().join(name), text.as_bytes()).unwrap();
        }
        let texts = licence_texts(&folder.path().join("Cargo.toml"));
        assert_eq!(texts, ["mit", "of c", "l"]);
    }
}
