//! What liblxc's log of a container says, at level INFO: `lxc-start` writes one, and so does LXD.

/// Pid of the first process, of `Started "PROGRAM" with pid "PID"` (start.c, `post_start`).
#[must_use]
pub fn leader(log: &str) -> Option<u32> {
    let marked = log.lines().filter(|line| line.contains(":post_start:"));
    marked
        .filter_map(|line| {
            let pid = line.rsplit_once(" with pid \"")?.1;
            pid.strip_suffix('"')?.parse().ok()
        })
        .next()
}

/// Status of the first process; `own` where the log has none: `lxc-start` ends with 0 whatever it was, and with another
/// status for its own failures.
/// Its log has `Child <PID> ended on error (STATUS)` or `… ended on signal NAME(NUMBER)`, and nothing for 0 (error.c,
/// `lxc_error_set_and_log`).
#[must_use]
pub fn status(own: i32, log: &str) -> i32 {
    let marked = log.lines().rev();
    let told = marked
        .filter(|line| line.contains(":lxc_error_set_and_log:"))
        .find_map(|line| {
            let (_, ended) = line.rsplit_once(" ended on ")?;
            let number = ended.strip_suffix(')')?.rsplit_once('(')?.1;
            let number: i32 = number.parse().ok()?;
            // LXC 4 writes 128 + signal.
            let is_signal = ended.starts_with("signal") && number < 128;
            Some(if is_signal { 128 + number } else { number })
        });
    told.unwrap_or(own)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As LXC 5.0.2 wrote it.
    const STARTED: &str = "lxc-start c1 20261122023214.325 NOTICE   start - ../src/lxc/start.c:start:2194 - Exec'ing \"/bin/sh\"\n\
        lxc-start c1 20261122023214.326 NOTICE   start - ../src/lxc/start.c:post_start:2205 - Started \"/bin/sh\" with pid \"29346\"\n";

    fn ended(how: &str) -> String {
        format!(
            "{STARTED}lxc-start c1 20261122023214.342 INFO     error - \
             ../src/lxc/error.c:lxc_error_set_and_log:31 - Child <29346> ended on {how}\n"
        )
    }

    #[test]
    fn the_first_process_is_told_once_it_runs() {
        let (exec, _) = STARTED.split_once('\n').unwrap();
        assert_eq!(leader(exec), None);
        assert_eq!(leader(STARTED), Some(29346));
    }

    #[test]
    fn its_status_is_in_the_log_unless_it_is_none() {
        assert_eq!(status(0, STARTED), 0);
        assert_eq!(status(0, &ended("error (7)")), 7);
        assert_eq!(status(0, &ended("signal KILL(9)")), 137);
        assert_eq!(status(0, &ended("signal (137)")), 137);
        assert_eq!(status(1, "nonsense"), 1);
        assert_eq!(status(137, STARTED), 137);
    }
}
