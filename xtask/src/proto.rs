//! The committed code of gRPC interfaces, from trimmed copies of their descriptions. No `protoc` is needed, neither here
//! nor for a build.

/// The crate that speaks them.
const CRATE: &str = "crates/stowplan-engine-daemon";
/// Its descriptions; they include others.
const FILES: [&str; 6] = [
    "cri.proto",
    "containers.proto",
    "content.proto",
    "images.proto",
    "leases.proto",
    "snapshots.proto",
];

/// Writes the code.
pub(crate) fn write() -> Result<(), String> {
    let root = crate::root()?;
    let home = root.join(CRATE);
    let compiled =
        protox::compile(FILES, [home.join("proto")]).map_err(|e| format!("{CRATE}/proto: {e}"))?;
    tonic_prost_build::configure()
        .build_server(false)
        .build_transport(false)
        .out_dir(home.join("src/cri/api"))
        .include_file("mod.rs")
        .compile_fds(compiled)
        .map_err(|e| format!("cannot write {CRATE}/src/cri/api: {e}"))
}
