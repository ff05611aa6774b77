//! What the machine is, as recorded with every result, and its fingerprint (docs/measuring.md §3).

use std::collections::BTreeMap;
use std::fs;

use stowplan_wire::host::MachineFacts;

use crate::HostError;
use crate::cgroup::Tree;
use crate::kernel_file::{chosen, read};
use crate::preemption_mode::preemption_mode;

/// Single files that differ between machines; a file that does not exist is left out.
const FILES: [(&str, &str); 13] = [
    ("autogroup", "/proc/sys/kernel/sched_autogroup_enabled"),
    (
        "clock-source",
        "/sys/devices/system/clocksource/clocksource0/current_clocksource",
    ),
    ("turbo-off", "/sys/devices/system/cpu/intel_pstate/no_turbo"),
    ("smt", "/sys/devices/system/cpu/smt/active"),
    ("isolated-cpus", "/sys/devices/system/cpu/isolated"),
    (
        "transparent-huge-pages",
        "/sys/kernel/mm/transparent_hugepage/enabled",
    ),
    ("swappiness", "/proc/sys/vm/swappiness"),
    ("rt-runtime-us", "/proc/sys/kernel/sched_rt_runtime_us"),
    (
        "cfs-bandwidth-slice-us",
        "/proc/sys/kernel/sched_cfs_bandwidth_slice_us",
    ),
    ("net.rmem-max", "/proc/sys/net/core/rmem_max"),
    ("net.rmem-default", "/proc/sys/net/core/rmem_default"),
    ("net.wmem-max", "/proc/sys/net/core/wmem_max"),
    ("product", "/sys/class/dmi/id/product_name"),
];

/// Beginnings of kernel parameters that change timing. The rest of the command line is the machine's own affair
/// and may hold what nobody wants in a result.
const PARAMETERS: [&str; 16] = [
    "cpuidle",
    "idle=",
    "intel_idle",
    "intel_pstate",
    "amd_pstate",
    "irqaffinity",
    "isolcpus",
    "kthread_cpus",
    "mitigations",
    "nohz",
    "nosmt",
    "preempt",
    "processor.max_cstate",
    "rcu_nocb",
    "skew_tick",
    "threadirqs",
];

fn kernel_parameters(command_line: &str) -> String {
    command_line
        .split_whitespace()
        .filter(|word| PARAMETERS.iter().any(|begin| word.starts_with(begin)))
        .collect::<Vec<_>>()
        .join(" ")
}

/// Key of the setting that says whether the loopback of the services' network has multicast: `yes` or `no`.
pub const LOOPBACK_MULTICAST: &str = "net.loopback-multicast";

/// Key of the setting that says whether this is a virtual machine: `yes` or `no`; left out where nothing tells.
pub const VIRTUAL_MACHINE: &str = "virtual-machine";

/// Key of the setting that says how much swap space the machine has, in bytes.
pub const SWAP: &str = "swap-bytes";

fn swap_bytes() -> Option<u64> {
    let told = read("/proc/meminfo")?;
    let line = told.lines().find_map(|l| l.strip_prefix("SwapTotal:"))?;
    let kib: u64 = line.trim().strip_suffix(" kB")?.trim().parse().ok()?;
    Some(kib * 1024)
}

/// How the CPUs' frequencies are governed: one word where all are alike, else every CPU's.
fn governors() -> Option<String> {
    let cpus = online_cpus().ok()?;
    let of = |cpu: &u32| {
        let path = format!("/sys/devices/system/cpu/cpu{cpu}/cpufreq/scaling_governor");
        Some((*cpu, read(&path)?))
    };
    let all: Vec<(u32, String)> = cpus.iter().filter_map(of).collect();
    told_once(&all)
}

fn told_once(all: &[(u32, String)]) -> Option<String> {
    let (_, first) = all.first()?;
    if all.iter().all(|(_, value)| value == first) {
        return Some(first.clone());
    }
    let each = all.iter().map(|(cpu, value)| format!("cpu{cpu} {value}"));
    Some(each.collect::<Vec<_>>().join(", "))
}

/// By the CPU's own flag (CPUID leaf 1, ECX bit 31); elsewhere than on x86 by the kernel's folder of hypervisors.
fn is_virtual_machine() -> Option<bool> {
    let flags = cpuinfo("flags");
    let by_flag = flags.map(|all| all.split_whitespace().any(|flag| flag == "hypervisor"));
    by_flag.or_else(|| read("/sys/hypervisor/type").map(|_| true))
}

fn yes_or_no(is: bool) -> String {
    if is { "yes" } else { "no" }.to_owned()
}

