use std::collections::BTreeMap;
use std::path::PathBuf;

use stowplan_replay::ReplayedSource;
use stowplan_results::StartKind;

use super::*;
use crate::request::tests::request;

fn replayed(sha256: &str) -> Replayed {
    Replayed {
        bag: PathBuf::from("drive.mcap"),
        sha256: sha256.to_owned(),
        length_ns: 1_000,
        sources: vec![ReplayedSource {
            bag_topic: "/imu".to_owned(),
            node: "lidar_driver".to_owned(),
            callback: "timer".to_owned(),
            topic: Some("/lidar/points".to_owned()),
            messages: 2,
            period_ns: 1_000,
            mean_bytes: 5.0,
            largest_bytes: 5,
        }],
    }
}

fn run() -> ScheduledRun {
    ScheduledRun {
        run: 3,
        block: 1,
        order: 1,
        deployment: "d".to_owned(),
        start: StartKind::Warm,
        seed: 1,
    }
}

fn input(origin_ns: i64, output_ns: Option<i64>) -> LatencyRow {
    let key = (3, 1, "d".into());
    LatencyRow {
        output_ns,
        ..LatencyRow::new(key, "lidar_to_brake".into(), 0, origin_ns)
    }
}

#[test]
fn it_takes_until_the_last_output_of_what_was_replayed() {
    let spec = request().spec().unwrap();
    let (stack, bag) = (spec.stack(), replayed("a"));
    let values = |window_ns, latency: &[LatencyRow]| {
        let rows = execution_rows(&run(), stack, &bag, window_ns, latency);
        let figures = rows.into_iter().map(|row| {
            assert_eq!(&*row.metric, EXECUTION_TIME);
            assert_eq!(row.value.is_none(), row.reason.is_some());
            (row.subject.map(|s| s.to_string()), row.value)
        });
        figures.collect::<Vec<_>>()
    };
    let chain = || Some("lidar_to_brake".to_owned());
    // An input from before, one without an output, and one that no message of the bag gave.
    let latency = [
        input(-5, Some(9_000)),
        input(0, Some(400)),
        input(1_000, Some(1_700)),
        input(990, None),
        input(1_001, Some(8_000)),
    ];
    let both = [(None, Some(1_700.0)), (chain(), Some(1_700.0))];
    assert_eq!(values(5_000, &latency), both);
    let none = [(None, None), (chain(), None)];
    assert_eq!(values(5_000, &latency[..1]), none);
    assert_eq!(values(999, &latency), none, "a window that is too short");
    // A chain that nothing of the bag reaches has no figure.
    let mut other = replayed("a");
    other.sources[0].node = "map_loader".to_owned();
    other.sources[0].callback = "nothing".to_owned();
    let rows = execution_rows(&run(), stack, &other, 5_000, &latency);
    assert_eq!(rows.len(), 1);
}

#[test]
fn an_earlier_experiment_replays_the_same_bag_or_is_refused() {
    let with = |replayed: Option<Replayed>| Request {
        replayed,
        ..request()
    };
    let moved = Replayed {
        bag: PathBuf::from("elsewhere.mcap"),
        ..replayed("a")
    };
    let same = with(Some(moved.clone())).replayed_as(&with(Some(replayed("a"))));
    assert_eq!(same, Ok(Some(moved)));
    assert_eq!(with(None).replayed_as(&with(None)), Ok(None));
    for (new, old, told) in [
        (Some("a"), Some("b"), "another bag"),
        (Some("a"), None, "replayed no bag"),
        (None, Some("b"), "replays nothing"),
    ] {
        let (new, old) = (with(new.map(replayed)), with(old.map(replayed)));
        let why = new.replayed_as(&old).unwrap_err();
        assert!(why.contains(told), "{why}");
    }
}

#[test]
fn a_request_keeps_what_it_replays() {
    let topics = BTreeMap::from([("/imu".to_owned(), "/lidar/points".to_owned())]);
    let mut asked = request();
    asked.options.replay = Some(stowplan_spec::Replay {
        bag: PathBuf::from("/nowhere/drive.mcap"),
        topics,
    });
    let error = asked.clone().replaying(None).unwrap_err().to_string();
    assert!(error.contains("/nowhere/drive.mcap"), "{error}");
    assert!(asked.clone().replaying(Some(0)).is_err(), "no window");
    asked.replayed = Some(replayed("a"));
    let folder = tempfile::tempdir().unwrap();
    asked.save(folder.path()).unwrap();
    assert_eq!(Request::load(folder.path()).unwrap(), asked);
    assert_eq!(request().replaying(None).unwrap(), request());
}
