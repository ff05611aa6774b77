//! What the suite runs on.

use std::rc::Rc;
use std::sync::atomic::{AtomicU32, Ordering};

use stowplan_engine::{Engine, EngineError, Variant};
use stowplan_host::Host;
use stowplan_wire::deployment::IsolationPlan;

/// An engine, its host, and a way to begin and end runs there.
pub trait Stage {
    /// The engine.
    fn engine(&self) -> &dyn Engine;

    /// Its host.
    fn host(&self) -> Rc<dyn Host>;

    /// Begins a run; gives the folder on the host for its logs.
    ///
    /// # Errors
    /// When it cannot be made.
    fn open_run(&self, run: &str) -> Result<String, EngineError>;

    /// Ends the run.
    ///
    /// # Errors
    /// When something cannot be removed.
    fn close_run(&self) -> Result<(), EngineError>;
}

/// How the suite asks the engine to start services.
pub struct Setup<'a> {
    /// What it runs on.
    pub stage: &'a dyn Stage,
    /// Variant of the engine.
    pub variant: Option<String>,
    /// Root file system with `/bin/sh` for engines that cannot use the host's.
    pub rootfs: Option<String>,
    /// Isolation features, where the engine can switch them.
    pub isolation: IsolationPlan,
}

impl<'a> Setup<'a> {
    /// The engine as it is; where isolation features can be switched, as a container has them.
    #[must_use]
    pub fn plain(stage: &'a dyn Stage, variant: Option<&str>) -> Self {
        Self {
            stage,
            variant: variant.map(str::to_owned),
            rootfs: None,
            isolation: IsolationPlan::CONTAINER,
        }
    }

    /// What the variant can do.
    pub(crate) fn can(&self) -> Option<Variant> {
        let all = self.stage.engine().capabilities();
        all.variant(self.variant.as_deref()).cloned()
    }

    /// A name for the next run, different in every process.
    pub(crate) fn next_run() -> String {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        format!("conformance-{}-{number}", std::process::id())
    }
}
