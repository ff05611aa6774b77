//! The built program from end to end, as its users and their scripts call it.

mod commands;
mod errors;
mod faults;
mod interrupted;
mod known;
mod measured;
mod nothing_left;
mod one_at_a_time;
mod plan;
mod support;
mod traces;
