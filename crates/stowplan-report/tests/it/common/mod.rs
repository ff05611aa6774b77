//! A made-up experiment with the shape of betz2024 and wen2024: 191 nodes, three places, two
//! partitions, one chain of 17 callbacks, ten modules. Nothing in it was measured.
mod detailed;
mod kept;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;
use serde_json::json;
use stowplan_judge::Judgement;
use stowplan_results::{
    ColdState, Experiment, Label, LatencyRow, LossCause, LossRow, OutputRow, ProcessKind,
    ProcessRow, Results, ResultsWriter, RunData, RunRow, RunStatus, StartKind, StartupRow,
    SubjectKind, UsageRow,
};

/// How large the experiment is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Size {
    /// Blocks.
    pub blocks: u32,
    /// Chain instances per run.
    pub instances: u64,
    /// Samples of usage per run and subject.
    pub samples: i64,
}

const MODULES: [&str; 10] = [
    "system",
    "map",
    "sensing",
    "localization",
    "perception",
    "planning",
    "control",
    "vehicle",
    "api",
    "simulator",
];
const SERVICES: [&str; 8] = [
    "api",
    "control",
    "localization",
    "map",
    "perception",
    "planning",
    "sensing",
    "vehicle",
];

/// Deployment: id, place, partition, factors on idle, communication, computation, start-up.
const DEPLOYMENTS: [(&str, &str, &str, [f64; 4]); 5] = [
    (
        "bare:flat/single",
        "bare:flat",
        "single",
        [1.0, 1.0, 1.0, 1.0],
    ),
    (
        "bare:flat/betz-8",
        "bare:flat",
        "betz-8",
        [1.0, 1.1, 1.01, 0.52],
    ),
    (
        "bare:grouped/betz-8",
        "bare:grouped",
        "betz-8",
        [0.95, 0.62, 0.94, 0.53],
    ),
    ("oci/single", "oci", "single", [0.99, 1.05, 1.0, 1.02]),
    ("oci/betz-8", "oci", "betz-8", [0.95, 0.66, 0.95, 0.56]),
];
const CHAIN: &str = "lidar to control";

fn experiment(size: Size) -> serde_json::Value {
    let mut deployments: Vec<serde_json::Value> = DEPLOYMENTS
        .iter()
        .map(|(id, place, partition, _)| {
            let split = *partition != "single";
            let services = if split { 8 } else { 1 };
            json!({
                "id": id, "label": format!("{place} · {partition}"), "place": place,
                "partition": partition, "services": services, "processes": 60 + services,
                "participants": 60 + services,
                "edges_by_class": {
                    "same-process": {"edges": if split { 371 } else { 402 }, "bytes_per_s": 81_000_000.0},
                    "loopback": {"edges": if split { 209 } else { 178 }, "bytes_per_s": if split { 44_000_000.0 } else { 31_000_000.0 }},
                },
                "isolation": if *place == "oci" { json!({"mount": true, "pid": true, "net": false}) } else { json!({}) },
                "limits": if split { json!({"perception": {"cpuset": [0, 1], "memory_bytes": 2_u64 << 30}}) } else { json!({}) },
                "fingerprint": fingerprint(place),
            })
        })
        .collect();
    deployments.push(json!({
        "id": "docker/betz-8", "label": "docker · betz-8", "place": "docker", "partition": "betz-8",
        "services": 8, "processes": 68, "participants": 68,
        "refused": "no daemon answers on the socket",
    }));
    json!({
        "schema": "stowplan.experiment/1", "name": "autoware-humble latency",
        "stowplan_version": "0.1.0", "build_id": "5f1c0d2e9a", "created_unix_s": 1_795_169_700_u64,
        "command": ["stowplan", "latency", "autoware-humble", "--blocks", size.blocks.to_string()],
        "stack": {
            "name": "autoware-humble", "sha256": "9b74c9897bac770ffc029102a200c5de", "nodes": 191,
            "topics": 431, "modules": MODULES, "chains": [CHAIN],
            "deadlines_ns": {CHAIN: 300_000_000_u64},
        },
        "places": ["bare:flat", "bare:grouped", "oci", "docker"],
        "partitions": [{"name": "single", "services": ["all"]}, {"name": "betz-8", "services": SERVICES}],
        "deployments": deployments, "reference": "bare:flat/single",
        "blocks_planned": size.blocks, "seed": 20_240_612, "phase": "re-based",
        "metrics": [{"metric": "e2e_paper_mean", "delta": 0.02, "primary": true}],
        "window_s": 60.0, "warm_up_s": 20.0, "utilisation": 0.7, "scale_factor": 0.0613,
        "not_scaled": ["message sizes", "start-up", "timer periods"],
        "machine": {
            "host": "bench-2", "cpus": 2, "cpu_model": "made-up CPU at 2.6 GHz",
            "memory_bytes": 25_769_803_776_u64, "kernel": "6.18.0", "cgroup": "hybrid",
            "settings": {"governor": "performance", "preemption": "voluntary", "clock source": "tsc", "autogroup": "1"},
        },
        "versions": {"CycloneDDS": "11.0.1", "oci": "0.7.0"},
        "digests": {"stowplan-node": "2c26b46b68ffc68ff99b453c1d304134"},
        "calibration": (1..=size.blocks).map(|b| json!({"block": b, "ns_per_iteration": 0.9134})).collect::<Vec<_>>(),
        "assumptions": [{"parameter": "launch.per_entity", "value": "18 ms", "range": "5 ms – 40 ms", "why": "read off one recorded start"}],
        "environment": {"LANG": "C.UTF-8", "SECRET": null},
        "parameters": {"dds": {"profile": "rmw-humble", "max_message_size": 65500}, "ring_bytes": 67_108_864},
        "stowplan_own": {"switches": 2400, "cpu_ns": 61_000_000, "armed_ns": 2_400_000_000_000_u64},
    })
}

