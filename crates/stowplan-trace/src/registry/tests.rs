use super::*;

const HANDLE: Address = 0x10;
const RMW: Address = 0x11;
const NODE: Address = 0x12;
const OBJECT: Address = 0x20;
const CALLBACK: Address = 0x30;
const BUFFER: Address = 0x40;
const IPB: Address = 0x41;
const TIMER: Address = 0x50;
const SERVICE: Address = 0x60;

fn registry() -> (Registry, ProcessId) {
    let mut registry = Registry::default();
    let process = registry.process(&ProcessKey {
        host: "host".into(),
        trace: "trace".into(),
        pid_namespace: None,
        vpid: 1,
    });
    (registry, process)
}

fn subscription(topic: &'static str) -> Body<'static> {
    Body::SubscriptionInit {
        subscription: HANDLE,
        node: NODE,
        rmw_subscription: RMW,
        topic,
        depth: 1,
    }
}

const OBJECT_INIT: Body<'static> = Body::RclcppSubscriptionInit {
    subscription: HANDLE,
    object: OBJECT,
};
const ADDED: Body<'static> = Body::SubscriptionCallbackAdded {
    object: OBJECT,
    callback: CALLBACK,
};

fn register(symbol: &'static str) -> Body<'static> {
    Body::CallbackRegister {
        callback: CALLBACK,
        symbol,
    }
}

fn all_orders(bodies: &[Body<'static>]) -> Vec<Vec<Body<'static>>> {
    let Some((first, rest)) = bodies.split_first() else {
        return vec![Vec::new()];
    };
    let mut all = Vec::new();
    for order in all_orders(rest) {
        for at in 0..=order.len() {
            let mut longer = order.clone();
            longer.insert(at, *first);
            all.push(longer);
        }
    }
    all
}

#[test]
fn a_subscription_inside_a_process_is_what_its_events_say_in_any_order() {
    let bodies = [
        subscription("/points"),
        Body::BufferToIpb {
            buffer: BUFFER,
            ipb: IPB,
        },
        Body::IpbToSubscription {
            ipb: IPB,
            object: OBJECT,
        },
        ADDED,
        register("on_points"),
        OBJECT_INIT,
    ];
    for order in all_orders(&bodies) {
        let (mut registry, process) = registry();
        for body in &order {
            registry.observe(0, process, body);
        }
        let id = registry.buffer_subscription(process, BUFFER);
        let id = id.unwrap_or_else(|| panic!("{order:?}"));
        let callback = registry.callback(process, CALLBACK);
        assert_eq!(
            registry.graph.callbacks[callback].owner,
            Owner::Subscription(id),
            "{order:?}"
        );
        let symbol = registry.graph.callbacks[callback].symbol.as_deref();
        assert_eq!(symbol, Some("on_points"), "{order:?}");
        assert_eq!(registry.graph.callbacks.len(), 1, "{order:?}");
        assert!(registry.graph.unnamed_callbacks().is_empty());
    }
}

#[test]
fn timers_and_services_are_what_their_events_say_in_any_order() {
    let bodies = [
        Body::TimerInit {
            timer: TIMER,
            period_ns: 5,
        },
        Body::TimerCallbackAdded {
            timer: TIMER,
            callback: CALLBACK,
        },
        Body::TimerLinkNode {
            timer: TIMER,
            node: NODE,
        },
        Body::ServiceInit {
            service: SERVICE,
            node: NODE,
            rmw_service: None,
            name: "/s",
        },
        Body::ServiceCallbackAdded {
            service: SERVICE,
            callback: CALLBACK + 1,
        },
    ];
    for order in all_orders(&bodies) {
        let (mut registry, process) = registry();
        for body in &order {
            registry.observe(0, process, body);
        }
        for callback in [CALLBACK, CALLBACK + 1] {
            let callback = registry.callback(process, callback);
            assert!(registry.graph.node_of(callback).is_some(), "{order:?}");
        }
    }
}

/// Addresses of an object that is gone are used again: by another of its kind, and by the part of
/// a subscription that gets messages inside the process, whose callback comes first.
#[test]
fn the_next_object_at_an_address_is_another() {
    let regular = [OBJECT_INIT, ADDED];
    let intra = [ADDED, OBJECT_INIT];
    for lives in [
        [regular, regular],
        [regular, intra],
        [intra, regular],
        [intra, intra],
    ] {
        let (mut registry, process) = registry();
        let mut callbacks = Vec::new();
        for (life, topic) in lives.iter().zip(["/first", "/second"]) {
            registry.observe(0, process, &subscription(topic));
            for body in life {
                registry.observe(0, process, body);
            }
            registry.observe(0, process, &register(topic));
            callbacks.push(registry.callback(process, CALLBACK));
        }
        let graph = &registry.graph;
        for (callback, topic) in callbacks.iter().zip(["/first", "/second"]) {
            let found = graph
                .topic_of(*callback)
                .map(|id| graph.topics[id].as_str());
            assert_eq!(found, Some(topic), "{lives:?}");
            assert_eq!(graph.callbacks[*callback].symbol.as_deref(), Some(topic));
        }
    }
}

#[test]
fn rclcpp_copies_a_callback_for_messages_inside_the_process() {
    let (mut registry, process) = registry();
    let copy = |body: &Body<'static>| match *body {
        Body::RclcppSubscriptionInit { subscription, .. } => Body::RclcppSubscriptionInit {
            subscription,
            object: OBJECT + 1,
        },
        _ => Body::SubscriptionCallbackAdded {
            object: OBJECT + 1,
            callback: CALLBACK + 1,
        },
    };
    for body in [
        subscription("/points"),
        ADDED,
        OBJECT_INIT,
        copy(&OBJECT_INIT),
        copy(&ADDED),
    ] {
        registry.observe(0, process, &body);
    }
    let first = registry.callback(process, CALLBACK);
    assert_eq!(registry.callback(process, CALLBACK + 1), first);
    assert_eq!(registry.graph.callbacks.len(), 1);
}

#[test]
fn the_event_that_lacks_is_named() {
    for (bodies, missing) in [
        (&[register("f")][..], CreationEvent::CallbackAdded),
        (&[ADDED], CreationEvent::RclcppSubscriptionInit),
        (&[ADDED, OBJECT_INIT], CreationEvent::RclSubscriptionInit),
        (&[OBJECT_INIT, ADDED], CreationEvent::RclSubscriptionInit),
        (
            &[Body::TimerCallbackAdded {
                timer: TIMER,
                callback: CALLBACK,
            }],
            CreationEvent::RclTimerInit,
        ),
        (
            &[Body::ServiceCallbackAdded {
                service: SERVICE,
                callback: CALLBACK,
            }],
            CreationEvent::RclServiceInit,
        ),
    ] {
        let (mut registry, process) = registry();
        for body in bodies {
            registry.observe(0, process, body);
        }
        let unnamed = registry.graph.unnamed_callbacks();
        assert_eq!(unnamed.len(), 1);
        assert_eq!(unnamed[0].missing, missing);
        assert!(unnamed[0].began_before);
    }
}
