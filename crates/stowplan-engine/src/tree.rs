//! A folder as the root of a shell, where services are plain processes.

use std::path::Path;

/// A command line that runs a script with this folder as its root, in a mount namespace that ends with it. The script sees folders
/// of the machine at these paths, each of which is a folder of the root, and an empty /tmp. It cannot write anywhere else: a root that
/// changes is another image to an engine. It needs unshare(1), mount(8) and chroot(8).
#[must_use]
pub fn shell_in(root: &Path, folders: &[(&Path, &str)], script: &str) -> Vec<String> {
    let quoted_root = quoted(&root.display().to_string());
    let seen = [(Path::new("/proc"), "/proc"), (Path::new("/dev"), "/dev")];
    let seen = seen.iter().chain(folders).map(|(from, to)| {
        let from = quoted(&from.display().to_string());
        format!("mount --rbind {from} {quoted_root}{} && ", quoted(to))
    });
    let script = format!(
        "export PATH=/usr/sbin:/usr/bin:/sbin:/bin; mount --bind {quoted_root} {quoted_root} && \
         mount -o remount,bind,ro {quoted_root} && mount -t tmpfs tmpfs {quoted_root}/tmp && \
         {}exec chroot {quoted_root} /bin/sh -c {}",
        seen.collect::<String>(),
        quoted(script)
    );
    let words = ["/usr/bin/unshare", "--mount", "/bin/sh", "-c", &script];
    words.map(str::to_owned).to_vec()
}

/// A word as a shell reads it.
#[must_use]
pub fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_is_one_word_of_a_shell() {
        assert_eq!(quoted("it's"), "'it'\\''s'");
        let words = shell_in(Path::new("/a b"), &[(Path::new("/x"), "/srv")], "true");
        assert_eq!(words[..4], ["/usr/bin/unshare", "--mount", "/bin/sh", "-c"]);
        let end = "mount --rbind '/x' '/a b''/srv' && exec chroot '/a b' /bin/sh -c 'true'";
        assert!(words[4].ends_with(end), "{words:?}");
    }
}