/// What the processes of a place say of themselves.
fn fingerprint(place: &str) -> serde_json::Value {
    let mut own = json!({
        "seccomp.mode": "none", "cgroup.cpu": "one", "cpu.levels": "100", "root.mount": "ext4 rw", "nice": "0",
    });
    let others = match place {
        "bare:flat" => json!({}),
        "bare:grouped" => {
            json!({"cgroup.cpu": "one per service", "cpu.levels": "100 in 100 in 100"})
        }
        _ => json!({
            "cgroup.cpu": "one per service", "cpu.levels": "100 in 100 in 100", "root.mount": "overlay ro",
            "seccomp.mode": "filter", "engine.runtime": "libcontainer", "engine.storage": "overlay",
        }),
    };
    for (name, value) in others.as_object().unwrap() {
        own[name] = value.clone();
    }
    own
}

/// A folder in memory where there is one: results are synced to disk, and tests need no disk.
pub fn folder() -> tempfile::TempDir {
    tempfile::tempdir_in("/dev/shm").unwrap_or_else(|_| tempfile::tempdir().unwrap())
}

/// The example of this size, judged, once for all tests.
pub fn judgement(size: Size) -> Judgement {
    static KNOWN: Mutex<BTreeMap<Size, Judgement>> = Mutex::new(BTreeMap::new());
    let mut known = KNOWN.lock().unwrap();
    let of_size = known.entry(size).or_insert_with(|| {
        let folder = folder();
        let dir = write(folder.path(), size);
        Judgement::read(&Results::open(dir).unwrap()).unwrap()
    });
    of_size.clone()
}

/// Writes the experiment under `parent` and gives its folder.
pub fn write(parent: &Path, size: Size) -> PathBuf {
    kept::lay(parent, (size, false), |parent| make(parent, size, false))
}

/// Likewise with nodes, edges, callbacks and the start of every service.
pub fn write_detailed(parent: &Path, size: Size) -> PathBuf {
    kept::lay(parent, (size, true), |parent| make(parent, size, true))
}

