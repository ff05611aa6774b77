//! How often verdicts are wrong, by simulation.

mod false_alarms;
mod two_stage;
