//! Endpoints that a node has unasked or that carry nothing.

use stowplan_model::{Endpoints, NodeOptions};

fn stack(node: &str) -> Result<stowplan_model::Stack, String> {
    let text = format!(
        "name: small\nprofile: galactic\ntopics:\n  /x: 8B\nprocesses:\n  box: {{ component_container: true }}\nmodules:\n  m:\n    process: box\n    nodes:\n      {node}\n"
    );
    stowplan_spec::parse_stack(&text, "small.yaml").map_err(|error| error.to_string())
}

#[test]
fn silent_endpoints_are_counted() {
    let stack = stack(
        "a: { publishers: [/x, /x], subscriptions: /x, services: [/a/reset, /b/c], clients: /d/set }",
    )
    .unwrap();
    let expected = Endpoints {
        publishers: 2 + 2,
        subscriptions: 1 + 1,
        services: 6 + 2,
        clients: 1,
        timers: 0,
    };
    assert_eq!(Endpoints::of_stack(&stack), expected);
}

#[test]
fn options_are_those_of_rclcpp() {
    let of = |node: &str| stack(node).unwrap().nodes[0].options;
    let silent = of(
        "a: { publishers: /x, options: { start_parameter_services: false, enable_rosout: false } }",
    );
    assert!(!silent.parameter_services && !silent.rosout && silent.parameter_event_publisher);
    assert!(!of("a: { publishers: /x, client_library: rclpy }").parameter_event_subscription);
    assert_eq!(of("a: { publishers: /x }"), NodeOptions::default());
    // A container's own node is made by rclcpp_components.
    assert_eq!(of("box: { publishers: /x }"), NodeOptions::of_container());
}

#[test]
fn what_is_wrong_is_named() {
    for (node, message) in [
        (
            "a: { publishers: /y }",
            "has a publisher of '/y', which is not declared",
        ),
        (
            "a: { publishers: /x, services: reset }",
            "has a service 'reset', which is no ROS name",
        ),
        (
            "a: { publishers: /x, options: { parameter_services: false } }",
            "parameter_services",
        ),
    ] {
        let error = stack(node).unwrap_err();
        assert!(error.contains(message), "{error}");
    }
}
