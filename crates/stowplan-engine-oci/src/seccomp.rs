//! Docker's default seccomp profile, as data.
//!
//! Source: moby, `profiles/seccomp/default.json` (Apache-2.0), as Docker 25 and later have it: without `io_uring`.
//! Kept in a shape of our own: what is always allowed, what a capability allows, what depends on arguments.

use serde_json::{Value, json};

use crate::capabilities::Capabilities;

/// System calls that every container may make.
const ALWAYS: &str = "\
    accept accept4 access adjtimex alarm bind brk capget capset chdir chmod chown chown32 clock_adjtime \
    clock_adjtime64 clock_getres clock_getres_time64 clock_gettime clock_gettime64 clock_nanosleep \
    clock_nanosleep_time64 close close_range connect copy_file_range creat dup dup2 dup3 epoll_create \
    epoll_create1 epoll_ctl epoll_ctl_old epoll_pwait epoll_pwait2 epoll_wait epoll_wait_old eventfd \
    eventfd2 execve execveat exit exit_group faccessat faccessat2 fadvise64 fadvise64_64 fallocate \
    fanotify_mark fchdir fchmod fchmodat fchown fchown32 fchownat fcntl fcntl64 fdatasync fgetxattr \
    flistxattr flock fork fremovexattr fsetxattr fstat fstat64 fstatat64 fstatfs fstatfs64 fsync ftruncate \
    ftruncate64 futex futex_time64 futex_waitv futimesat getcpu getcwd getdents getdents64 getegid getegid32 \
    geteuid geteuid32 getgid getgid32 getgroups getgroups32 getitimer getpeername getpgid getpgrp getpid \
    getppid getpriority getrandom getresgid getresgid32 getresuid getresuid32 getrlimit get_robust_list \
    getrusage getsid getsockname getsockopt get_thread_area gettid gettimeofday getuid getuid32 getxattr \
    inotify_add_watch inotify_init inotify_init1 inotify_rm_watch io_cancel ioctl io_destroy io_getevents \
    io_pgetevents io_pgetevents_time64 ioprio_get ioprio_set io_setup io_submit ipc kill landlock_add_rule \
    landlock_create_ruleset landlock_restrict_self lchown lchown32 lgetxattr link linkat listen listxattr \
    llistxattr _llseek lremovexattr lseek lsetxattr lstat lstat64 madvise membarrier memfd_create \
    memfd_secret mincore mkdir mkdirat mknod mknodat mlock mlock2 mlockall mmap mmap2 mprotect mq_getsetattr \
    mq_notify mq_open mq_timedreceive mq_timedreceive_time64 mq_timedsend mq_timedsend_time64 mq_unlink \
    mremap msgctl msgget msgrcv msgsnd msync munlock munlockall munmap name_to_handle_at nanosleep \
    newfstatat _newselect open openat openat2 pause pidfd_open pidfd_send_signal pipe pipe2 pkey_alloc \
    pkey_free pkey_mprotect poll ppoll ppoll_time64 prctl pread64 preadv preadv2 prlimit64 process_mrelease \
    pselect6 pselect6_time64 pwrite64 pwritev pwritev2 read readahead readlink readlinkat readv recv \
    recvfrom recvmmsg recvmmsg_time64 recvmsg remap_file_pages removexattr rename renameat renameat2 \
    restart_syscall rmdir rseq rt_sigaction rt_sigpending rt_sigprocmask rt_sigqueueinfo rt_sigreturn \
    rt_sigsuspend rt_sigtimedwait rt_sigtimedwait_time64 rt_tgsigqueueinfo sched_getaffinity sched_getattr \
    sched_getparam sched_get_priority_max sched_get_priority_min sched_getscheduler sched_rr_get_interval \
    sched_rr_get_interval_time64 sched_setaffinity sched_setattr sched_setparam sched_setscheduler \
    sched_yield seccomp select semctl semget semop semtimedop semtimedop_time64 send sendfile sendfile64 \
    sendmmsg sendmsg sendto setfsgid setfsgid32 setfsuid setfsuid32 setgid setgid32 setgroups setgroups32 \
    setitimer setpgid setpriority setregid setregid32 setresgid setresgid32 setresuid setresuid32 setreuid \
    setreuid32 setrlimit set_robust_list setsid setsockopt set_thread_area set_tid_address setuid setuid32 \
    setxattr shmat shmctl shmdt shmget shutdown sigaltstack signalfd signalfd4 sigprocmask sigreturn \
    socketcall socketpair splice stat stat64 statfs statfs64 statx symlink symlinkat sync sync_file_range \
    syncfs sysinfo tee tgkill time timer_create timer_delete timer_getoverrun timer_gettime timer_gettime64 \
    timer_settime timer_settime64 timerfd_create timerfd_gettime timerfd_gettime64 timerfd_settime \
    timerfd_settime64 times tkill truncate truncate64 ugetrlimit umask uname unlink unlinkat utime utimensat \
    utimensat_time64 utimes vfork vmsplice wait4 waitid waitpid write writev process_vm_readv \
    process_vm_writev ptrace";

