//! Results as a runner writes them and as a reader finds them.
use std::fs;
use std::path::Path;

use arrow_array::RecordBatch;
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::file::properties::WriterProperties;
use stowplan_results::{
    Better, CallbackRow, Comparisons, DeploymentRecord, EXPERIMENT_SCHEMA, EarlierResult, EdgeRow,
    Experiment, Label, LatencyRow, LossCause, LossRow, Machine, MeasurementRow, MemoryAt,
    MemoryRow, OutputRow, PlaceRecord, ProcessKind, ProcessRow, Results, ResultsError,
    ResultsWriter, RunData, RunRow, RunStatus, StackRecord, StartKind, StartupRow, SubjectKind,
    Table, UsageRow,
};

fn experiment() -> Experiment {
    let deployment = |id: &str| DeploymentRecord {
        id: id.to_owned(),
        label: id.to_owned(),
        place: id.to_owned(),
        facts: Some(PlaceRecord::of_older_result(id)),
        partition: "single".to_owned(),
        ..DeploymentRecord::default()
    };
    let stack = serde_json::json!({"name": "hello", "sha256": "00", "nodes": 12, "topics": 9});
    serde_json::from_value(serde_json::json!({
        "schema": EXPERIMENT_SCHEMA, "name": "hello", "stowplan_version": "0.1.0",
        "created_unix_s": 1_795_169_700_u64, "stack": stack,
        "deployments": [deployment("bare:flat"), deployment("oci")],
        "blocks_planned": 6, "seed": u64::MAX, "window_s": 1.5,
        "machine": Machine::default(),
    }))
    .unwrap()
}

fn run_row(number: u32, block: u32, deployment: Label) -> RunRow {
    RunRow {
        run: number,
        block,
        order: 1,
        deployment,
        start: StartKind::Cold,
        status: RunStatus::Finished,
        reason: None,
        start_unix_ns: 1_795_169_700_000_000_000,
        seed: u64::MAX,
        window_ns: Some(1_500_000_000),
        calibration_ns: Some(0.25),
        steal: None,
        changed: Some("thp: 1, now 0".into()),
        quiet: Some(true),
        prepare_ns: Some(7),
        cold: None,
        cold_reason: None,
        cold_resident: None,
        cold_read_bytes: Some(8_192),
        events: Some(7),
        discarded: Some(0),
        published: None,
        taken: None,
        lost: None,
        tags: None,
        own_switches: Some(2),
        own_cpu_ns: Some(31_000),
        clock_uncertainty_ns: Some(5),
        program_sha256: Some("ab".into()),
        warnings: vec!["steal is not known".to_owned(), "ünïcode".to_owned()],
    }
}

fn run(number: u32) -> RunData {
    let deployment: Label = if number.is_multiple_of(2) {
        "oci"
    } else {
        "bare:flat"
    }
    .into();
    let block = number.div_ceil(2);
    let mut data = RunData::of(run_row(number, block, deployment.clone()));
    data.startup = vec![startup(number, block, deployment.clone())];
    data.latency = (0..20_000)
        .map(|i| {
            let chain: Label = "main".into();
            let origin = i64::try_from(i).unwrap() - 5;
            let row = LatencyRow::new((number, block, deployment.clone()), chain, i, origin);
            LatencyRow {
                e2e_paper_ns: (i % 3 > 0).then_some(1_000),
                overwritten: i % 3 == 0,
                ..row
            }
        })
        .collect();
    data.outputs = vec![output(number, block, deployment.clone())];
    data.memory = vec![memory(number, block, deployment.clone())];
    data.processes = vec![process(number, block, deployment.clone())];
    data.usage = vec![usage(number, block, deployment.clone())];
    data.losses = vec![LossRow {
        run: number,
        block,
        deployment: deployment.clone(),
        topic: "/points".into(),
        publisher: None,
        subscriber: "filter".into(),
        edge_class: Some("loopback".into()),
        cause: LossCause::Overwritten,
        published: Some(100),
        lost: Some(3),
        reason: None,
    }];
    data.edges = vec![edge(number, block, deployment.clone())];
    data.callbacks = vec![callback(number, block, deployment.clone())];
    if number > 1 {
        data.measurements = vec![measurement(number, block, deployment)];
    }
    data
}

