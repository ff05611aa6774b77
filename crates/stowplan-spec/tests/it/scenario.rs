//! Scenario files: what ships is sound, and what cannot be played is told with its place.

use std::collections::BTreeSet;

use stowplan_spec::{Strategy, find_scenario, parse_scenario, shipped_scenario};

const SHIPPED: &str = "parking-to-intersection";

#[test]
fn the_shipped_scenario_is_sound() {
    let (scenario, _) = find_scenario(SHIPPED).unwrap();
    assert_eq!(scenario.name, SHIPPED);
    assert_eq!(scenario.strategies, Strategy::ALL);
    assert_eq!(scenario.running_first(), BTreeSet::from(["parking"]));
    let waiting = BTreeSet::from(["intersection", "traffic_light"]);
    assert_eq!(scenario.waiting_first(), waiting);
    assert_eq!(scenario.deadlines["intersection"], 500_000_000);
}

/// What is wrong with the shipped scenario after a replacement.
fn wrong(from: &str, to: &str) -> String {
    let text = shipped_scenario(SHIPPED).unwrap();
    assert!(text.contains(from), "the scenario has changed: no '{from}'");
    let text = text.replacen(from, to, 1);
    parse_scenario(&text, "s.yaml").unwrap_err().to_string()
}

#[test]
fn what_cannot_be_played_is_told() {
    let all = [
        (
            "at: 4s",
            "at: 3s",
            "'reaches the intersection' comes at 3.00 s",
        ),
        ("at: 1s", "at: 500ms", "needs 1.00 s for itself before that"),
        ("length: 9s", "length: 8s", "the timeline needs 9.00 s"),
        ("window: 1s", "window: 0s", "a window of 0 has no latency"),
        (
            "start: [intersection]",
            "start: [traffic_light]",
            "'traffic_light' runs already",
        ),
        (
            "start: [intersection]",
            "start: [intersecton]",
            "did you mean 'intersection'?",
        ),
        (
            "start: [intersection]",
            "",
            "'reaches the intersection' starts and stops nothing",
        ),
        (
            "stop: [parking]",
            "stop: [parking, parking]",
            "'parking' does not run",
        ),
        (
            "[cold, created",
            "[cold, cold",
            "strategy 'cold' is here a second time",
        ),
        ("[cold, created", "[cold, lukewarm", "lukewarm"),
        ("utilisation: 0.4", "utilisation: 4", "the utilisation is 4"),
        ("deadline: 1s", "deadlin: 1s", "deadlin"),
    ];
    for (from, to, told) in all {
        let error = wrong(from, to);
        assert!(error.contains(told), "{told}:\n{error}");
    }
}

#[test]
fn a_strategy_is_known_by_its_name() {
    for strategy in Strategy::ALL {
        assert_eq!(strategy.to_string().parse(), Ok(strategy));
    }
    let error = "warm".parse::<Strategy>().unwrap_err();
    let told =
        "there is no strategy 'warm'; strategies are cold, created, paused, frozen, always-on";
    assert_eq!(error.to_string(), told);
}