/// System calls that only some architectures have.
#[cfg(target_arch = "x86_64")]
const ARCHITECTURE: &str = "arch_prctl modify_ldt";
/// System calls that only some architectures have.
#[cfg(target_arch = "aarch64")]
const ARCHITECTURE: &str =
    "arm_fadvise64_64 arm_sync_file_range sync_file_range2 breakpoint cacheflush set_tls";

/// Architectures whose system calls the kernel may take from this one.
#[cfg(target_arch = "x86_64")]
pub(crate) const ARCHITECTURES: [&str; 3] = ["SCMP_ARCH_X86_64", "SCMP_ARCH_X86", "SCMP_ARCH_X32"];
/// Architectures whose system calls the kernel may take from this one.
#[cfg(target_arch = "aarch64")]
pub(crate) const ARCHITECTURES: [&str; 2] = ["SCMP_ARCH_AARCH64", "SCMP_ARCH_ARM"];

/// System calls that come with a capability.
const BY_CAPABILITY: [(&str, &str); 14] = [
    ("DAC_READ_SEARCH", "open_by_handle_at"),
    (
        "SYS_ADMIN",
        "bpf clone clone3 fanotify_init fsconfig fsmount fsopen fspick lookup_dcookie mount mount_setattr \
         move_mount open_tree perf_event_open quotactl quotactl_fd setdomainname sethostname setns syslog \
         umount umount2 unshare",
    ),
    ("SYS_BOOT", "reboot"),
    ("SYS_CHROOT", "chroot"),
    ("SYS_MODULE", "delete_module init_module finit_module"),
    ("SYS_PACCT", "acct"),
    ("SYS_PTRACE", "kcmp pidfd_getfd process_madvise"),
    ("SYS_RAWIO", "iopl ioperm"),
    (
        "SYS_TIME",
        "settimeofday stime clock_settime clock_settime64",
    ),
    ("SYS_TTY_CONFIG", "vhangup"),
    (
        "SYS_NICE",
        "get_mempolicy mbind set_mempolicy set_mempolicy_home_node",
    ),
    ("SYSLOG", "syslog"),
    ("BPF", "bpf"),
    ("PERFMON", "perf_event_open"),
];

/// Values of `personality` that are harmless: Linux, 32-bit, old uname and both, and asking.
const PERSONALITIES: [u64; 5] = [0x0, 0x8, 0x2_0000, 0x2_0008, 0xFFFF_FFFF];

/// Flags of `clone` that make namespaces.
const CLONE_NAMESPACES: u64 = 0x7E02_0000;

const AF_VSOCK: u64 = 40;
/// The error of what is not allowed.
pub(crate) const EPERM: u32 = 1;
const ENOSYS: u32 = 38;

/// How a first argument is compared with a value.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Compare {
    NotEqual,
    Equal,
    /// It has none of the value's bits.
    NoBitOf,
}