/// Writes the experiment and keeps nothing of it for others.
pub fn make(parent: &Path, size: Size, is_detailed: bool) -> PathBuf {
    let mut asked = experiment(size);
    if is_detailed {
        detailed::describe(&mut asked);
    }
    let asked: Experiment = serde_json::from_value(asked).unwrap();
    let writer = ResultsWriter::create(parent, &asked).unwrap();
    let mut random = Pcg64::seed_from_u64(11);
    let mut run = 0;
    for block in 1..=size.blocks {
        // What drifts from block to block is common to its runs.
        let drift = 1.0 + 0.04 * random.random_range(-1.0..1.0);
        for (order, (id, _, partition, factors)) in (1..).zip(DEPLOYMENTS) {
            run += 1;
            let mut row = run_row(run, block, order, id);
            let broke = run == 7;
            if broke {
                row.status = RunStatus::Failed;
                row.reason = Some("service 'perception' ended with status 139".into());
            }
            if run == 12 {
                row.steal = Some(0.013);
            }
            let mut data = RunData::of(row);
            if !broke {
                let key = (run, block, Label::from(id));
                let noise = drift * (1.0 + 0.008 * random.random_range(-1.0..1.0));
                data.startup = startup(&key, StartKind::Cold, factors[3] * noise, &mut random);
                let again = startup(&key, StartKind::Rerun, factors[3] * noise, &mut random);
                data.startup.extend(again);
                data.latency = latency(&key, size.instances, factors, noise, &mut random);
                data.outputs = outputs(&data.latency);
                data.usage = usage(&key, size.samples, partition, factors[2], &mut random);
                data.processes = processes(&key, size.samples, partition, factors[2]);
                data.losses = losses(&key, factors[1]);
                if is_detailed {
                    detailed::add(&mut data, &key, partition, factors[3] * noise);
                }
            }
            writer.write_run(&data).unwrap();
        }
    }
    let dir = writer.dir().to_owned();
    writer.finish().unwrap();
    dir
}

type Key = (u32, u32, Label);

fn run_row(run: u32, block: u32, order: u32, deployment: &str) -> RunRow {
    RunRow {
        run,
        block,
        order,
        deployment: deployment.into(),
        start: StartKind::Cold,
        status: RunStatus::Finished,
        reason: None,
        start_unix_ns: 1_795_169_700_000_000_000 + i64::from(run) * 95_000_000_000,
        seed: u64::from(run) * 7919,
        window_ns: Some(60_000_000_000),
        calibration_ns: Some(0.9134),
        steal: Some(0.0004),
        changed: None,
        quiet: Some(true),
        prepare_ns: Some(31_000_000),
        cold: Some(ColdState::Proven),
        cold_reason: None,
        cold_resident: Some(0.0021),
        cold_read_bytes: Some(300 << 20),
        events: Some(1_204_331),
        discarded: Some(0),
        published: Some(183_220),
        taken: Some(177_019),
        lost: Some(2_201),
        tags: None,
        own_switches: Some(60),
        own_cpu_ns: Some(1_500_000),
        clock_uncertainty_ns: None,
        program_sha256: Some("2c26b46b".into()),
        warnings: Vec::new(),
    }
}

fn ns(seconds: f64) -> i64 {
    (seconds * 1e9).round() as i64
}

fn startup(key: &Key, start: StartKind, factor: f64, random: &mut Pcg64) -> Vec<StartupRow> {
    let factor = factor * if start == StartKind::Cold { 1.55 } else { 1.0 };
    let row = |kind, subject: &str, begin: f64, end: f64| StartupRow {
        run: key.0,
        block: key.1,
        deployment: key.2.clone(),
        host: None,
        start,
        subject_kind: kind,
        subject: subject.into(),
        begin_ns: Some(ns(begin)),
        end_ns: Some(ns(end)),
        create_done_ns: None,
        scheduled_ns: None,
        sandbox_ns: None,
        container_created_ns: None,
        container_started_ns: None,
        first_instruction_ns: None,
        launch_ready_ns: None,
        first_node_loaded_ns: Some(ns(begin + 0.05)),
        last_node_loaded_ns: Some(ns(end)),
        matched_ns: None,
        first_output_ns: None,
        reason: None,
    };
    let mut rows = Vec::new();
    let mut begin = 1.9 * factor;
    let mut last: f64 = 0.0;
    for (i, module) in MODULES.iter().enumerate() {
        let length = [1.0, 1.6, 2.1, 1.8, 4.2, 3.3, 1.1, 0.7, 0.9, 0.6][i] * factor;
        let end = begin + length * random.random_range(0.97..1.05);
        rows.push(row(SubjectKind::Module, module, begin, end));
        begin += 0.95 * factor;
        last = last.max(end);
    }
    let mut total = row(SubjectKind::Total, "total", 0.0, last);
    total.create_done_ns = Some(ns(0.11));
    total.first_instruction_ns = Some(ns(0.13));
    total.launch_ready_ns = Some(ns(1.8 * factor));
    total.first_node_loaded_ns = Some(ns(2.0 * factor));
    total.matched_ns = Some(ns(last + 0.4));
    total.first_output_ns = Some(ns(last + 0.7 + random.random_range(0.0..0.15)));
    rows.push(total);
    rows
}

