//! Capability sets.

use serde_json::{Value, json};

/// Capability names by their number, linux/capability.h.
const NAMES: [&str; 41] = [
    "CHOWN",
    "DAC_OVERRIDE",
    "DAC_READ_SEARCH",
    "FOWNER",
    "FSETID",
    "KILL",
    "SETGID",
    "SETUID",
    "SETPCAP",
    "LINUX_IMMUTABLE",
    "NET_BIND_SERVICE",
    "NET_BROADCAST",
    "NET_ADMIN",
    "NET_RAW",
    "IPC_LOCK",
    "IPC_OWNER",
    "SYS_MODULE",
    "SYS_RAWIO",
    "SYS_CHROOT",
    "SYS_PTRACE",
    "SYS_PACCT",
    "SYS_ADMIN",
    "SYS_BOOT",
    "SYS_NICE",
    "SYS_RESOURCE",
    "SYS_TIME",
    "SYS_TTY_CONFIG",
    "MKNOD",
    "LEASE",
    "AUDIT_WRITE",
    "AUDIT_CONTROL",
    "SETFCAP",
    "MAC_OVERRIDE",
    "MAC_ADMIN",
    "SYSLOG",
    "WAKE_ALARM",
    "BLOCK_SUSPEND",
    "AUDIT_READ",
    "PERFMON",
    "BPF",
    "CHECKPOINT_RESTORE",
];

/// The fourteen capabilities that Docker leaves a container, moby `oci/caps/defaults.go`.
pub(crate) const DOCKER_DEFAULT: Capabilities = Capabilities::from_bits(
    1 << 0      // CHOWN
        | 1 << 1    // DAC_OVERRIDE
        | 1 << 3    // FOWNER
        | 1 << 4    // FSETID
        | 1 << 5    // KILL
        | 1 << 6    // SETGID
        | 1 << 7    // SETUID
        | 1 << 8    // SETPCAP
        | 1 << 10   // NET_BIND_SERVICE
        | 1 << 13   // NET_RAW
        | 1 << 18   // SYS_CHROOT
        | 1 << 27   // MKNOD
        | 1 << 29   // AUDIT_WRITE
        | 1 << 31, // SETFCAP
);

/// A set of capabilities, as the kernel writes it in /proc/PID/status.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Capabilities(u64);

impl Capabilities {
    /// The set with these bits.
    pub(crate) const fn from_bits(bits: u64) -> Self {
        Self(bits & ((1 << NAMES.len()) - 1))
    }

    /// The capabilities of both sets.
    pub(crate) const fn and(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// Whether it has the capability of this name, without `CAP_`.
    pub(crate) fn has(self, name: &str) -> bool {
        NAMES
            .iter()
            .position(|known| *known == name)
            .is_some_and(|bit| self.0 & (1 << bit) != 0)
    }

    /// `process.capabilities` of an OCI configuration. Inheritable and ambient stay empty, as in Docker since
    /// CVE-2022-24769.
    pub(crate) fn config(self) -> Value {
        let names: Vec<String> = NAMES
            .iter()
            .filter(|name| self.has(name))
            .map(|name| format!("CAP_{name}"))
            .collect();
        json!({"bounding": names, "effective": names, "permitted": names, "inheritable": [], "ambient": []})
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn docker_leaves_fourteen() {
        // Docker shows CapEff 00000000a80425fb in a default container.
        assert_eq!(DOCKER_DEFAULT, Capabilities::from_bits(0xa804_25fb));
        assert_eq!(
            DOCKER_DEFAULT.config()["effective"]
                .as_array()
                .unwrap()
                .len(),
            14
        );
        assert!(DOCKER_DEFAULT.has("NET_RAW") && !DOCKER_DEFAULT.has("SYS_ADMIN"));
    }
}
