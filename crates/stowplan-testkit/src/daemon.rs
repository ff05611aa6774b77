//! The API of a container daemon, as its user would call it: so that tests look at what an engine did with other eyes.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;

use serde_json::Value;

/// A daemon that speaks Docker's API on a unix socket.
#[derive(Debug, Clone, Copy)]
pub struct ContainerDaemon {
    socket: &'static str,
}

impl ContainerDaemon {
    /// The daemon of the engine of this name, where root has it.
    ///
    /// # Panics
    /// When no engine of this name has a daemon.
    #[must_use]
    pub fn of(engine: &str) -> Self {
        let socket = match engine {
            "docker" => "/var/run/docker.sock",
            "podman" => "/run/podman/podman.sock",
            other => panic!("no daemon of '{other}'"),
        };
        Self { socket }
    }

    /// Sends a request with a JSON body and gives status and answer; an answer that is no JSON is null.
    ///
    /// # Panics
    /// When the daemon does not answer.
    #[must_use]
    pub fn call(&self, method: &str, path: &str, body: &str) -> (u16, Value) {
        let mut stream = UnixStream::connect(self.socket).expect("the daemon listens");
        let length = body.len();
        write!(
            stream,
            "{method} /v1.41{path} HTTP/1.0\r\nHost: daemon\r\nContent-Type: application/json\r\n\
             Content-Length: {length}\r\n\r\n{body}"
        )
        .expect("the daemon reads");
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).expect("the daemon answers");
        let answer = String::from_utf8_lossy(&answer);
        let (head, body) = answer.split_once("\r\n\r\n").expect("a head and a body");
        let status = head.split(' ').nth(1).and_then(|word| word.parse().ok());
        let json = serde_json::from_str(body.trim()).unwrap_or(Value::Null);
        (status.expect("a status"), json)
    }

    /// Names of all containers, running or not, that have this label (`KEY` or `KEY=VALUE`).
    ///
    /// # Panics
    /// When the daemon does not answer.
    #[must_use]
    pub fn containers(&self, label: &str) -> Vec<String> {
        let filter = format!("%7B%22label%22%3A%5B%22{label}%22%5D%7D");
        let (_, list) = self.call(
            "GET",
            &format!("/containers/json?all=1&filters={filter}"),
            "",
        );
        let names = list.as_array().expect("a list").iter();
        names
            .map(|one| {
                one["Names"][0]
                    .as_str()
                    .expect("a name")
                    .trim_start_matches('/')
                    .to_owned()
            })
            .collect()
    }

    /// Tags of all images whose tag has this in it.
    ///
    /// # Panics
    /// When the daemon does not answer.
    #[must_use]
    pub fn images(&self, part: &str) -> Vec<String> {
        let (_, list) = self.call("GET", "/images/json", "");
        let tags = list.as_array().expect("a list").iter();
        tags.flat_map(|image| image["RepoTags"].as_array().cloned().unwrap_or_default())
            .filter_map(|tag| tag.as_str().map(str::to_owned))
            .filter(|tag| tag.contains(part))
            .collect()
    }
}