fn latency(
    key: &Key,
    instances: u64,
    factors: [f64; 4],
    noise: f64,
    random: &mut Pcg64,
) -> Vec<LatencyRow> {
    let mut rows = Vec::new();
    for i in 0..instances {
        let origin = i64::try_from(i).unwrap() * 60_000_000_000 / i64::try_from(instances).unwrap();
        let mut row = LatencyRow::new(key.clone(), CHAIN.into(), i, origin);
        if random.random_range(0.0..1.0) < 0.021 {
            row.overwritten = true;
            row.reason = Some("a newer message took its place on /points_filtered".into());
            row.reaction_ns = Some(400_000_000);
            rows.push(row);
            continue;
        }
        let bell: f64 = (0..6)
            .map(|_| random.random_range(-1.0..1.0_f64))
            .sum::<f64>()
            / 2.0;
        let tail = -random.random_range(0.002..1.0_f64).ln();
        let idle = ns((0.118 + 0.035 * bell + 0.012 * tail).max(0.004) * factors[0] * noise);
        let mode = if i % 3 == 0 { 0.031 } else { 0.052 };
        let computation = ns((mode + 0.004 * bell + 0.003 * tail) * factors[2] * noise);
        let send = ns((0.0007 + 0.0003 * tail) * factors[1] * noise);
        let transport = ns((0.0011 + 0.0004 * tail * tail) * factors[1] * noise);
        let wait = ns((0.0014 + 0.0012 * tail * tail) * factors[1] * noise);
        row.idle_ns = Some(idle);
        row.computation_ns = Some(computation);
        (row.send_ns, row.transport_ns, row.wait_ns) = (Some(send), Some(transport), Some(wait));
        row.communication_ns = Some(send + transport + wait);
        let e2e = idle + computation + send + transport + wait;
        row.e2e_paper_ns = Some(e2e);
        row.e2e_full_ns = Some(e2e + 1_200_000);
        row.output_ns = Some(origin + e2e + 1_200_000);
        row.reaction_ns = Some(e2e + 1_200_000 + if i % 11 == 0 { 100_000_000 } else { 0 });
        row.data_age_ns = Some(e2e + 1_200_000);
        row.valid = i + 3 < instances;
        rows.push(row);
    }
    rows
}

/// One output of every input that has any.
fn outputs(latency: &[LatencyRow]) -> Vec<OutputRow> {
    let used = latency.iter();
    let used = used.filter_map(|row| Some((row, row.output_ns?)));
    let mut used: Vec<(&LatencyRow, i64)> = used.collect();
    used.sort_by_key(|(_, output)| *output);
    let next = used.iter().skip(1).map(|(_, output)| Some(*output));
    used.iter()
        .zip(next.chain([None]))
        .map(|((row, output), next)| OutputRow {
            run: row.run,
            block: row.block,
            deployment: row.deployment.clone(),
            chain: row.chain.clone(),
            instance: row.instance,
            output_ns: *output,
            data_age_ns: output - row.origin_ns,
            age_until_next_ns: next.map(|next| next - row.origin_ns),
        })
        .collect()
}

