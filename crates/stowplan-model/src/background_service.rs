//! A service that only keeps CPUs busy.

use crate::background::Background;
use crate::names::Name;
use crate::stack::{Executor, Node, NodeOptions, NodeStartUp, Process, Profile, SilentEndpoints};

/// The node of a service with so many busy threads, and its process. No message reaches it.
#[must_use]
pub fn background_service(threads: u32, name: Name) -> (Process, Node) {
    let process = Process {
        name: name.clone(),
        executor: Executor::Single,
        profile: Profile::Minimal,
        component_container: false,
    };
    let node = Node {
        module: name.clone(),
        function: None,
        attributed: true,
        process: name.clone(),
        options: NodeOptions::default(),
        callbacks: Vec::new(),
        silent: SilentEndpoints::default(),
        reentrant_groups: Vec::new(),
        start_up: NodeStartUp::default(),
        depends_on: Vec::new(),
        background: Some(Background {
            threads,
            own_service: true,
        }),
        name,
    };
    (process, node)
}
