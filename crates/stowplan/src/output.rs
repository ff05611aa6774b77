//! Standard output: where it cannot be written the command says so, and a reader that has seen enough is none.

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

pub(crate) use {tell, tell_on};
