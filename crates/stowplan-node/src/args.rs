//! The command line.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use lexopt::{Arg, ValueExt};

use crate::bench::BenchArgs;
use crate::error::NodeError;
use crate::exec::ExecArgs;
use crate::pingpong::{PingPongArgs, Role, Wake};

/// How to call the program.
pub const USAGE: &str = "stowplan-node launch PLAN --files DIR | exec PLAN PROCESS --files DIR [--load-fd N] | \
     calibrate --working-set BYTES[,BYTES…] --cpu N | \
     pingpong ping|pong --domain N --config XML --bytes N [--seconds N] [--reliability best-effort|reliable] [--wake waitset|listener] | \
     bench NAME [--ms N] [--folder DIR] [--disk image|volume|tmpfs] [--read FILE] [--bytes N] [--config XML --domain N] | \
     alive SOCKET | version";

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
    /// Run a benchmark.
    Bench(BenchArgs),
    /// Ask a service whether it does its work.
    Alive {
        /// Where it answers.
        socket: PathBuf,
    },
    /// Print the build id.
    Version,
}

/// Reads the command line, without the program's name.
///
/// # Errors
/// When it is not one of [`USAGE`].
pub fn parse(arguments: impl Iterator<Item = String>) -> Result<Command, NodeError> {
    let mut given = Given::read(lexopt::Parser::from_args(arguments))?;
    let plain = std::mem::take(&mut given.plain);
    let plain: Vec<&str> = plain.iter().map(String::as_str).collect();
    let command = match plain[..] {
        ["launch", plan] => Command::Launch {
            plan: plan.into(),
            files: given.required("files")?.into(),
        },
        ["exec", plan, process] => Command::Exec(ExecArgs {
            plan: plan.into(),
            process: process.to_owned(),
            files: given.required("files")?.into(),
            load_fd: given.number("load-fd")?,
        }),
        ["calibrate"] => Command::Calibrate {
            working_sets: given
                .required("working-set")?
                .split(',')
                .map(|bytes| number("working-set", bytes))
                .collect::<Result<_, _>>()?,
            cpu: number("cpu", &given.required("cpu")?)?,
        },
        ["pingpong", "ping"] => Command::PingPong(given.pingpong(Role::Ping)?),
        ["pingpong", "pong"] => Command::PingPong(given.pingpong(Role::Pong)?),
        ["bench", name] => Command::Bench(given.bench(name)?),
        ["alive", socket] => Command::Alive {
            socket: socket.into(),
        },
        ["version"] => Command::Version,
        [] => return Err(usage("no command".into())),
        _ => return Err(usage(format!("'{}' is no command", plain.join(" ")))),
    };
    match given.options.first_key_value() {
        None => Ok(command),
        Some((option, _)) => Err(usage(format!(
            "--{option} does not belong to '{}'",
            plain[0]
        ))),
    }
}

/// What stands on the command line: words, and options with their values.
#[derive(Default)]
struct Given {
    plain: Vec<String>,
    options: BTreeMap<String, String>,
}

impl Given {
    fn read(mut parser: lexopt::Parser) -> Result<Self, NodeError> {
        let mut given = Self::default();
        let wrong = |error: lexopt::Error| usage(error.to_string());
        while let Some(argument) = parser.next().map_err(wrong)? {
            match argument {
                Arg::Long("version") => given.plain.push("version".to_owned()),
                Arg::Long(name) => {
                    let name = name.to_owned();
                    let value = parser.value().and_then(|value| value.string());
                    given.options.insert(name, value.map_err(wrong)?);
                }
                Arg::Value(word) => given.plain.push(word.string().map_err(wrong)?),
                Arg::Short(_) => return Err(wrong(argument.unexpected())),
            }
        }
        Ok(given)
    }

    fn required(&mut self, name: &str) -> Result<String, NodeError> {
        let value = self.options.remove(name);
        value.ok_or_else(|| usage(format!("--{name} is missing")))
    }

    fn number<N: std::str::FromStr>(&mut self, name: &str) -> Result<Option<N>, NodeError> {
        let value = self.options.remove(name);
        value.map(|value| number(name, &value)).transpose()
    }

    fn bench(&mut self, name: &str) -> Result<BenchArgs, NodeError> {
        Ok(BenchArgs {
            name: name.to_owned(),
            time: Duration::from_millis(self.number("ms")?.unwrap_or(1000)),
            folder: self.options.remove("folder").map(Into::into),
            disk: self.options.remove("disk"),
            read: self.options.remove("read").map(Into::into),
            bytes: self.number("bytes")?.unwrap_or(64 << 20),
            config: self.options.remove("config").map(Into::into),
            domain: self.number("domain")?,
        })
    }

    fn pingpong(&mut self, role: Role) -> Result<PingPongArgs, NodeError> {
        let reliability = self.options.remove("reliability");
        let wake = self.options.remove("wake");
        Ok(PingPongArgs {
            role,
            domain: number("domain", &self.required("domain")?)?,
            config: self.required("config")?.into(),
            bytes: number("bytes", &self.required("bytes")?)?,
            seconds: self.number("seconds")?.unwrap_or(10),
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
    parsed.map_err(|_| usage(format!("--{option} {value}: not a number that fits")))
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
        assert_eq!(
            parsed("bench file-random --ms 50 --folder /data --disk volume --bytes 4096").unwrap(),
            Command::Bench(BenchArgs {
                name: "file-random".to_owned(),
                time: Duration::from_millis(50),
                folder: Some("/data".into()),
                disk: Some("volume".to_owned()),
                read: None,
                bytes: 4096,
                config: None,
                domain: None,
            })
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
            (
                "calibrate --working-set",
                "missing argument for option '--working-set'",
            ),
            ("calibrate --working-set x --cpu 0", "not a number"),
            ("calibrate --working-set 64, --cpu 0", "not a number"),
            ("exec -x p q", "invalid option '-x'"),
        ] {
            let error = parsed(line).unwrap_err().to_string();
            assert!(error.contains(message), "{line}: {error}");
        }
    }
}