fn output(run: u32, block: u32, deployment: Label) -> OutputRow {
    OutputRow {
        run,
        block,
        deployment,
        chain: "main".into(),
        instance: 3,
        output_ns: -4,
        data_age_ns: 9,
        age_until_next_ns: None,
    }
}

fn startup(run: u32, block: u32, deployment: Label) -> StartupRow {
    StartupRow {
        run,
        block,
        deployment,
        host: Some("near".into()),
        start: StartKind::Cold,
        subject_kind: SubjectKind::Module,
        subject: "sensing".into(),
        begin_ns: Some(5),
        end_ns: None,
        create_done_ns: None,
        scheduled_ns: None,
        sandbox_ns: None,
        container_created_ns: None,
        container_started_ns: None,
        first_instruction_ns: None,
        launch_ready_ns: None,
        first_node_loaded_ns: Some(4),
        last_node_loaded_ns: None,
        matched_ns: None,
        first_output_ns: None,
        reason: Some("node 'lidar' did not load".into()),
    }
}

fn callback(run: u32, block: u32, deployment: Label) -> CallbackRow {
    CallbackRow {
        node: Some("filter".into()),
        phase_ns: Some(1_250),
        calls: 10,
        wall_mean_ns: 1_500.5,
        wall_median_ns: 1_500.0,
        wall_max_ns: 2_000,
        cpu_iteration_median_ns: Some(1.5),
        reason: Some("not recorded".into()),
        ..CallbackRow::new((run, block, deployment), "on_points".into())
    }
}

fn edge(run: u32, block: u32, deployment: Label) -> EdgeRow {
    EdgeRow {
        run,
        block,
        deployment,
        topic: "/points".into(),
        publisher: None,
        subscriber: "filter".into(),
        taken: 97,
        latency_mean_ns: Some(250.5),
        latency_median_ns: Some(200.0),
        latency_p99_ns: None,
        latency_max_ns: Some(-3),
    }
}

fn measurement(run: u32, block: u32, deployment: Label) -> MeasurementRow {
    MeasurementRow {
        run,
        block,
        deployment,
        metric: "round_trip".into(),
        subject: Some("8 MiB".into()),
        unit: "ns".into(),
        better: Better::Lower,
        value: (run > 2).then_some(1.5),
        reason: (run == 2).then(|| "it hung".into()),
    }
}

fn memory(run: u32, block: u32, deployment: Label) -> MemoryRow {
    MemoryRow {
        run,
        block,
        deployment,
        host: Some("near".into()),
        subject: "all".into(),
        at: MemoryAt::Disarm,
        processes: 9,
        rss_bytes: u64::MAX,
        pss_bytes: 700,
        pss_anon_bytes: 400,
        pss_file_bytes: 200,
        pss_shmem_bytes: 100,
        private_bytes: 0,
    }
}

fn process(run: u32, block: u32, deployment: Label) -> ProcessRow {
    ProcessRow {
        run,
        block,
        deployment,
        host: Some("near".into()),
        service: "all".into(),
        kind: ProcessKind::Launcher,
        process: "launch".into(),
        module: None,
        pid: 7,
        t_ns: -200_000_000,
        cpu_ns: u64::MAX,
        resident_bytes: 4096,
    }
}

fn usage(run: u32, block: u32, deployment: Label) -> UsageRow {
    UsageRow {
        run,
        block,
        deployment,
        host: Some("near".into()),
        subject: "machine".into(),
        t_ns: -200_000_000,
        cpu_ns: Some(u64::MAX),
        memory_bytes: None,
        anon_bytes: None,
        file_bytes: None,
        read_bytes: Some(0),
        write_bytes: Some(1),
        throttled: None,
        reason: None,
    }
}

