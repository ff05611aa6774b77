//! Users of a root file system.

use std::fs;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::HostError;

/// A user and its group.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ids {
    /// User id.
    pub user: u32,
    /// Group id.
    pub group: u32,
}

impl Ids {
    /// Root.
    pub const ROOT: Self = Self { user: 0, group: 0 };

    /// Finds `USER[:GROUP]`, each a number or a name that `etc/passwd` or `etc/group` below `root` knows. Without a
    /// group it is the user's own, and 0 for a number that nobody has there (as in OCI images).
    ///
    /// # Errors
    /// When a name is not known.
    pub fn find(root: &Path, text: &str) -> Result<Self, HostError> {
        let (user, group) = match text.split_once(':') {
            Some((user, group)) => (user, Some(group)),
            None => (text, None),
        };
        let passwd = Entries::read(root, "etc/passwd");
        let user_entry = passwd.find(user);
        let id = |text: &str, entry: Option<&Vec<String>>| {
            let known = entry.and_then(|fields| fields.get(2)?.parse().ok());
            text.parse().ok().or(known)
        };
        let unknown = |what: &str, name: &str, file: &str| {
            HostError::new(format!(
                "no {what} '{name}' in {}",
                root.join(file).display()
            ))
            .hint("give its number")
        };
        Ok(Self {
            user: id(user, user_entry).ok_or_else(|| unknown("user", user, "etc/passwd"))?,
            group: match group {
                Some(group) => id(group, Entries::read(root, "etc/group").find(group))
                    .ok_or_else(|| unknown("group", group, "etc/group"))?,
                None => user_entry
                    .and_then(|fields| fields.get(3)?.parse().ok())
                    .unwrap_or(0),
            },
        })
    }
}

/// Lines of passwd(5) or group(5): the name first, the number third.
struct Entries(Vec<Vec<String>>);

impl Entries {
    /// A file that is not there has none.
    fn read(root: &Path, file: &str) -> Self {
        let text = fs::read_to_string(root.join(file)).unwrap_or_default();
        let fields = |line: &str| line.split(':').map(str::to_owned).collect();
        Self(text.lines().map(fields).collect())
    }

    fn find(&self, name_or_number: &str) -> Option<&Vec<String>> {
        self.0.iter().find(|fields| {
            fields.first().is_some_and(|name| name == name_or_number)
                || fields.get(2).is_some_and(|number| number == name_or_number)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_are_found_by_number_and_by_name() {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir(root.path().join("etc")).unwrap();
        let write = |file: &str, text: &str| fs::write(root.path().join(file), text).unwrap();
        write("etc/passwd", "root:x:0:0::/:/bin/sh\nros:x:1000:1001::/:\n");
        write("etc/group", "root:x:0:\nvideo:x:44:ros\n");
        let find = |text: &str| {
            Ids::find(root.path(), text)
                .map(|ids| (ids.user, ids.group))
                .map_err(|error| error.to_string())
        };
        assert_eq!(find("0"), Ok((0, 0)));
        assert_eq!(find("ros"), Ok((1000, 1001)));
        assert_eq!(find("1000"), Ok((1000, 1001)));
        assert_eq!(find("ros:video"), Ok((1000, 44)));
        assert_eq!(find("7:9"), Ok((7, 9)));
        assert_eq!(find("7"), Ok((7, 0)), "nobody has it");
        assert!(find("nobody").unwrap_err().contains("no user 'nobody' in"));
        assert!(find("ros:tty").unwrap_err().contains("no group 'tty' in"));
        assert!(find("").is_err() && find("ros:").is_err());
    }
}
