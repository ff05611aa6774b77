//! Reports as their readers get them: text, pages, pictures.

#![expect(clippy::unwrap_used, reason = "a failed step is a failed test")]

mod ablation;
mod browser;
mod chromium;
mod common;
mod conclusion;
mod detail;
mod examples;
mod graph;
mod million;
mod size;
mod slower;
mod text;
mod trace_page;
mod verdicts;