fn all(results: &Results) -> Vec<RunData> {
    let (startup, latency) = (results.startup().unwrap(), results.latency().unwrap());
    let (usage, losses) = (results.usage().unwrap(), results.losses().unwrap());
    let (memory, callbacks) = (results.memory().unwrap(), results.callbacks().unwrap());
    let (outputs, processes) = (results.outputs().unwrap(), results.processes().unwrap());
    let edges = results.edges().unwrap();
    let measurements = results.measurements().unwrap();
    fn of<T: Table + Clone>(rows: &[T], run: u32) -> Vec<T> {
        rows.iter().filter(|r| r.run() == run).cloned().collect()
    }
    let data = results.runs.iter().map(|run| RunData {
        run: run.clone(),
        startup: of(&startup, run.run),
        latency: of(&latency, run.run),
        outputs: of(&outputs, run.run),
        usage: of(&usage, run.run),
        memory: of(&memory, run.run),
        processes: of(&processes, run.run),
        losses: of(&losses, run.run),
        edges: of(&edges, run.run),
        callbacks: of(&callbacks, run.run),
        measurements: of(&measurements, run.run),
    });
    data.collect()
}

#[test]
fn what_is_written_is_read_before_and_after_the_merge() {
    let folder = tempfile::tempdir().unwrap();
    let writer = ResultsWriter::create(folder.path(), &experiment()).unwrap();
    let dir = writer.dir().to_owned();
    let expected = vec![run(1), run(2), run(3)];
    // Runs need not come in order.
    for data in [&expected[2], &expected[0], &expected[1]] {
        writer.write_run(data).unwrap();
    }
    let open = Results::open(&dir).unwrap();
    assert_eq!(open.experiment, experiment());
    assert_eq!(all(&open), expected);
    let merged = writer.finish().unwrap();
    assert_eq!(all(&merged), expected);
    assert!(!dir.join("parts").exists());
    // Names repeat: neighbours share their text.
    let rows = merged.latency().unwrap();
    assert!(Label::ptr_eq(&rows[0].deployment, &rows[1].deployment));
}

#[test]
fn an_interrupted_experiment_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let writer = ResultsWriter::create(folder.path(), &experiment()).unwrap();
    let dir = writer.dir().to_owned();
    writer.write_run(&run(1)).unwrap();
    // Killed while it wrote the second run: all but the part that counts.
    writer.write_run(&run(2)).unwrap();
    fs::remove_file(dir.join("parts/run-0002.runs.parquet")).unwrap();
    fs::write(dir.join("parts/run-0003.latency.parquet.new"), b"half").unwrap();
    assert!(matches!(
        ResultsWriter::resume(&dir),
        Err(ResultsError::InUse { .. })
    ));
    drop(writer);

    let (writer, results) = ResultsWriter::resume(&dir).unwrap();
    assert_eq!(all(&results), [run(1)]);
    writer.write_run(&run(2)).unwrap();
    let merged = writer.finish().unwrap();
    assert_eq!(all(&merged), [run(1), run(2)]);

    // More blocks after the merge, and a merge that is killed midway.
    let (writer, _) = ResultsWriter::resume(&dir).unwrap();
    writer.write_run(&run(3)).unwrap();
    let parts: Vec<_> = ["latency", "runs"]
        .map(|t| format!("parts/run-0003.{t}.parquet"))
        .map(|p| (dir.join(&p), fs::read(dir.join(&p)).unwrap()))
        .into();
    writer.finish().unwrap();
    fs::create_dir(dir.join("parts")).unwrap();
    for (path, bytes) in parts {
        fs::write(path, bytes).unwrap();
    }
    let results = Results::open(&dir).unwrap();
    assert_eq!(all(&results), [run(1), run(2), run(3)]);
}

