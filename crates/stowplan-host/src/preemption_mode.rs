//! How the kernel preempts what runs in it (docs/measuring.md §3): its mode, and where that is known from.

use std::fs::{self, File};
use std::io::Read;
use std::sync::OnceLock;

use flate2::read::GzDecoder;

use crate::kernel_file::{chosen, read};

/// The mode as it is now, with the choice in square brackets (`none voluntary [full]`), for who may read debugfs.
const NOW: &str = "/sys/kernel/debug/sched/preempt";

/// What the kernel was built with, where it keeps that itself (`CONFIG_IKCONFIG_PROC`).
const BUILT_WITH: &str = "/proc/config.gz";

/// Options that make a mode the one from boot, or the only one.
const BUILDS: [(&str, &str); 5] = [
    ("CONFIG_PREEMPT_RT", "rt"),
    ("CONFIG_PREEMPT_LAZY", "lazy"),
    ("CONFIG_PREEMPT", "full"),
    ("CONFIG_PREEMPT_VOLUNTARY", "voluntary"),
    ("CONFIG_PREEMPT_NONE", "none"),
];

/// The mode: read where the kernel tells it, else as the kernel was booted or built, which it says then; or why it is not known.
pub(crate) fn preemption_mode() -> String {
    if let Some(now) = read(NOW) {
        return chosen(&now);
    }
    let booted = read("/proc/cmdline").and_then(|line| by_parameter(&line));
    if let Some(mode) = booted {
        return format!("{mode} (by the kernel's parameter; debugfs cannot be read)");
    }
    // Facts are asked for after every run, and what a kernel was built with stays.
    static BUILT: OnceLock<Option<&str>> = OnceLock::new();
    let built = BUILT.get_or_init(|| configuration().and_then(|text| by_configuration(&text)));
    match built {
        Some(mode) => format!("{mode} (as the kernel was built; debugfs cannot be read)"),
        None => "not known: neither debugfs nor the kernel's configuration can be read".to_owned(),
    }
}

/// `preempt=` of the command line, the last of several (kernel-parameters.txt).
fn by_parameter(command_line: &str) -> Option<String> {
    let words = command_line.split_whitespace();
    let mut modes = words.filter_map(|word| word.strip_prefix("preempt="));
    modes.next_back().map(str::to_owned)
}

/// The first of [`BUILDS`] that is switched on: a kernel for real time has `CONFIG_PREEMPT` or `CONFIG_PREEMPT_LAZY` as well.
fn by_configuration(configuration: &str) -> Option<&'static str> {
    let is_on = |option: &str| {
        let mut lines = configuration.lines();
        lines.any(|line| line.strip_suffix("=y") == Some(option))
    };
    let (_, mode) = BUILDS.iter().find(|(option, _)| is_on(option))?;
    Some(mode)
}

fn configuration() -> Option<String> {
    let mut text = String::new();
    if let Ok(file) = File::open(BUILT_WITH)
        && GzDecoder::new(file).read_to_string(&mut text).is_ok()
    {
        return Some(text);
    }
    let release = rustix::system::uname();
    let release = release.release().to_string_lossy();
    fs::read_to_string(format!("/boot/config-{release}")).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_parameter_is_taken_as_it_was_given_last() {
        let line = "quiet preempt=none root=/dev/vda preempt=full";
        assert_eq!(by_parameter(line).as_deref(), Some("full"));
        assert_eq!(by_parameter("quiet preemptible=no"), None);
    }

    #[test]
    fn a_configuration_tells_the_mode_from_boot() {
        let of = |lines: &str| by_configuration(lines);
        let dynamic = "CONFIG_PREEMPT_BUILD=y\nCONFIG_PREEMPT_NONE=y\n# CONFIG_PREEMPT is not set\nCONFIG_PREEMPTION=y\n";
        assert_eq!(of(dynamic), Some("none"));
        assert_eq!(of("CONFIG_PREEMPT=y\nCONFIG_PREEMPT_RT=y\n"), Some("rt"));
        assert_eq!(of("CONFIG_PREEMPT_COUNT=y\n"), None);
    }

    #[test]
    fn this_kernel_has_one_or_says_why_not() {
        let mode = preemption_mode();
        let known = ["none", "voluntary", "full", "lazy", "rt", "not known"];
        assert!(known.iter().any(|word| mode.starts_with(word)), "{mode}");
    }
}
