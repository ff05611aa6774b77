//! The agent's pipe without anything of ours between.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use stowplan_testkit::private_state;
use stowplan_wire::agent::{Answer, Call, Failure, Reply, Request};

/// The agent's raw pipe.
pub struct Raw {
    pub child: Child,
    pub input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl Raw {
    /// `command` starts the agent; its ledgers are the test's own unless it says otherwise.
    pub fn spawn(mut command: Command) -> Self {
        if !command.get_envs().any(|(name, _)| name == "STOWPLAN_STATE") {
            command.env("STOWPLAN_STATE", private_state());
        }
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        Self {
            input: child.stdin.take(),
            output: BufReader::new(child.stdout.take().unwrap()),
            child,
        }
    }

    pub fn line(&mut self, line: &str) -> Reply {
        writeln!(self.input.as_ref().unwrap(), "{line}").unwrap();
        let mut reply = String::new();
        self.output.read_line(&mut reply).unwrap();
        serde_json::from_str(&reply).unwrap()
    }

    pub fn call(&mut self, call: Call) -> Answer {
        self.try_call(call).unwrap()
    }

    pub fn try_call(&mut self, call: Call) -> Result<Answer, Failure> {
        let request = serde_json::to_string(&Request { id: 7, call }).unwrap();
        self.line(&request).result
    }

    /// Opens a run without node programs; gives its folder.
    pub fn open_run(&mut self, run: &str) -> String {
        let open = Call::OpenRun {
            run: run.to_owned(),
            services: vec![],
            cyclonedds_xml: String::new(),
            ring_bytes: 0,
        };
        let Answer::RunDir(path) = self.call(open) else {
            panic!("no run folder")
        };
        path
    }
}
