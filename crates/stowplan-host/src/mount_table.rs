//! The kernel's lists of mounts, as proc(5) writes them.

/// Undoes the octal escapes of /proc/self/mountinfo (proc_pid_mountinfo(5)).
#[must_use]
pub fn unescape(text: &str) -> String {
    [
        ("\\040", " "),
        ("\\011", "\t"),
        ("\\012", "\n"),
        ("\\134", "\\"),
    ]
    .iter()
    .fold(text.to_owned(), |text, (code, plain)| {
        text.replace(code, plain)
    })
}
