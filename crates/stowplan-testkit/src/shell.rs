//! A root file system with a shell.

use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

/// Programs of the shell's scripts.
const PROGRAMS: [&str; 9] = [
    "sh", "sleep", "head", "tail", "wc", "setsid", "cat", "env", "readlink",
];

/// A folder with [`shell_root`] in it, removed at the end.
#[derive(Debug)]
pub struct ShellRoot(tempfile::TempDir);

impl ShellRoot {
    /// Makes one in a folder of the test.
    ///
    /// # Panics
    /// When a file cannot be copied.
    #[must_use]
    pub fn below(folder: &str) -> Self {
        let root = tempfile::tempdir_in(folder).expect("a folder can be made");
        shell_root(root.path());
        Self(root)
    }

    /// The folder.
    #[must_use]
    pub fn path(&self) -> String {
        self.0.path().display().to_string()
    }
}

/// Makes `root` a root file system with a shell and what its scripts call, taken from this machine with the libraries
/// that they load.
///
/// # Panics
/// When a file cannot be copied.
pub fn shell_root(root: &Path) {
    for folder in ["bin", "dev", "proc", "sys", "tmp", "etc"] {
        std::fs::create_dir_all(root.join(folder)).expect("a folder can be made");
    }
    std::fs::create_dir_all(root.join("usr")).expect("a folder can be made");
    symlink("../bin", root.join("usr/bin")).expect("a link can be made");
    let users = "root:x:0:0:root:/:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/sh\n";
    std::fs::write(root.join("etc/passwd"), users).expect("a file");
    for name in PROGRAMS {
        let folders = ["/bin", "/usr/bin"].map(|folder| Path::new(folder).join(name));
        let program = folders.iter().find(|path| path.is_file());
        let program = program.unwrap_or_else(|| panic!("no program '{name}'"));
        std::fs::copy(program, root.join("bin").join(name)).expect("a file can be copied");
        copy_libraries(program, root);
    }
}

/// Copies what the loader of `program` loads to the same places below `root`.
///
/// # Panics
/// When a file cannot be copied.
pub(crate) fn copy_libraries(program: &Path, root: &Path) {
    let said = Command::new("ldd").arg(program).output();
    let said = String::from_utf8(said.expect("ldd can be run").stdout).expect("text");
    // `NAME => PATH (ADDRESS)`, or the path of the loader alone.
    for library in said.split_whitespace().filter(|word| word.starts_with('/')) {
        let to = root.join(library.trim_start_matches('/'));
        let folder = to.parent().expect("it is below the root");
        std::fs::create_dir_all(folder).expect("a folder can be made");
        std::fs::copy(library, to).expect("a file can be copied");
    }
}
