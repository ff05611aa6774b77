//! Standard output and standard error. A reader that has seen enough (`| head`) is no fault, and output that
//! cannot be written is told. SIGPIPE stays ignored: its default would end an experiment whose agent is gone
//! before it could say which run failed.

use std::fmt::Arguments;
use std::io::{ErrorKind, Write as _};

use crate::failure::{CommandError, ExitCode};

/// Writes to standard output. A reader that closed its end, as `head` does, has what it wanted.
pub fn write(text: Arguments<'_>) -> Result<(), CommandError> {
    let mut out = std::io::stdout().lock();
    match out.write_fmt(text).and_then(|()| out.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(CommandError::new(
            ExitCode::RunFailed,
            format!("cannot write to standard output: {error}"),
        )),
        _ => Ok(()),
    }
}

/// `println!` that gives an error instead of panicking.
macro_rules! tell {
    ($($text:tt)*) => { $crate::output::write(format_args!("{}\n", format_args!($($text)*))) };
}

/// `print!` that gives an error instead of panicking.
macro_rules! tell_on {
    ($($text:tt)*) => { $crate::output::write(format_args!($($text)*)) };
}

/// `eprintln!` that does not panic: what nobody can read is not told.
macro_rules! note {
    ($($text:tt)*) => { $crate::output::write_note(format_args!($($text)*)) };
}

pub(crate) use {note, tell, tell_on};

/// Writes a line to standard error, if it can be written.
pub fn write_note(text: Arguments<'_>) {
    let _ = writeln!(std::io::stderr().lock(), "{text}");
}
