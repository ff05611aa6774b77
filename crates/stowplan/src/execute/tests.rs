//! Signals, and the exit codes of experiments that broke.

use std::os::unix::process::ExitStatusExt as _;
use std::process::{Child, Command};

use stowplan_engine::EngineError;

use super::*;
use crate::progress::ProgressLine;

/// Sessions that no signal reaches but by `interruption`.
fn sessions(interruption: Interruption) -> Sessions {
    let programs = Programs {
        node: "node".into(),
        agent: "agent".into(),
        image_store: "store".into(),
    };
    Sessions {
        programs,
        interruption,
        settle: Duration::ZERO,
        comparable_with: None,
    }
}

fn agent() -> Child {
    Command::new("sleep").arg("1000").spawn().unwrap()
}

fn ended_by(agent: &mut Child) -> Option<i32> {
    agent.wait().unwrap().signal()
}

/// What an experiment that breaks in this way gives.
fn broken(
    session: Session<'_>,
    act: impl FnOnce(&mut Session<'_>),
) -> Result<Executed, ExperimentError> {
    let mut session = session;
    act(&mut session);
    Err(ExperimentError::OtherNetwork)
}

/// The only test of this program that sends a signal: all of its threads share it.
#[test]
fn a_signal_ends_the_agent_at_once_and_is_why_the_experiment_broke() {
    let sessions = sessions(Interruption::listen().unwrap());
    let mut child = agent();
    let error = sessions.run(&mut ProgressLine::default(), |session| {
        broken(session, |session| {
            (session.agent_started)(child.id());
            assert!(!session.stop.load(Ordering::SeqCst));
            let own = rustix::process::getpid();
            rustix::process::kill_process(own, rustix::process::Signal::TERM).unwrap();
            assert_eq!(ended_by(&mut child), Some(SIGTERM));
            assert!(session.stop.load(Ordering::SeqCst));
        })
    });
    let error = error.unwrap_err();
    assert_eq!(
        (error.code, &*error.message),
        (ExitCode::Interrupted, "interrupted")
    );
}

fn unheard() -> Interruption {
    Interruption {
        stop: Arc::default(),
        agent: Arc::default(),
    }
}

#[test]
fn an_agent_that_starts_after_the_signal_is_ended_too() {
    let sessions = sessions(unheard());
    sessions.interruption.stop.store(true, Ordering::SeqCst);
    let mut child = agent();
    let error = sessions.run(&mut ProgressLine::default(), |session| {
        broken(session, |session| (session.agent_started)(child.id()))
    });
    assert_eq!(error.unwrap_err().code, ExitCode::Interrupted);
    assert_eq!(ended_by(&mut child), Some(SIGTERM));
}

#[test]
fn an_agent_that_has_ended_is_forgotten() {
    let sessions = sessions(unheard());
    let agent = &sessions.interruption.agent;
    let error = sessions.run(&mut ProgressLine::default(), |session| {
        broken(session, |session| {
            (session.agent_started)(7);
            assert_eq!(agent.load(Ordering::SeqCst), 7);
        })
    });
    assert_eq!(error.unwrap_err().code, ExitCode::BadInput);
    assert_eq!(agent.load(Ordering::SeqCst), 0);
}

#[test]
fn each_kind_of_error_has_its_exit_code_and_its_hint_once() {
    let missing = ExperimentError::Missing {
        reasons: "'oci' cannot be had here".to_owned(),
        hint: "leave it out".to_owned(),
    };
    let unreadable = || std::io::Error::other("the disk is broken");
    let path = || "results/x".into();
    let kinds = [
        (missing, ExitCode::EngineUnavailable, Some("leave it out")),
        (
            EngineError::new("no runtime").hint("install one").into(),
            ExitCode::RunFailed,
            Some("install one"),
        ),
        (ExperimentError::OtherProgram, ExitCode::BadInput, None),
        (
            ExperimentError::Read {
                path: path(),
                source: unreadable(),
            },
            ExitCode::BadInput,
            None,
        ),
        (
            ExperimentError::Write {
                path: path(),
                source: unreadable(),
            },
            ExitCode::RunFailed,
            None,
        ),
        (
            ExperimentError::Results(ResultsError::Io {
                doing: "write",
                path: path(),
                source: unreadable(),
            }),
            ExitCode::RunFailed,
            None,
        ),
    ];
    for (error, code, hint) in kinds {
        let told = failed(&error);
        assert_eq!((told.code, told.hint.as_deref()), (code, hint), "{error:?}");
        assert!(hint.is_none_or(|hint| !told.message.contains(hint)));
    }
    let io = failed(&ExperimentError::Write {
        path: path(),
        source: unreadable(),
    });
    assert_eq!(io.message, "cannot write results/x: the disk is broken");
}
