//! Daemons that tests may kill.

use crate::user::User;

/// A daemon that an engine asks.
pub trait Mortal {
    /// Name of its engine.
    fn engine(&self) -> &'static str;

    /// Somebody who uses it.
    fn user(&self) -> Box<dyn User>;

    /// Kills it, if it runs. What it has started goes on.
    fn kill(&mut self);

    /// Starts it where it does not run: it finds what it had.
    ///
    /// # Panics
    /// When it does not run.
    fn start_again(&mut self);
}