#[test]
fn a_failed_run_is_replaced_when_it_is_repeated_after_the_merge() {
    let folder = tempfile::tempdir().unwrap();
    let writer = ResultsWriter::create(folder.path(), &experiment()).unwrap();
    let dir = writer.dir().to_owned();
    let mut failed = RunData::of(run(2).run);
    failed.run.status = RunStatus::Failed;
    writer.write_run(&run(1)).unwrap();
    writer.write_run(&failed).unwrap();
    assert_eq!(all(&writer.finish().unwrap()), [run(1), failed.clone()]);

    // Repeated, but killed before the row that completes it: it never happened.
    let (writer, _) = ResultsWriter::resume(&dir).unwrap();
    writer.write_run(&run(2)).unwrap();
    let row = dir.join("parts/run-0002.runs.parquet");
    let bytes = fs::read(&row).unwrap();
    fs::remove_file(&row).unwrap();
    assert_eq!(all(&Results::open(&dir).unwrap()), [run(1), failed]);

    fs::write(&row, bytes).unwrap();
    assert_eq!(all(&Results::open(&dir).unwrap()), [run(1), run(2)]);
    assert_eq!(all(&writer.finish().unwrap()), [run(1), run(2)]);
}

#[test]
fn two_results_of_one_second_do_not_mix() {
    let folder = tempfile::tempdir().unwrap();
    let a = ResultsWriter::create(folder.path(), &experiment()).unwrap();
    let b = ResultsWriter::create(folder.path(), &experiment()).unwrap();
    assert!(a.dir().ends_with("hello-20261120T101500Z"));
    assert!(b.dir().ends_with("hello-20261120T101500Z-2"));
}

#[test]
fn broken_files_are_errors_with_their_place() {
    let folder = tempfile::tempdir().unwrap();
    let error = Results::open(folder.path()).unwrap_err();
    assert!(matches!(error, ResultsError::NotAResult { .. }));

    let writer = ResultsWriter::create(folder.path(), &experiment()).unwrap();
    let dir = writer.dir().to_owned();
    writer.write_run(&run(1)).unwrap();
    let part = dir.join("parts/run-0001.latency.parquet");
    let whole = fs::read(&part).unwrap();
    fs::write(&part, &whole[..whole.len() / 2]).unwrap();
    let error = Results::open(&dir).unwrap().latency().unwrap_err();
    assert!(error.to_string().contains("run-0001.latency.parquet"));
    assert!(error.hint().unwrap().contains("--resume"));

    rewrite(&dir, |text| text.replace("experiment/2", "experiment/9"));
    let error = Results::open(&dir).unwrap_err();
    assert!(error.to_string().contains("stowplan.experiment/9"));
    rewrite(&dir, |text| {
        text.replace("experiment/9", "experiment/2") + "}"
    });
    assert!(matches!(
        Results::open(&dir),
        Err(ResultsError::Json { .. })
    ));
}

fn rewrite(dir: &Path, change: impl Fn(String) -> String) {
    let path = dir.join("experiment.json");
    fs::write(&path, change(fs::read_to_string(&path).unwrap())).unwrap();
}

#[test]
fn a_run_of_no_known_deployment_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let writer = ResultsWriter::create(folder.path(), &experiment()).unwrap();
    let mut data = run(1);
    data.run.deployment = "lxc".into();
    writer.write_run(&RunData::of(data.run)).unwrap();
    let error = Results::open(writer.dir()).unwrap_err();
    assert!(error.to_string().contains("'lxc'"));
}

#[test]
fn any_bit_flip_or_cut_of_a_part_is_an_error_and_no_panic() {
    let folder = tempfile::tempdir().unwrap();
    let writer = ResultsWriter::create(folder.path(), &experiment()).unwrap();
    let mut data = RunData::of(run(1).run);
    data.usage = run(1).usage;
    writer.write_run(&data).unwrap();
    let part = writer.dir().join("parts/run-0001.usage.parquet");
    let whole = fs::read(&part).unwrap();
    for at in (0..whole.len()).step_by(29) {
        let mut bytes = whole.clone();
        bytes[at] ^= 1 << (at % 8);
        fs::write(&part, &bytes).unwrap();
        // A flip in a value cannot be seen; whatever comes, it is a result.
        let _ = Results::open(writer.dir()).unwrap().usage();
        fs::write(&part, &whole[..at]).unwrap();
        assert!(Results::open(writer.dir()).unwrap().usage().is_err());
    }
}

