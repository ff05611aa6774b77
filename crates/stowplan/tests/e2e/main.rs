//! The built program from end to end, as its users and their scripts call it.

#![expect(clippy::unwrap_used, reason = "a failed step is a failed test")]

mod ablation;
mod against;
mod applications;
mod bench;
mod bounds;
mod command_lines;
mod commands;
mod containers;
mod copies;
mod dds;
mod devices;
mod edges;
mod errors;
mod faults;
mod first;
mod instrument;
mod interrupted;
mod known;
mod launching;
mod learn;
mod lifecycle;
mod measured;
mod nothing_left;
mod one_at_a_time;
mod phases;
mod pilot;
mod places;
mod plan;
mod preempted;
mod real_tools;
mod record;
mod replay;
mod selftest;
mod sensitivity;
mod small_disk;
mod support;
mod toolbox;
mod trace_compare;
mod trace_event;
mod trace_outputs;
mod traced;
mod traces;
mod undisturbed;
mod vision;
