//! Where images are kept.

use std::ffi::OsString;
use std::path::PathBuf;

/// Where images are kept unless the user says otherwise: `$XDG_CACHE_HOME/stowplan/images`, for root
/// `/var/cache/stowplan/images`, else `$HOME/.cache/stowplan/images`.
///
/// A parameter rather than the environment, so that a caller can be tested.
#[must_use]
pub fn default_store(variable: impl Fn(&str) -> Option<OsString>, root: bool) -> PathBuf {
    let set = |name| variable(name).filter(|value: &OsString| !value.is_empty());
    let cache = match set("XDG_CACHE_HOME") {
        Some(folder) => PathBuf::from(folder),
        None if root => PathBuf::from("/var/cache"),
        None => match set("HOME") {
            Some(home) => PathBuf::from(home).join(".cache"),
            None => std::env::temp_dir(),
        },
    };
    cache.join("stowplan").join("images")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_store_follows_the_environment_then_the_user() {
        let with = |pairs: &'static [(&str, &str)]| {
            move |name: &str| {
                pairs
                    .iter()
                    .find(|(key, _)| *key == name)
                    .map(|(_, value)| OsString::from(value))
            }
        };
        let xdg = with(&[("XDG_CACHE_HOME", "/x"), ("HOME", "/h")]);
        assert_eq!(
            default_store(xdg, true),
            PathBuf::from("/x/stowplan/images")
        );
        let home = with(&[("XDG_CACHE_HOME", ""), ("HOME", "/h")]);
        assert_eq!(
            default_store(home, true),
            PathBuf::from("/var/cache/stowplan/images")
        );
        assert_eq!(
            default_store(home, false),
            PathBuf::from("/h/.cache/stowplan/images")
        );
    }
}
