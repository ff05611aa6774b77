//! The fake engine on the fake host far away passes the suite unchanged.

use std::rc::Rc;

use stowplan_engine::{Engine, EngineError};
use stowplan_engine_conformance::{Setup, Stage, run, run_some};
use stowplan_host::Host;
use stowplan_testkit::fake::{self, FakeEngine, FakeHost, Fault};

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

/// Every fault fails the cases that are there for it.
#[test]
fn faults_are_found() {
    for (fault, case) in [
        (Fault::StopsNothing, "ends.stop-insists"),
        (Fault::StopsNothing, "ends.stop-takes-children"),
        (Fault::CreateRuns, "life.create-does-not-run"),
        (Fault::ForgetsExits, "ends.exit-midway"),
        (Fault::TellsStops, "ends.stop-twice"),
        (Fault::LocatorsLie, "life.locators-true"),
        (Fault::NamespacesLie, "life.locators-true"),
        (Fault::LimitsDoNotAct, "limits.cpu-quota"),
        (Fault::LimitsDoNotAct, "limits.cpu-weight"),
        (Fault::DropsLimits, "limits.memory"),
        (Fault::DropsLimits, "limits.cpuset"),
        (Fault::LeavesServices, "ends.drop-leaves-nothing"),
        (Fault::PretendsToPause, "life.pause"),
        (Fault::WholeLogs, "life.log-tail"),
    ] {
        let (host, engine) = fake::faulty(fault);
        let stage = FakeStage { host, engine };
        let report = run_some(&Setup::plain(&stage, None), |name| name == case);
        assert_eq!(report.failures().len(), 1, "{fault:?} passes {case}");
    }
}
