//! `stowplan trace record`: a command, or a container that runs already, through LTTng.

mod subject;
mod wait;

use std::path::Path;

use stowplan_host::ledger::{self, Ledger, Object};
use stowplan_lttng::{
    Buffers, Container, Memory, Naming, Options, Recorded, Recorder, Tools, Verdict, produced,
    verdict,
};
use stowplan_model::units::show_bytes;

use crate::cli::RecordArgs;
use crate::documents::trace_record::{RecordedProcess, TraceRecord};
use crate::failure::{CommandError, ExitCode, OrExit};
use crate::inputs;
use crate::output::note;
use subject::{Ended, Subject};

/// Runs the command; ends the process with the status of the recorded one where that is not 0.
pub fn run(args: &RecordArgs) -> Result<(), CommandError> {
    is_free(&args.output)?;
    let plan = Plan::new(args)?;
    // Before any other thread is there: signals are read from a descriptor, so that each is passed on once.
    stowplan_lttng::block_signals().or_exit(ExitCode::RunFailed)?;
    let state = ledger::folder().or_exit(ExitCode::RunFailed)?;
    let name = format!("{}-record", std::process::id());
    let mut ledger = Ledger::open(&state, &name).or_exit(ExitCode::RunFailed)?;
    let recorded = plan.record(&name, &mut |object| ledger.enter(object));
    let closed = ledger.close().or_exit(ExitCode::RunFailed);
    let (ended, recorded) = recorded?;
    closed?;
    let document = plan.document(&ended, &recorded)?;
    tell(&document);
    document.save(&args.output)?;
    match ended.status {
        None | Some(0) => Ok(()),
        Some(status) => std::process::exit(status),
    }
}

/// A trace must not be mixed with another.
fn is_free(output: &Path) -> Result<(), CommandError> {
    let used = match output.read_dir() {
        Ok(mut entries) => entries.next().is_some(),
        Err(error) => error.kind() != std::io::ErrorKind::NotFound,
    };
    if !used {
        return Ok(());
    }
    let message = format!("{} is there and no empty folder", output.display());
    Err(CommandError::new(ExitCode::BadInput, message).hint("name a new folder with --output"))
}

/// What is recorded and how.
struct Plan<'a> {
    args: &'a RecordArgs,
    tools: Tools,
    buffers: Buffers,
    container: Option<Container>,
}

impl<'a> Plan<'a> {
    fn new(args: &'a RecordArgs) -> Result<Self, CommandError> {
        let tools = Tools::find().or_exit(ExitCode::EngineUnavailable)?;
        let memory = Memory::of_this_machine().or_exit(ExitCode::RunFailed)?;
        let buffers = match args.buffer_mib {
            Some(mib) => Buffers::given(mib << 20, memory.cpus).or_exit(ExitCode::Usage)?,
            None => Buffers::by_rule(memory, 1).or_exit(ExitCode::RunFailed)?,
        };
        let pid = match &args.container {
            Some(name) => Some(stowplan_lttng::init_of(name).or_exit(ExitCode::BadInput)?),
            None => args.pid,
        };
        let container = pid.map(Container::of).transpose();
        Ok(Self {
            args,
            tools,
            buffers,
            container: container.or_exit(ExitCode::BadInput)?,
        })
    }

    fn record(
        &self,
        name: &str,
        enter: &mut dyn FnMut(&Object) -> Result<(), stowplan_host::HostError>,
    ) -> Result<(Ended, Recorded), CommandError> {
        let length = self
            .args
            .length
            .as_deref()
            .map(inputs::duration)
            .transpose()?;
        let options = Options {
            tools: &self.tools,
            name,
            trace_dir: &self.args.output,
            buffers: self.buffers,
            container: self.container.as_ref(),
        };
        let recorder = Recorder::start(&options, enter).or_exit(ExitCode::RunFailed)?;
        self.tell_begin(&recorder);
        let subject = match &self.container {
            Some(container) => Subject::Container(*container),
            None => match Subject::start(&self.args.command, &recorder.environment()) {
                Ok(subject) => subject,
                Err(error) => {
                    drop(recorder);
                    self.remove_empty_folders();
                    return Err(error);
                }
            },
        };
        let ended = subject.watch(length).or_exit(ExitCode::RunFailed)?;
        let recorded = recorder.stop().or_exit(ExitCode::RunFailed)?;
        Ok((ended, recorded))
    }

