//! The machine that the figures were taken on, in one line.

use std::fs;

/// Processor, number of CPUs, kernel and load.
pub fn describe() -> String {
    let processors = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let kernel = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let cpus = std::thread::available_parallelism().map_or(0, usize::from);
    format!(
        "machine: {cpus} CPUs, {}, Linux {}; {}",
        processor(&processors).unwrap_or("processor not named"),
        kernel.trim(),
        load()
    )
}

/// Load averages: a machine that does other work gives other figures.
pub fn load() -> String {
    let text = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let averages: Vec<&str> = text.split_whitespace().take(3).collect();
    format!("load averages {} (1, 5, 15 minutes)", averages.join(", "))
}

fn processor(cpuinfo: &str) -> Option<&str> {
    let line = cpuinfo
        .lines()
        .find(|line| line.starts_with("model name"))?;
    Some(line.split_once(':')?.1.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_processor_is_named() {
        let cpuinfo = "processor\t: 0\nmodel name\t: Some CPU @ 3 GHz\n";
        assert_eq!(processor(cpuinfo), Some("Some CPU @ 3 GHz"));
        assert_eq!(processor(""), None);
    }
}
