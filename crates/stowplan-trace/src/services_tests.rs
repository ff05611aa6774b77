//! Calls of services with times worked out by hand.

use crate::event::{Body, DiscardScope, ProcessKey};
use crate::scripted::{At, Script};
use crate::{Address, Analysis, Owner, ServiceCalls};

const SERVICE: &str = "/map/get";
const GIDS: [&[u8]; 2] = [&[1; 16], &[2; 16]];

struct Server {
    at: At,
    service: Address,
    callback: Address,
}

struct Caller {
    at: At,
    client: Address,
    gid: &'static [u8],
}

fn server(script: &mut Script, at: At) -> Server {
    let node = script.node(at, "server");
    let (service, callback) = (script.address(at), script.address(at));
    let body = Body::ServiceInit {
        service,
        node: node.address,
        rmw_service: Some(service + 8),
        name: SERVICE,
    };
    script.add(-1, at, body);
    script.add(-1, at, Body::ServiceCallbackAdded { service, callback });
    Server {
        at,
        service: service + 8,
        callback,
    }
}

fn client(script: &mut Script, at: At, name: &'static str, gid: &'static [u8]) -> Caller {
    let node = script.node(at, name);
    let client = script.address(at);
    let rmw_client = client + 8;
    script.add(-2, at, Body::RmwClientInit { rmw_client, gid });
    let body = Body::ClientInit {
        node: node.address,
        rmw_client: Some(rmw_client),
        name: SERVICE,
    };
    script.add(-1, at, body);
    let client = rmw_client;
    Caller { at, client, gid }
}

fn send(script: &mut Script, time_ns: i64, from: &Caller, sequence: i64) {
    let rmw_client = from.client;
    let body = Body::SendRequest {
        rmw_client,
        sequence,
    };
    script.add(time_ns, from.at, body);
}

/// Takes a request, calls back 10 ns later for `work` ns and responds 5 ns before the end.
fn serve(
    script: &mut Script,
    time_ns: i64,
    by: &Server,
    of: &Caller,
    (sequence, work): (i64, i64),
) {
    let (rmw_service, client_gid, taken) = (by.service, of.gid, true);
    let body = Body::TakeRequest {
        rmw_service,
        client_gid,
        sequence,
        taken,
    };
    script.add(time_ns, by.at, body);
    script.start(time_ns + 10, by.at, by.callback);
    let body = Body::SendResponse {
        rmw_service,
        client_gid,
        sequence,
    };
    script.add(time_ns + 5 + work, by.at, body);
    script.end(time_ns + 10 + work, by.at, by.callback);
}

fn got(script: &mut Script, time_ns: i64, by: &Caller, sequence: i64) {
    let (rmw_client, taken) = (by.client, true);
    let body = Body::TakeResponse {
        rmw_client,
        sequence,
        taken,
    };
    script.add(time_ns, by.at, body);
}

/// Client's node, calls, answered; means of request, service, response and round trip.
type Row = (Option<String>, u64, u64, [Option<f64>; 4]);

fn rows(analysis: &Analysis) -> Vec<Row> {
    let row = |of: &ServiceCalls| {
        let client = of.client.map(|id| {
            use crate::Id as _;
            let node = analysis.graph.clients[id.index()].node;
            analysis.graph.nodes[node].full_name()
        });
        let means = [&of.request, &of.service, &of.response, &of.round_trip]
            .map(|of| of.as_ref().map(|of| of.mean_ns));
        (client, of.calls, of.answered, means)
    };
    analysis.services.iter().map(row).collect()
}

#[test]
fn calls_of_two_clients_with_equal_numbers_do_not_mix() {
    let build = || {
        let mut script = Script::new();
        let [a, b, s] = [1, 2, 3].map(|vpid| script.process(vpid));
        let server = server(&mut script, s);
        let a = client(&mut script, a, "a", GIDS[0]);
        let b = client(&mut script, b, "b", GIDS[1]);
        send(&mut script, 1000, &a, 1);
        send(&mut script, 1100, &b, 1);
        serve(&mut script, 1200, &server, &b, (1, 100));
        serve(&mut script, 1400, &server, &a, (1, 300));
        got(&mut script, 1350, &b, 1);
        got(&mut script, 1750, &a, 1);
        // Never answered, and a response that another thread sends later.
        send(&mut script, 3000, &a, 2);
        script
    };
    let analysis = build().analyse();
    let a = [410.0, 295.0, 45.0, 750.0].map(Some);
    let b = [110.0, 95.0, 45.0, 250.0].map(Some);
    let expected = [
        (Some("/a".to_owned()), 1, 0, [None; 4]),
        (Some("/a".to_owned()), 1, 1, a),
        (Some("/b".to_owned()), 1, 1, b),
    ];
    assert_eq!(rows(&analysis), expected);
    assert_eq!(analysis.services[1].name.as_deref(), Some(SERVICE));
    assert_eq!(build().overview().services, analysis.services);
}