    /// Where nothing was recorded the next attempt is to find the folder free.
    fn remove_empty_folders(&self) {
        let folders = [self.args.output.join("ust"), self.args.output.clone()];
        for folder in folders {
            // One that is not empty holds something, and stays.
            let _ = std::fs::remove_dir(folder);
        }
    }

    fn tell_begin(&self, recorder: &Recorder) {
        let place = if recorder.is_system_wide() {
            "a session daemon of its own in the place of root's (no CAP_SYS_ADMIN here)".to_owned()
        } else if self.container.is_some() {
            "a session daemon of its own that listens in the container".to_owned()
        } else {
            let [(name, value)] = recorder.environment();
            format!("a session daemon of its own, {name}={value}")
        };
        note!(
            "recording by LTTng {} with {place}; {} of buffers for {} CPUs",
            self.tools.version,
            show_bytes(self.buffers.bytes() as f64),
            self.buffers.cpus
        );
        if self.buffers.short {
            note!("warning: free memory allows for smaller buffers than the rule asks for");
        }
    }

    fn document(&self, ended: &Ended, recorded: &Recorded) -> Result<TraceRecord, CommandError> {
        let found = produced(&self.args.output).or_exit(ExitCode::RunFailed)?;
        let of = if self.container.is_some() {
            "the container"
        } else {
            "the command"
        };
        let Verdict { warnings, hints } = verdict(of, &ended.seen, &found, Naming::Pids);
        let words = self
            .args
            .command
            .iter()
            .map(|word| word.to_string_lossy().into_owned());
        Ok(TraceRecord {
            schema: "stowplan.trace-record/1",
            command: words.collect(),
            container_pid: self.container.map(|container| container.pid),
            exit_status: ended.status,
            exit_status_reason: ended
                .status
                .is_none()
                .then(|| "a container that ran already was recorded".to_owned()),
            lttng_version: self.tools.version.clone(),
            sub_buffer_bytes: self.buffers.sub_buffer_bytes,
            sub_buffers: self.buffers.sub_buffers,
            cpus: self.buffers.cpus,
            contexts_left_out: recorded.left_out.clone(),
            events: found.events(),
            discarded_events: found.discarded_events,
            discarded_packets: found.discarded_packets,
            processes: found
                .processes
                .into_iter()
                .map(RecordedProcess::from)
                .collect(),
            warnings,
            hints,
        })
    }
}

/// Says on standard error what came of it: standard output is the command's.
fn tell(record: &TraceRecord) {
    let recorded = record.processes.iter().filter(|process| process.events > 0);
    note!(
        "{} events of {} processes, {} discarded",
        record.events,
        recorded.count(),
        record.discarded_events
    );
    if !record.contexts_left_out.is_empty() {
        let contexts = record.contexts_left_out.join(", ");
        note!("warning: without the contexts {contexts}, which this kernel or LTTng does not have");
    }
    if record.discarded_events > 0 || record.discarded_packets > 0 {
        let mib = (record.sub_buffer_bytes * record.sub_buffers) >> 20;
        note!(
            "warning: the tracer discarded {} events and {} packets\nhint: --buffer-mib with more than {mib}",
            record.discarded_events,
            record.discarded_packets
        );
    }
    for warning in &record.warnings {
        note!("warning: {warning}");
    }
    for hint in &record.hints {
        note!("hint: {hint}");
    }
}
