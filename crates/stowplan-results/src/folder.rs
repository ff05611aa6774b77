//! Names of result folders and of the files in them.

use std::path::{Path, PathBuf};

pub(crate) const EXPERIMENT: &str = "experiment.json";
pub(crate) const COMPARISONS: &str = "comparisons.json";
pub(crate) const AGAINST: &str = "against.json";

/// Folder, in that of a result, of an earlier experiment that was measured again beside it: a result of its own.
pub const BEFORE: &str = "before";

/// Name of a result's folder: `NAME-20261120T101500Z`, in UTC. Characters of the name that
/// are not letters, digits, `.`, `_` or `-` become `-`.
#[must_use]
pub fn folder_name(name: &str, unix_s: u64) -> String {
    let name: String = name
        .chars()
        .map(|c| match c {
            c if c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-') => c,
            _ => '-',
        })
        .collect();
    let (year, month, day) = civil(unix_s / 86_400);
    let of_day = unix_s % 86_400;
    format!(
        "{name}-{year:04}{month:02}{day:02}T{:02}{:02}{:02}Z",
        of_day / 3_600,
        of_day / 60 % 60,
        of_day % 60
    )
}

/// The day of an instant in UTC, as `2026-11-20`.
#[must_use]
pub fn date(unix_s: u64) -> String {
    let (year, month, day) = civil(unix_s / 86_400);
    format!("{year:04}-{month:02}-{day:02}")
}

/// Year, month and day of a number of days since 1970, after Howard Hinnant's
/// `civil_from_days`, for days that are not before 1970.
fn civil(days: u64) -> (u64, u64, u64) {
    let z = days + 719_468;
    let era = z / 146_097;
    let of_era = z % 146_097;
    let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * of_year + 2) / 153;
    let day = of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 {
        shifted + 3
    } else {
        shifted - 9
    };
    let year = year_of_era + era * 400 + u64::from(month <= 2);
    (year, month, day)
}

pub(crate) fn merged(dir: &Path, table: &str) -> PathBuf {
    dir.join(format!("{table}.parquet"))
}

pub(crate) fn part(dir: &Path, run: u32, table: &str) -> PathBuf {
    dir.join("parts")
        .join(format!("run-{run:04}.{table}.parquet"))
}

/// Whether a run has a part of this table, or all that there were are merged.
pub(crate) fn has_parts(dir: &Path, table: &str) -> bool {
    merged(dir, table).exists() || parts(dir, table).is_ok_and(|parts| !parts.is_empty())
}

/// Runs that have a part of this table, ascending.
pub(crate) fn parts(dir: &Path, table: &str) -> std::io::Result<Vec<u32>> {
    let entries = match std::fs::read_dir(dir.join("parts")) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let suffix = format!(".{table}.parquet");
    let mut runs = Vec::new();
    for entry in entries {
        let name = entry?.file_name();
        let run = name
            .to_str()
            .and_then(|name| name.strip_prefix("run-")?.strip_suffix(&suffix))
            .and_then(|digits| digits.parse::<u32>().ok());
        runs.extend(run);
    }
    runs.sort_unstable();
    Ok(runs)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Source: `date -u -d @SECONDS +%Y%m%dT%H%M%SZ`.
    #[test]
    fn folders_carry_the_time_in_utc() {
        for (seconds, time) in [
            (0, "19700101T000000Z"),
            (951_782_400, "20000229T000000Z"),
            (1_709_251_199, "20240229T235959Z"),
            (1_795_169_700, "20261120T101500Z"),
            (4_107_542_400, "21000301T000000Z"),
        ] {
            assert_eq!(folder_name("hello", seconds), format!("hello-{time}"));
        }
    }

    #[test]
    fn days_are_those_of_the_folders() {
        assert_eq!(date(951_782_400), "2000-02-29");
        assert_eq!(date(1_795_169_700), "2026-11-20");
    }

    #[test]
    fn names_cannot_leave_the_folder() {
        assert!(folder_name("../a b", 0).starts_with("..-a-b-"));
    }
}
