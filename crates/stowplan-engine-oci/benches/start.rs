//! Creation and start of 26 services of one small process each: `oci` beside `bare` and beside `runc run` of the same
//! bundles, interleaved. Prints medians and ratios; needs root, `cc` and `runc`.
//!
//! `cargo bench -p stowplan-engine-oci --bench start`

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::rc::Rc;
use std::time::{Duration, Instant};

use stowplan_engine::Engine;
use stowplan_engine_bare::Bare;
use stowplan_engine_oci::{OciEngine, helper_main, runtime_config};
use stowplan_host::LocalHost;
use stowplan_wire::deployment::{
    Access, DeploymentPlan, IsolationPlan, Program, Select, ServiceStart,
};

const SERVICES: usize = 26;
const REPEATS: usize = 15;
const PROGRAM: &str = "#include <unistd.h>\nint main(void) { for (;;) pause(); }\n";

fn main() {
    match std::env::args().nth(1).as_deref() {
        // The engine starts this program as its helper.
        Some("oci") => helper_main(),
        _ => bench(),
    }
}

fn bench() {
    // On tmpfs, as /run is where ledgers lie: a ledger on a busy disk would be what is measured.
    let folder = tempfile::tempdir_in("/dev/shm").expect("a temporary folder");
    let root = make_root(folder.path());
    let names = ["bare:flat", "bare:grouped", "oci", "runc"];
    let mut times: Vec<Vec<Duration>> = vec![Vec::new(); names.len()];
    for repeat in 0..REPEATS {
        for (index, name) in names.iter().enumerate() {
            let run = format!("bench-{}-{repeat}-{index}", std::process::id());
            let plan = plan(&run, &root, name);
            fs::create_dir_all(&plan.run_dir).expect("the run folder");
            times[index].push(match *name {
                "runc" => with_runc(&plan, &root, folder.path()),
                "oci" => with_engine(&OciEngine::default(), &plan, folder.path()),
                _ => with_engine(&Bare, &plan, folder.path()),
            });
            fs::remove_dir_all(&plan.run_dir).expect("the run folder");
        }
    }
    let medians: Vec<f64> = times.iter_mut().map(|times| median(times)).collect();
    println!("create + start of {SERVICES} services, median of {REPEATS}, interleaved");
    for (name, ms) in names.iter().zip(&medians) {
        println!("{name:14}{ms:8.1} ms{:8.2} × runc", ms / medians[3]);
    }
}

fn median(times: &mut [Duration]) -> f64 {
    times.sort_unstable();
    times[times.len() / 2].as_secs_f64() * 1e3
}

/// A root file system with one static program.
fn make_root(folder: &Path) -> PathBuf {
    let root = folder.join("root");
    for name in ["proc", "sys", "dev"] {
        fs::create_dir_all(root.join(name)).expect("a folder");
    }
    let source = folder.join("pause.c");
    fs::write(&source, PROGRAM).expect("a file");
    let built = Command::new("cc")
        .args(["-static", "-Os", "-s", "-o"])
        .arg(root.join("pause"))
        .arg(&source)
        .status();
    assert!(
        built.is_ok_and(|status| status.success()),
        "cc -static works"
    );
    root
}

fn plan(run: &str, root: &Path, name: &str) -> DeploymentPlan {
    let container = !name.starts_with("bare");
    let run_dir = format!("/dev/shm/stowplan-{run}");
    let program = if container {
        Program::Command {
            command: vec!["/pause".into()],
            env: vec![],
            rootfs: Some(root.display().to_string()),
            access: Access::default(),
        }
    } else {
        Program::Command {
            command: vec![root.join("pause").display().to_string()],
            env: vec![],
            rootfs: None,
            access: Access::default(),
        }
    };
    let services = (0..SERVICES).map(|number| ServiceStart {
        log: format!("{run_dir}/s{number}.log"),
        ..ServiceStart::new(format!("s{number}"), program.clone())
    });
    DeploymentPlan {
        run: run.into(),
        services: services.collect(),
        run_dir,
        variant: name.split_once(':').map(|(_, variant)| variant.into()),
        image_dir: String::new(),
        isolation: IsolationPlan {
            overlay: false,
            ..IsolationPlan::CONTAINER
        },
        parallelism: 0,
    }
}

fn with_engine(engine: &dyn Engine, plan: &DeploymentPlan, state: &Path) -> Duration {
    let host = LocalHost::new(state).expect("a host");
    host.open_run(&plan.run).expect("a ledger");
    let host = Rc::new(host);
    let mut deployment = engine.prepare(plan, host.clone()).expect("prepare");
    let begin = Instant::now();
    deployment.create(&Select::All).expect("create");
    deployment.start(&Select::All).expect("start");
    let time = begin.elapsed();
    deployment.destroy().expect("destroy");
    drop(deployment);
    host.close_run().expect("an empty ledger");
    time
}

fn with_runc(plan: &DeploymentPlan, root: &Path, folder: &Path) -> Duration {
    let state = folder.join("runc");
    let runc = |arguments: &[&str]| {
        let mut command = Command::new("runc");
        command.arg("--root").arg(&state).args(arguments);
        command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        command
    };
    let bundles: Vec<(String, PathBuf)> = plan
        .services
        .iter()
        .map(|service| {
            let id = format!("{}-{}", plan.run, service.name);
            (id, bundle(plan, &service.name, root, folder))
        })
        .collect();
    let begin = Instant::now();
    let running: Vec<_> = bundles
        .iter()
        .map(|(id, bundle)| {
            let bundle = bundle.display().to_string();
            runc(&["run", "-d", "--bundle", &bundle, id])
                .spawn()
                .expect("runc")
        })
        .collect();
    for mut child in running {
        assert!(child.wait().expect("runc").success(), "runc run");
    }
    let time = begin.elapsed();
    for (id, _) in &bundles {
        assert!(
            runc(&["delete", "--force", id])
                .status()
                .expect("runc")
                .success()
        );
    }
    time
}

fn bundle(plan: &DeploymentPlan, service: &str, root: &Path, folder: &Path) -> PathBuf {
    let bundle = folder.join(format!("{}-{service}", plan.run));
    fs::create_dir_all(&bundle).expect("a folder");
    fs::create_dir_all(Path::new(&plan.run_dir).join(service)).expect("a folder");
    let text = runtime_config(plan, service, root).expect("a configuration");
    let mut config: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    config["linux"]["cgroupsPath"] = format!("/stowplan-{}-{service}", plan.run).into();
    fs::write(bundle.join("config.json"), config.to_string()).expect("a file");
    bundle
}