#[test]
fn verdicts_are_kept() {
    let folder = tempfile::tempdir().unwrap();
    let writer = ResultsWriter::create(folder.path(), &experiment()).unwrap();
    let results = Results::open(writer.dir()).unwrap();
    assert_eq!(results.comparisons().unwrap(), None);
    let own = Comparisons::new(Vec::new());
    results.keep(&own).unwrap();
    assert_eq!(results.comparisons().unwrap(), Some(own));
    assert_eq!(results.against().unwrap(), None);
    let against = Comparisons {
        against: Some(EarlierResult {
            result: "before".to_owned(),
            created_unix_s: 1,
            build_id: "b".to_owned(),
            measured_again: true,
        }),
        ..Comparisons::new(Vec::new())
    };
    results.keep(&against).unwrap();
    assert_eq!(results.against().unwrap(), Some(against));
    assert!(
        fs::read_to_string(writer.dir().join("comparisons.json"))
            .unwrap()
            .starts_with("{\n  \"schema\": \"stowplan.compare/1\"")
    );
}

#[test]
fn the_reference_is_bare_flat_where_none_is_declared() {
    let mut experiment = experiment();
    let _: &StackRecord = &experiment.stack;
    assert_eq!(experiment.reference_id(), Some("bare:flat"));
    experiment.reference = Some("oci".to_owned());
    assert_eq!(experiment.reference_id(), Some("oci"));
    experiment.deployments[1].refused = Some("no cgroups".to_owned());
    assert_eq!(experiment.reference_id(), Some("bare:flat"));
}

/// A table as the first version had it: without hosts.
fn without_hosts(path: &Path) {
    let file = fs::File::open(path).unwrap();
    let reader = ParquetRecordBatchReaderBuilder::try_new(file).unwrap();
    let mut pairs = reader
        .metadata()
        .file_metadata()
        .key_value_metadata()
        .cloned();
    for pair in pairs.iter_mut().flatten() {
        if pair.key == "stowplan.version" {
            pair.value = Some("1".to_owned());
        }
    }
    let batches: Vec<RecordBatch> = reader.build().unwrap().map(Result::unwrap).collect();
    let batches = batches.into_iter().map(|mut batch| {
        let column = batch.schema().index_of("host").unwrap();
        batch.remove_column(column);
        batch
    });
    let batches: Vec<RecordBatch> = batches.collect();
    let properties = WriterProperties::builder().set_key_value_metadata(pairs);
    let file = fs::File::create(path).unwrap();
    let schema = batches[0].schema();
    let mut writer = ArrowWriter::try_new(file, schema, Some(properties.build())).unwrap();
    for batch in &batches {
        writer.write(batch).unwrap();
    }
    writer.close().unwrap();
}

#[test]
fn a_result_of_before_hosts_were_recorded_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let writer = ResultsWriter::create(folder.path(), &experiment()).unwrap();
    let dir = writer.dir().to_owned();
    writer.write_run(&run(1)).unwrap();
    let now = writer.finish().unwrap().usage().unwrap();
    assert_eq!(now[0].host.as_deref(), Some("near"));
    rewrite(&dir, |text| text.replace("experiment/2", "experiment/1"));
    for table in ["startup", "usage", "memory", "processes"] {
        without_hosts(&dir.join(format!("{table}.parquet")));
    }
    let older = Results::open(&dir).unwrap();
    let without = UsageRow {
        host: None,
        ..now[0].clone()
    };
    assert_eq!(older.usage().unwrap(), [without]);
    assert_eq!(older.startup().unwrap()[0].host, None);
    assert_eq!(older.memory().unwrap()[0].host, None);
    assert_eq!(older.processes().unwrap()[0].host, None);
}