#[test]
fn one_side_alone_gives_its_own_times() {
    let mut script = Script::new();
    let [c, s] = [1, 2].map(|vpid| script.process(vpid));
    let known = client(&mut script, c, "a", GIDS[0]);
    send(&mut script, 1000, &known, 1);
    got(&mut script, 1500, &known, 1);
    // Of a client that was made before tracing began.
    let unknown = Caller {
        at: c,
        client: 0x77,
        gid: GIDS[1],
    };
    send(&mut script, 2000, &unknown, 7);
    got(&mut script, 2100, &unknown, 7);
    let server = server(&mut script, s);
    serve(&mut script, 3000, &server, &unknown, (7, 50));
    let analysis = script.analyse();
    let expected = [
        (None, 1, 1, [None, None, None, Some(100.0)]),
        (None, 1, 0, [None, Some(45.0), None, None]),
        (Some("/a".to_owned()), 1, 1, [None, None, None, Some(500.0)]),
    ];
    assert_eq!(rows(&analysis), expected);
}

#[test]
fn a_callback_that_follows_a_response_is_the_clients() {
    let mut script = Script::new();
    let at = script.process(1);
    let caller = client(&mut script, at, "a", GIDS[0]);
    let [own, other] = [0x500, 0x600];
    got(&mut script, 100, &caller, 1);
    script.start(110, at, own);
    script.end(120, at, own);
    got(&mut script, 200, &caller, 2);
    // Without a callback: the executor goes on.
    script.add(210, at, Body::ExecutorExecute);
    script.start(220, at, other);
    script.end(230, at, other);
    let analysis = script.analyse();
    let owners: Vec<bool> = analysis
        .graph
        .callbacks
        .iter()
        .map(|(_, callback)| matches!(callback.owner, Owner::Client(_)))
        .collect();
    assert_eq!(owners, [true, false]);
    let (callback, _) = analysis.graph.callbacks.iter().next().unwrap();
    assert_eq!(analysis.graph.describe(callback), "/a client of /map/get");
}

#[test]
fn a_callback_after_lost_events_is_of_no_known_request() {
    let mut script = Script::new();
    let [c, s] = [1, 2].map(|vpid| script.process(vpid));
    let caller = client(&mut script, c, "a", GIDS[0]);
    let server = server(&mut script, s);
    send(&mut script, 1000, &caller, 1);
    let body = Body::TakeRequest {
        rmw_service: server.service,
        client_gid: caller.gid,
        sequence: 1,
        taken: true,
    };
    script.add(1100, s, body);
    // Its callback, and the next request.
    script.lose(DiscardScope::Process(s.process), 1101, 1900);
    script.start(2000, s, server.callback);
    script.end(2100, s, server.callback);
    assert_eq!(rows(&script.analyse())[0].3, [None; 4]);
}

#[test]
fn between_hosts_with_clocks_apart_only_times_of_one_host_are_given() {
    let mut script = Script::new();
    let [c, s] = ["ecu1", "ecu2"].map(|host| {
        script.process_of(&ProcessKey {
            host: host.to_owned(),
            trace: host.to_owned(),
            pid_namespace: None,
            vpid: 1,
        })
    });
    let server = server(&mut script, s);
    let caller = client(&mut script, c, "a", GIDS[0]);
    // The server's clock is 5000 ns behind.
    for sequence in 1..=3 {
        let t = 10_000 * sequence;
        send(&mut script, t, &caller, sequence);
        serve(
            &mut script,
            t + 200 - 5000,
            &server,
            &caller,
            (sequence, 400),
        );
        got(&mut script, t + 700, &caller, sequence);
    }
    let analysis = script.analyse();
    let [difference] = &analysis.clocks[..] else {
        panic!("{:?}", analysis.clocks)
    };
    assert_eq!(
        (difference.least_ns, difference.most_ns),
        (4800, Some(5095))
    );
    let means = [None, Some(395.0), None, Some(700.0)];
    assert_eq!(rows(&analysis), [(Some("/a".to_owned()), 3, 3, means)]);
    assert!(analysis.services[0].clocks_differ);
}
