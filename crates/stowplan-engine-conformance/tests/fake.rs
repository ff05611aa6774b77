//! The fake engine on the fake host far away passes the suite unchanged.

use std::rc::Rc;

use stowplan_engine::{Engine, EngineError};
use stowplan_engine_conformance::{Setup, Stage, run};
use stowplan_host::Host;
use stowplan_testkit::fake::{self, FakeEngine, FakeHost};

struct FakeStage {
    host: Rc<FakeHost>,
    engine: FakeEngine,
}

impl Stage for FakeStage {
    fn engine(&self) -> &dyn Engine {
        &self.engine
    }

    fn host(&self) -> Rc<dyn Host> {
        self.host.clone()
    }

    fn open_run(&self, run: &str) -> Result<String, EngineError> {
        Ok(self.host.open_run(run))
    }

    fn close_run(&self) -> Result<(), EngineError> {
        Ok(())
    }
}

#[test]
fn fake() {
    let (host, engine) = fake::fake();
    let stage = FakeStage { host, engine };
    let report = run(&Setup::plain(&stage, None));
    assert_eq!(report.failures(), []);
    assert_eq!(report.matrix(), include_str!("matrix/fake.txt"));
    assert!(!stage.host.entered().is_empty());
}
