//! What systemd-nspawn tells of a first process that a signal ended.

/// Signals by the names that systemd prints, signal(7); those after SIGSTKFLT have other numbers on MIPS and SPARC only.
const NAMES: [&str; 31] = [
    "HUP", "INT", "QUIT", "ILL", "TRAP", "ABRT", "BUS", "FPE", "KILL", "USR1", "SEGV", "USR2",
    "PIPE", "ALRM", "TERM", "STKFLT", "CHLD", "CONT", "STOP", "TSTP", "TTIN", "TTOU", "URG",
    "XCPU", "XFSZ", "VTALRM", "PROF", "WINCH", "IO", "PWR", "SYS",
];

/// Status of the first process: systemd-nspawn ends with the same, but with 1 where a signal ended it; which one is only
/// in its last words, `Container NAME terminated by signal KILL.`
pub(crate) fn status_of(status: i32, log: &str) -> i32 {
    if status != 1 {
        return status;
    }
    let told = log.lines().rev().find_map(|line| {
        let (before, after) = line.split_once(" terminated by signal ")?;
        before.starts_with("Container stowplan-").then_some(after)
    });
    told.and_then(|name| number_of(name.trim_end_matches('.')))
        .map_or(status, |number| 128 + number)
}

fn number_of(name: &str) -> Option<i32> {
    let at = NAMES.iter().position(|known| *known == name)?;
    i32::try_from(at + 1).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signal_is_told_apart_from_a_status() {
        let killed = "ready\nContainer stowplan-r-a terminated by signal KILL.\n";
        assert_eq!(status_of(1, killed), 137);
        assert_eq!(status_of(1, &killed.replace("KILL", "SEGV")), 139);
        assert_eq!(status_of(1, "it failed\n"), 1);
        assert_eq!(status_of(3, killed), 3);
        assert_eq!(status_of(1, "Container x terminated by signal KILL."), 1);
        assert_eq!(status_of(1, &killed.replace("KILL", "RTMIN+3")), 1);
        assert_eq!(number_of("SYS"), Some(31));
    }
}
