//! Keeps how the program is compiled: figures of benchmarks are of that, too.

use std::env::var;
use std::process::Command;

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    let rustc = Command::new(var("RUSTC").expect("cargo says it"))
        .arg("--version")
        .output()
        .expect("cargo has run it");
    let rustc = String::from_utf8_lossy(&rustc.stdout);
    let level = var("OPT_LEVEL").expect("cargo says it");
    let target = var("TARGET").expect("cargo says it");
    let features = var("CARGO_CFG_TARGET_FEATURE").unwrap_or_default();
    println!(
        "cargo:rustc-env=STOWPLAN_COMPILED={}, opt-level {level}, {target}, {features}",
        rustc.trim()
    );
}