/// What happens with a call that is not always allowed.
#[derive(Debug)]
pub(crate) struct Rule {
    pub call: &'static str,
    /// The error that refuses it; `None` allows it.
    pub errno: Option<u32>,
    /// Only where its first argument compares so.
    pub first_argument: Option<(Compare, u64)>,
}

/// System calls that a container with these capabilities may always make.
pub(crate) fn allowed(kept: Capabilities) -> Vec<&'static str> {
    let mut allowed: Vec<&str> = ALWAYS.split(' ').chain(ARCHITECTURE.split(' ')).collect();
    for (capability, calls) in BY_CAPABILITY {
        if kept.has(capability) {
            allowed.extend(calls.split(' '));
        }
    }
    // One call may come with two capabilities; libseccomp refuses a rule that exists.
    allowed.sort_unstable();
    allowed.dedup();
    allowed
}

/// What depends on arguments.
pub(crate) fn rules(kept: Capabilities) -> Vec<Rule> {
    let allow = |call, compare, value| Rule {
        call,
        errno: None,
        first_argument: Some((compare, value)),
    };
    let mut rules = vec![allow("socket", Compare::NotEqual, AF_VSOCK)];
    rules.extend(PERSONALITIES.map(|value| allow("personality", Compare::Equal, value)));
    if !kept.has("SYS_ADMIN") {
        rules.push(allow("clone", Compare::NoBitOf, CLONE_NAMESPACES));
        // Its flags lie in memory that a filter cannot read: the C library then falls back to `clone`.
        rules.push(Rule {
            call: "clone3",
            errno: Some(ENOSYS),
            first_argument: None,
        });
    }
    rules
}

/// `linux.seccomp` of the OCI configuration for a container with these capabilities.
pub(crate) fn profile(kept: Capabilities) -> Value {
    let mut calls = vec![json!({"names": allowed(kept), "action": "SCMP_ACT_ALLOW"})];
    calls.extend(rules(kept).iter().map(call));
    json!({
        "defaultAction": "SCMP_ACT_ERRNO",
        "defaultErrnoRet": EPERM,
        "architectures": ARCHITECTURES,
        "syscalls": calls,
    })
}

fn call(rule: &Rule) -> Value {
    let mut call = json!({"names": [rule.call], "action": "SCMP_ACT_ALLOW"});
    if let Some(errno) = rule.errno {
        call["action"] = json!("SCMP_ACT_ERRNO");
        call["errnoRet"] = json!(errno);
    }
    if let Some((compare, value)) = rule.first_argument {
        let operator = match compare {
            Compare::NotEqual => "SCMP_CMP_NE",
            Compare::Equal => "SCMP_CMP_EQ",
            // Its `value` is the mask, and what is left has to be `valueTwo`.
            Compare::NoBitOf => "SCMP_CMP_MASKED_EQ",
        };
        call["args"] = json!([{"index": 0, "value": value, "valueTwo": 0, "op": operator}]);
    }
    call
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capabilities::DOCKER_DEFAULT;

    fn allows(profile: &Value, call: &str) -> bool {
        profile["syscalls"][0]["names"]
            .as_array()
            .unwrap()
            .iter()
            .any(|name| name == call)
    }

    #[test]
    fn a_default_container_may_not_mount_but_may_chroot() {
        let profile = profile(DOCKER_DEFAULT);
        assert!(allows(&profile, "read") && allows(&profile, "chroot"));
        for call in [
            "mount",
            "unshare",
            "bpf",
            "reboot",
            "io_uring_setup",
            "clone",
            "socket",
        ] {
            assert!(!allows(&profile, call), "{call}");
        }
    }

    #[test]
    fn a_call_that_two_capabilities_bring_is_listed_once() {
        let profile = profile(Capabilities::from_bits(u64::MAX));
        let names = profile["syscalls"][0]["names"].as_array().unwrap();
        assert_eq!(
            names
                .iter()
                .filter(|name| *name == "perf_event_open")
                .count(),
            1
        );
        assert!(allows(&profile, "clone3"));
    }
}
