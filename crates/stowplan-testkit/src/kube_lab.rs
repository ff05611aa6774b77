//! The Kubernetes of tests: `tests/fixtures/kube-lab`, of which a machine has one.

use std::process::Command;

use crate::available::absent;
use crate::lab_files::{folder, script};
use crate::mortal::Mortal;
use crate::user::{Kubernetes, User};

/// Variable that kubectl's file is told by.
const VARIABLE: &str = "STOWPLAN_KUBECONFIG";

/// The one that `script/common.sh` has started, whose API server may be killed.
#[derive(Debug)]
pub struct KubeLab {
    is_killed: bool,
    has_policy: bool,
}

impl KubeLab {
    /// The one that runs; `None` where none does.
    ///
    /// # Panics
    /// When none does, and `$STOWPLAN_REQUIRE_ENGINES` names `kube`.
    #[must_use]
    pub fn running() -> Option<Self> {
        if folder().join("apiserver.pid").exists() {
            return Some(Self {
                is_killed: false,
                has_policy: false,
            });
        }
        absent("kube", "tests/fixtures/kube-lab is not started");
        None
    }

    /// Has engines of this process find it, with a folder for ledgers that only this process has.
    ///
    /// # Safety
    /// No other thread reads or writes the environment: only the one test of a program may call it.
    pub unsafe fn use_here(&self) {
        // SAFETY: the caller sees to it.
        unsafe {
            std::env::set_var(VARIABLE, folder().join("admin.kubeconfig"));
            std::env::set_var("STOWPLAN_STATE", crate::private_state());
        }
    }

    /// Starts its kubelet again with this policy of the CPU manager; the default, `none`, comes back when this is dropped.
    ///
    /// # Panics
    /// When it does not start.
    pub fn cpu_manager(&mut self, policy: &str) {
        self.has_policy = policy != "none";
        self.tell(&["cpu-manager", policy]);
    }

    fn tell(&self, words: &[&str]) {
        let status = Command::new(script()).args(words).status();
        assert!(status.expect("a script").success(), "lab.sh {words:?}");
    }
}

impl Mortal for KubeLab {
    fn engine(&self) -> &'static str {
        "kube"
    }

    fn user(&self) -> Box<dyn User> {
        Box::new(Kubernetes)
    }

    fn kill(&mut self) {
        self.tell(&["kill-api"]);
        self.is_killed = true;
    }

    fn start_again(&mut self) {
        if std::mem::take(&mut self.is_killed) {
            self.tell(&["start-api"]);
        }
    }
}

impl Drop for KubeLab {
    fn drop(&mut self) {
        self.start_again();
        if self.has_policy {
            self.cpu_manager("none");
        }
    }
}
