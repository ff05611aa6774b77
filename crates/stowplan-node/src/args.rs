//! The command line.

use std::path::PathBuf;

use crate::error::NodeError;
use crate::exec::ExecArgs;
use crate::pingpong::{PingPongArgs, Role, Wake};

/// How to call the program.
pub const USAGE: &str = "stowplan-node launch PLAN --files DIR | exec PLAN PROCESS --files DIR [--load-fd N] | \
     calibrate --working-set BYTES[,BYTES…] --cpu N | \
     pingpong ping|pong --domain N --config XML --bytes N [--seconds N] [--reliability best-effort|reliable] [--wake waitset|listener] | version";

/// What the program is asked to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Command {
    /// Launch a service.
    Launch {
        /// `plan.json`.
        plan: PathBuf,
        /// Folder of start-up files.
        files: PathBuf,
    },
    /// Run one process of it.
    Exec(ExecArgs),
    /// Measure the work kernel.
    Calibrate {
        /// Working sets in bytes.
        working_sets: Vec<u64>,
        /// CPU to run on.
        cpu: u32,
    },
    /// Measure round trips over DDS.
    PingPong(PingPongArgs),
    /// Print the build id.
    Version,
}

/// Reads the command line, without the program's name.
///
/// # Errors
/// When it is not one of [`USAGE`].
pub fn parse(arguments: impl Iterator<Item = String>) -> Result<Command, NodeError> {
    let mut plain = Vec::new();
    let mut options = Vec::new();
    let mut arguments = arguments;
    while let Some(argument) = arguments.next() {
        if argument == "--version" {
            plain.push("version".to_owned());
        } else if argument.starts_with("--") {
            let value = arguments.next();
            let value = value.ok_or_else(|| usage(format!("{argument} has no value")))?;
            options.push((argument, value));
        } else {
            plain.push(argument);
        }
    }
    let mut options = Options(options);
    let plain: Vec<&str> = plain.iter().map(String::as_str).collect();
    let command = match plain[..] {
        ["launch", plan] => Command::Launch {
            plan: plan.into(),
            files: options.required("--files")?.into(),
        },
        ["exec", plan, process] => Command::Exec(ExecArgs {
            plan: plan.into(),
            process: process.to_owned(),
            files: options.required("--files")?.into(),
            load_fd: match options.take("--load-fd") {
                None => None,
                Some(value) => Some(number("--load-fd", &value)?),
            },
        }),
        ["calibrate"] => Command::Calibrate {
            working_sets: options
                .required("--working-set")?
                .split(',')
                .map(|bytes| number("--working-set", bytes))
                .collect::<Result<_, _>>()?,
            cpu: number("--cpu", &options.required("--cpu")?)?,
        },
        ["pingpong", "ping"] => Command::PingPong(options.pingpong(Role::Ping)?),
        ["pingpong", "pong"] => Command::PingPong(options.pingpong(Role::Pong)?),
        ["version"] => Command::Version,
        [] => return Err(usage("no command".into())),
        _ => return Err(usage(format!("'{}' is no command", plain.join(" ")))),
    };
    match options.0.first() {
        None => Ok(command),
        Some((option, _)) => Err(usage(format!("{option} does not belong to '{}'", plain[0]))),
    }
}

struct Options(Vec<(String, String)>);

impl Options {
    fn take(&mut self, name: &str) -> Option<String> {
        let at = self.0.iter().position(|(option, _)| option == name)?;
        Some(self.0.remove(at).1)
    }

    fn required(&mut self, name: &str) -> Result<String, NodeError> {
        self.take(name)
            .ok_or_else(|| usage(format!("{name} is missing")))
    }

    fn pingpong(&mut self, role: Role) -> Result<PingPongArgs, NodeError> {
        let reliability = self.take("--reliability");
        let wake = self.take("--wake");
        Ok(PingPongArgs {
            role,
            domain: number("--domain", &self.required("--domain")?)?,
            config: self.required("--config")?.into(),
            bytes: number("--bytes", &self.required("--bytes")?)?,
            seconds: match self.take("--seconds") {
                None => 10,
                Some(value) => number("--seconds", &value)?,
            },
            reliable: match reliability.as_deref() {
                None | Some("best-effort") => false,
                Some("reliable") => true,
                Some(other) => {
                    return Err(usage(format!(
                        "--reliability {other}: neither best-effort nor reliable"
                    )));
                }
            },
            wake: match wake.as_deref() {
                None | Some("waitset") => Wake::WaitSet,
                Some("listener") => Wake::Listener,
                Some(other) => {
                    return Err(usage(format!(
                        "--wake {other}: neither waitset nor listener"
                    )));
                }
            },
        })
    }
}

fn number<N: std::str::FromStr>(option: &str, value: &str) -> Result<N, NodeError> {
    let parsed = value.parse();
    parsed.map_err(|_| usage(format!("{option} {value}: not a number that fits")))
}

fn usage(message: String) -> NodeError {
    NodeError::Usage {
        message,
        hint: USAGE,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Result<Command, NodeError> {
        parse(line.split_whitespace().map(str::to_owned))
    }

    #[test]
    fn commands_are_understood() {
        assert_eq!(
            parsed("launch /run/plan.json --files /files").unwrap(),
            Command::Launch {
                plan: "/run/plan.json".into(),
                files: "/files".into()
            }
        );
        assert_eq!(
            parsed("exec --load-fd 5 plan.json lidar --files f").unwrap(),
            Command::Exec(ExecArgs {
                plan: "plan.json".into(),
                process: "lidar".into(),
                files: "f".into(),
                load_fd: Some(5)
            })
        );
        assert_eq!(
            parsed("calibrate --working-set 16384,65536 --cpu 1").unwrap(),
            Command::Calibrate {
                working_sets: vec![16_384, 65_536],
                cpu: 1
            }
        );
        assert_eq!(parsed("--version").unwrap(), Command::Version);
        assert_eq!(
            parsed("pingpong pong --domain 3 --config c --bytes 1024 --reliability reliable --wake listener")
                .unwrap(),
            Command::PingPong(PingPongArgs {
                role: Role::Pong,
                domain: 3,
                config: "c".into(),
                bytes: 1024,
                seconds: 10,
                reliable: true,
                wake: Wake::Listener
            })
        );
    }

    #[test]
    fn what_is_wrong_is_said() {
        for (line, message) in [
            ("", "no command"),
            ("fly", "'fly' is no command"),
            ("launch p", "--files is missing"),
            ("version --cpu 1", "--cpu does not belong to 'version'"),
            ("calibrate --working-set", "--working-set has no value"),
            ("calibrate --working-set x --cpu 0", "not a number"),
            ("calibrate --working-set 64, --cpu 0", "not a number"),
        ] {
            let error = parsed(line).unwrap_err().to_string();
            assert!(error.contains(message), "{line}: {error}");
        }
    }
}