fn usage(
    key: &Key,
    samples: i64,
    partition: &str,
    factor: f64,
    random: &mut Pcg64,
) -> Vec<UsageRow> {
    let services: &[&str] = if partition == "single" {
        &["all"]
    } else {
        &SERVICES
    };
    let mut rows = Vec::new();
    let share = 1.32 * factor / services.len() as f64;
    let subjects = services.iter().copied().chain(["machine", "stowplan"]);
    for (i, subject) in subjects.enumerate() {
        let (cpus, megabytes) = match subject {
            "machine" => (1.37 * factor, 4_800.0),
            "stowplan" => (0.002, 21.0),
            _ => {
                let lean = 1.0 + 0.5 * ((i * 37 % 11) as f64 / 11.0 - 0.5);
                (share * lean, 3_900.0 / services.len() as f64 * lean)
            }
        };
        let mut cpu = 0.0;
        for sample in -(samples / 4)..samples {
            let t = sample as f64 * 75.0 / samples as f64;
            // Start-up keeps both CPUs busy, then load settles.
            let busy = if t < -4.0 && subject != "stowplan" {
                1.4
            } else {
                1.0
            };
            cpu += cpus * busy * random.random_range(0.85..1.15) * 75.0 / samples as f64;
            let grown = (1.0 - (-(t + 19.0) / 4.0).exp()).max(0.05);
            rows.push(UsageRow {
                run: key.0,
                block: key.1,
                deployment: key.2.clone(),
                host: None,
                subject: subject.into(),
                t_ns: ns(t),
                cpu_ns: Some((cpu * 1e9) as u64),
                memory_bytes: Some((megabytes * grown * 1_048_576.0) as u64),
                anon_bytes: None,
                file_bytes: None,
                read_bytes: Some(0),
                write_bytes: Some(0),
                throttled: None,
                reason: None,
            });
        }
    }
    rows
}

/// Two processes of each module and the launchers, at constant use.
fn processes(key: &Key, samples: i64, partition: &str, factor: f64) -> Vec<ProcessRow> {
    let split = partition != "single";
    let launchers: &[&str] = if split { &SERVICES } else { &["all"] };
    let modules = MODULES.iter().zip(1_u32..).flat_map(|(module, i)| {
        let service = if split { *module } else { "all" };
        [1, 2].map(|n| {
            let process = format!("{module}_{n}");
            (service, ProcessKind::Nodes, process, Some(*module), i * n)
        })
    });
    let launchers = launchers.iter().map(|service| {
        let process = "launch".to_owned();
        (*service, ProcessKind::Launcher, process, None, 1)
    });
    let mut rows = Vec::new();
    for ((service, kind, process, module, weight), pid) in modules.chain(launchers).zip(4000..) {
        for sample in -(samples / 4)..samples {
            let t = sample as f64 * 75.0 / samples as f64;
            rows.push(ProcessRow {
                run: key.0,
                block: key.1,
                deployment: key.2.clone(),
                host: None,
                service: service.into(),
                kind,
                process: process.as_str().into(),
                module: module.map(Into::into),
                pid,
                t_ns: ns(t),
                cpu_ns: ((t + 20.0) * f64::from(weight) * 0.008 * factor * 1e9) as u64,
                resident_bytes: u64::from(weight) * 30 * 1_048_576,
            });
        }
    }
    rows
}

fn losses(key: &Key, factor: f64) -> Vec<LossRow> {
    let row = |topic: &str, subscriber: &str, cause, lost: Option<u64>| LossRow {
        run: key.0,
        block: key.1,
        deployment: key.2.clone(),
        topic: topic.into(),
        publisher: None,
        subscriber: subscriber.into(),
        edge_class: Some("loopback".into()),
        cause,
        published: Some(600),
        lost,
        reason: lost
            .is_none()
            .then(|| "the counter is not kept here".into()),
    };
    vec![
        row(
            "/points_raw",
            "crop_box_filter",
            LossCause::Overwritten,
            Some((12.0 * factor) as u64),
        ),
        row("/tf", "ekf_localizer", LossCause::Overwritten, Some(3)),
        row(
            "/map/points",
            "ndt_scan_matcher",
            LossCause::NotMatched,
            Some(1),
        ),
        row(
            "/points_raw",
            "crop_box_filter",
            LossCause::SocketBuffer,
            None,
        ),
    ]
}
