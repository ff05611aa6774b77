use super::*;

fn stack() -> Stack {
    let text = stowplan_spec::shipped("hello").unwrap();
    stowplan_spec::parse_spec(text, "hello")
        .unwrap()
        .into_stack()
}

/// A bag with these topics: times in ms and one size for all messages of a topic.
fn bag(topics: &[(&str, &[u64], u64)]) -> Bag {
    let messages = |times: &[u64], bytes| {
        let all = times.iter().map(|ms| RecordedMessage {
            log_ns: 1_700_000_000_000_000_000 + ms * 1_000_000,
            bytes,
        });
        all.collect()
    };
    let topics = topics
        .iter()
        .map(|(topic, times, bytes)| ((*topic).to_owned(), messages(times, *bytes)));
    Bag {
        path: "drive.mcap".into(),
        sha256: "5e".to_owned(),
        topics: topics.collect(),
    }
}

fn mapped(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    let pairs = pairs.iter();
    pairs
        .map(|(a, b)| ((*a).to_owned(), (*b).to_owned()))
        .collect()
}

fn sources(replayed: &Replayed) -> Vec<(&str, &str, Option<&str>)> {
    let all = replayed.sources.iter();
    all.map(|s| (&*s.bag_topic, &*s.node, s.topic.as_deref()))
        .collect()
}

#[test]
fn topics_of_the_same_name_need_no_map() {
    let bag = bag(&[
        ("/lidar/points", &[100, 200, 320], 5_000),
        ("/imu", &[90, 400], 300),
        // Made by nodes of the stack, from what is replayed.
        ("/objects", &[150], 9),
        ("/tf", &[0, 900], 9),
    ]);
    let stack = stack();
    let replayed = Replayed::find(&bag, &stack, &BTreeMap::new()).unwrap();
    assert_eq!(
        sources(&replayed),
        [
            ("/lidar/points", "lidar_driver", Some("/lidar/points")),
            ("/imu", "imu_driver", Some("/imu")),
        ]
    );
    // What is not replayed has no part in the length.
    assert_eq!(replayed.length_ns, 310_000_000);
    let lidar = &replayed.sources[0];
    assert_eq!((lidar.messages, lidar.period_ns), (3, 110_000_000));
    assert_eq!((lidar.mean_bytes, lidar.largest_bytes), (5_000.0, 5_000));
    assert!(replayed.not_replayed(&stack)[0].starts_with("map_loader/"));
    // The stack is planned with what is replayed.
    let mut planned = stack.clone();
    replayed.apply(&mut planned);
    let driver = planned
        .nodes
        .iter()
        .find(|n| n.name.as_str() == "lidar_driver");
    let Trigger::Timer {
        period_ns,
        rate_error,
        ..
    } = driver.unwrap().callbacks[0].trigger
    else {
        panic!("a timer");
    };
    assert_eq!((period_ns, rate_error), (110_000_000, 0.0));
    let points = planned.topics.iter().find(|t| t.name == "/lidar/points");
    assert_eq!(points.unwrap().bytes, Distribution::Constant(5_000.0));
}

#[test]
fn other_names_are_mapped_to_a_topic_or_a_source() {
    let bag = bag(&[("/velodyne", &[0, 100], 7), ("/sbg/imu", &[5], 8)]);
    let stack = stack();
    let timer = stack.node("imu_driver").unwrap().callbacks[0]
        .name
        .to_string();
    let imu = format!("imu_driver/{timer}");
    let topics = mapped(&[("/velodyne", "/lidar/points"), ("/sbg/imu", &imu)]);
    let replayed = Replayed::find(&bag, &stack, &topics).unwrap();
    assert_eq!(replayed.sources.len(), 2);
    assert_eq!(replayed.sources[1].topic.as_deref(), Some("/imu"));
    // One message has the period that the stack gives its source.
    assert_eq!(replayed.sources[1].period_ns, 20_000_000);
}

#[test]
fn what_cannot_be_mapped_names_what_is_nearest() {
    let bag = bag(&[("/velodyne", &[0, 100], 7), ("/sbg/imu", &[5], 8)]);
    let stack = stack();
    let error = |pairs: &[(&str, &str)]| {
        let error = Replayed::find(&bag, &stack, &mapped(pairs)).unwrap_err();
        assert!(error.to_string().contains("drive.mcap"), "{error}");
        (error.to_string(), error.hint.unwrap_or_default())
    };
    let (told, hint) = error(&[("/velodine", "/lidar/points")]);
    assert!(
        told.contains("no topic '/velodine'") && hint.contains("'/velodyne'"),
        "{told}"
    );
    let (told, hint) = error(&[("/velodyne", "/lidar/point")]);
    assert!(
        told.contains("no source") && hint.contains("'/lidar/points'"),
        "{told} {hint}"
    );
    let (told, _) = error(&[("/velodyne", "/objects")]);
    assert!(
        told.contains("no source of the stack publishes '/objects'"),
        "{told}"
    );
    let (told, hint) = error(&[("/velodyne", "lidar_drive/timer")]);
    assert!(
        told.contains("no source 'lidar_drive/timer'") && !hint.is_empty(),
        "{told}"
    );
    let (told, hint) = error(&[("/velodyne", "/imu"), ("/sbg/imu", "/imu")]);
    assert!(
        told.contains("both to be replayed") && hint.contains("one of them"),
        "{told}"
    );
    let (told, hint) = error(&[]);
    assert!(told.contains("no message of any source"), "{told}");
    assert!(
        hint.contains("/velodyne") && hint.contains("/lidar/points"),
        "{hint}"
    );
}

#[test]
fn another_bag_in_its_place_is_not_replayed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("drive.mcap");
    let write = |bytes: usize| {
        let messages = [
            ("/imu", 1_000, bytes),
            ("/lidar/points", 1_500, 9),
            ("/imu", 1_700, 4),
        ];
        std::fs::write(&path, stowplan_testkit::mcap_file(&messages, None).unwrap()).unwrap();
    };
    write(3);
    let bag = Bag::read(&path).unwrap();
    let replayed = Replayed::find(&bag, &stack(), &BTreeMap::new()).unwrap();
    let messages = replayed.messages().unwrap();
    assert_eq!(messages, [vec![(500, 9)], vec![(0, 3), (700, 4)]]);
    write(5);
    let error = replayed.messages().unwrap_err();
    assert!(
        error
            .to_string()
            .contains("not the bag that this experiment began with")
    );
}

#[test]
fn images_are_drawn_and_not_replayed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("drive.mcap");
    let messages = [("/imu", 1_000, 3), ("/imu", 1_500, 3)];
    std::fs::write(&path, stowplan_testkit::mcap_file(&messages, None).unwrap()).unwrap();
    let bag = Bag::read(&path).unwrap();
    let mut stack = stack();
    let topic = stack.topics.iter_mut().find(|topic| topic.name == "/imu");
    topic.unwrap().frames = Some(stowplan_model::Frames {
        width: 640,
        height: 480,
        tags: 4,
    });
    let error = Replayed::find(&bag, &stack, &BTreeMap::new()).unwrap_err();
    assert!(error.to_string().contains("'/imu' its sizes"), "{error}");
    assert!(error.hint.unwrap().contains("'bytes' in place of 'frames'"));
}
