//! A toolbox of programs of this machine: one of Debian's packages is a download of half a gigabyte.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Folders of its tree.
const FOLDERS: [&str; 10] = [
    "proc",
    "dev",
    "sys",
    "srv",
    "tmp",
    "root",
    "usr/bin",
    "usr/lib",
    "usr/lib64",
    "etc",
];

/// What a program prints.
pub fn said(program: &str, arguments: &[&str]) -> String {
    let ended = Command::new(program).args(arguments).output().unwrap();
    String::from_utf8_lossy(&ended.stdout).trim().to_owned()
}

/// Programs, and the libraries that they are linked with.
pub fn with_libraries(programs: impl IntoIterator<Item = PathBuf>) -> BTreeSet<PathBuf> {
    let mut files = BTreeSet::new();
    for program in programs {
        let linked = said("ldd", &[&program.display().to_string()]);
        let words = linked.split_whitespace();
        let libraries = words.filter(|word| word.starts_with('/'));
        files.extend(libraries.map(PathBuf::from));
        files.insert(program);
    }
    files
}

/// Lays it where a command with this folder as `XDG_CACHE_HOME` looks for it, with files and folders of this machine in it.
pub fn lay_toolbox(cache: &Path, files: &BTreeSet<PathBuf>) -> PathBuf {
    let dir = cache.join("stowplan/images/toolbox/current");
    let tree = dir.join("tree");
    for folder in FOLDERS {
        fs::create_dir_all(tree.join(folder)).unwrap();
    }
    for folder in ["bin", "lib", "lib64"] {
        symlink(format!("usr/{folder}"), tree.join(folder)).unwrap();
    }
    for file in files {
        let folder = file.parent().unwrap().canonicalize().unwrap();
        let to = tree.join(folder.strip_prefix("/").unwrap());
        fs::create_dir_all(&to).unwrap();
        let copied = Command::new("cp").arg("-rL").arg(file).arg(&to).status();
        assert!(copied.unwrap().success(), "{}", file.display());
    }
    let packages = ["gcc 1 amd64".to_owned()];
    let about = serde_json::json!({
        "digest": stowplan_bench::toolbox_digest(&packages),
        "suite": "test",
        "asked": ["gcc"],
        "packages": packages,
    });
    fs::write(dir.join("toolbox.json"), about.to_string()).unwrap();
    let status = "Package: gcc\nVersion: 1\nArchitecture: amd64\n";
    fs::create_dir_all(tree.join("var/lib/dpkg")).unwrap();
    fs::write(tree.join("var/lib/dpkg/status"), status).unwrap();
    dir
}

/// Adds a tool that is a shell script.
pub fn add_tool(toolbox: &Path, name: &str, script: &str) {
    let path = toolbox.join("tree/usr/bin").join(name);
    fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
}