fn settings() -> BTreeMap<String, String> {
    let mut settings: BTreeMap<String, String> = FILES
        .iter()
        .filter_map(|(key, path)| Some(((*key).to_owned(), chosen(&read(path)?))))
        .collect();
    for entry in fs::read_dir("/sys/devices/system/cpu/vulnerabilities")
        .into_iter()
        .flatten()
        .filter_map(Result::ok)
    {
        if let Some(text) = read(&entry.path().display().to_string()) {
            let key = format!("mitigation.{}", entry.file_name().to_string_lossy());
            settings.insert(key, text);
        }
    }
    let parameters = read("/proc/cmdline").map(|line| kernel_parameters(&line));
    if let Some(parameters) = parameters.filter(|text| !text.is_empty()) {
        settings.insert("kernel-parameters".to_owned(), parameters);
    }
    if let Ok(multicast) = crate::network::loopback_has_multicast() {
        settings.insert(LOOPBACK_MULTICAST.to_owned(), yes_or_no(multicast));
    }
    settings.insert("preemption".to_owned(), preemption_mode());
    if let Some(governors) = governors() {
        settings.insert("governor".to_owned(), governors);
    }
    if let Some(bytes) = swap_bytes() {
        settings.insert(SWAP.to_owned(), bytes.to_string());
    }
    if let Some(is) = is_virtual_machine() {
        settings.insert(VIRTUAL_MACHINE.to_owned(), yes_or_no(is));
    }
    settings
}

fn cpuinfo(key: &str) -> Option<String> {
    read("/proc/cpuinfo")?.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        (name.trim() == key).then(|| value.trim().to_owned())
    })
}

/// Numbers of the CPUs that are online.
///
/// # Errors
/// When the kernel does not say.
pub fn online_cpus() -> Result<Vec<u32>, HostError> {
    read("/sys/devices/system/cpu/online")
        .and_then(|list| crate::cgroup::cpus_of(&list))
        .ok_or_else(|| HostError::new("cannot read /sys/devices/system/cpu/online"))
}

/// Looks at this machine.
///
/// # Errors
/// When /proc does not say how many CPUs or how much memory there is.
pub fn facts() -> Result<MachineFacts, HostError> {
    let uname = rustix::system::uname();
    let text = |part: &std::ffi::CStr| part.to_string_lossy().into_owned();
    let cpus = online_cpus()?;
    let memory_kib: u64 = read("/proc/meminfo")
        .and_then(|text| {
            let line = text.lines().find_map(|l| l.strip_prefix("MemTotal:"))?;
            line.split_whitespace().next()?.parse().ok()
        })
        .ok_or_else(|| HostError::new("cannot read MemTotal of /proc/meminfo"))?;
    let tree = Tree::detect();
    Ok(MachineFacts {
        host: text(uname.nodename()),
        cpus,
        cpu_model: cpuinfo("model name")
            .or_else(|| read("/proc/device-tree/model"))
            .or_else(|| cpuinfo("CPU part"))
            .unwrap_or_else(|| text(uname.machine())),
        memory_bytes: memory_kib * 1024,
        kernel: format!("{} {}", text(uname.release()), text(uname.version())),
        cgroup: tree
            .as_ref()
            .map_or("none", |tree| tree.layout.name())
            .to_owned(),
        swap_accounting: tree.is_ok_and(|tree| tree.accounts_for_swap()),
        settings: settings(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_has_cpus_and_memory() {
        let facts = facts().unwrap();
        assert!(!facts.cpus.is_empty() && facts.memory_bytes > 1 << 20);
        assert!(facts.kernel.contains('.'));
    }

    #[test]
    fn only_parameters_that_change_timing_are_kept() {
        assert_eq!(
            kernel_parameters("root=/dev/vda token=abc mitigations=off quiet isolcpus=1,2"),
            "mitigations=off isolcpus=1,2"
        );
    }

    #[test]
    fn governors_that_differ_are_told_one_by_one() {
        let of = |cpu: u32, word: &str| (cpu, word.to_owned());
        let alike = [of(0, "performance"), of(1, "performance")];
        assert_eq!(told_once(&alike).as_deref(), Some("performance"));
        let mixed = [of(0, "performance"), of(2, "powersave")];
        let told = told_once(&mixed);
        assert_eq!(told.as_deref(), Some("cpu0 performance, cpu2 powersave"));
        assert_eq!(told_once(&[]), None);
    }

    #[test]
    fn the_chosen_word_is_taken() {
        assert_eq!(chosen("always [madvise] never"), "madvise");
        assert_eq!(chosen("tsc"), "tsc");
    }
}
