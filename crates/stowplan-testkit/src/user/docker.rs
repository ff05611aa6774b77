//! The API of Docker, which Podman speaks as well, as its user would call it.

use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::Value;
use stowplan_image::{Contents, Settings, write_archive};

use super::{Labelled, NOT_OURS, RUN, SERVICE, User};

/// The image of a user's containers; its tag is the one that Podman gives whatever is asked for.
const IMAGE: &str = "localhost/users-own";

/// What no answer takes. A daemon can wait for itself: that of Docker 20.10 did when dozens of tasks of a swarm ended together.
const HUNG: Duration = Duration::from_mins(3);

/// A daemon that speaks Docker's API.
#[derive(Debug, Clone)]
pub struct DockerApi {
    socket: PathBuf,
}

impl DockerApi {
    /// The one on this unix socket.
    #[must_use]
    pub fn at(socket: impl Into<PathBuf>) -> Self {
        Self {
            socket: socket.into(),
        }
    }

    fn call(&self, method: &str, path: &str, body: &[u8]) -> (u16, Value) {
        let answer = ask(&self.socket, method, &format!("/v1.41{path}"), body);
        answer.expect("the daemon answers")
    }

    fn list(&self, path: &str) -> Vec<Value> {
        let (_, list) = self.call("GET", path, b"");
        list.as_array().expect("a list").clone()
    }
}

impl User for DockerApi {
    fn labelled(&self) -> Vec<Labelled> {
        let filter = format!("%7B%22label%22%3A%5B%22{RUN}%22%5D%7D");
        let all = self.list(&format!("/containers/json?all=1&filters={filter}"));
        let labelled = all.iter().map(|one| {
            let name = one["Names"][0].as_str().expect("a name");
            let label = |key: &str| one["Labels"][key].as_str().map(str::to_owned);
            Labelled {
                name: name.trim_start_matches('/').to_owned(),
                run: label(RUN).expect("it was asked for"),
                service: label(SERVICE),
            }
        });
        labelled.collect()
    }

    fn images(&self) -> Vec<String> {
        let images = self.list("/images/json").into_iter();
        let tags = images.flat_map(|image| image["RepoTags"].as_array().cloned());
        tags.flatten()
            .filter_map(|tag| tag.as_str().map(str::to_owned))
            .collect()
    }

    fn remove_image(&self, tag: &str) {
        // Another tag of the same image may have been forced to go with it.
        let _ = self.call("DELETE", &format!("/images/{tag}?force=true"), b"");
    }

    fn make(&self, name: &str) {
        // A second one of the tag would leave the first without any.
        if !self.images().contains(&format!("{IMAGE}:latest")) {
            let (status, said) = self.call("POST", "/images/load", &empty_image());
            assert_eq!(status, 200, "{said}");
        }
        let body = format!(
            r#"{{"Image": "{IMAGE}:latest", "Cmd": ["/none"], "Labels": {{"{RUN}": "{NOT_OURS}"}}, "HostConfig": {{"NetworkMode": "host"}}}}"#
        );
        let path = format!("/containers/create?name={name}");
        let (status, said) = self.call("POST", &path, body.as_bytes());
        assert_eq!(status, 201, "{said}");
    }

    fn has(&self, name: &str) -> bool {
        let (status, _) = self.call("GET", &format!("/containers/{name}/json"), b"");
        status == 200
    }

    fn remove(&self, name: &str) {
        let (status, said) = self.call("DELETE", &format!("/containers/{name}"), b"");
        assert!(matches!(status, 200 | 204), "{said}");
        // As long as another container needs it, it stays.
        let _ = self.call("DELETE", &format!("/images/{IMAGE}:latest"), b"");
    }
}

/// An image without a file, as an archive. `/images/create` would make one of less, but Podman leaves what it was sent in
/// /var/tmp (containers/podman#28531).
fn empty_image() -> Vec<u8> {
    let root = tempfile::tempdir().expect("a folder");
    let contents = Contents::Root(root.path().to_owned());
    let mut archive = Vec::new();
    let written = write_archive(
        &contents,
        &format!("{IMAGE}:latest"),
        &Settings::default(),
        &mut archive,
    );
    written.expect("it is in memory");
    archive
}

/// Sends a request with a body and gives status and answer; an answer that is no JSON is null.
pub(crate) fn ask(
    socket: &Path,
    method: &str,
    path: &str,
    body: &[u8],
) -> io::Result<(u16, Value)> {
    let mut stream = UnixStream::connect(socket)?;
    stream.set_read_timeout(Some(HUNG))?;
    let length = body.len();
    write!(
        stream,
        "{method} {path} HTTP/1.0\r\nHost: daemon\r\nContent-Type: application/json\r\n\
         Content-Length: {length}\r\n\r\n"
    )?;
    stream.write_all(body)?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer)?;
    let answer = String::from_utf8_lossy(&answer);
    let broken = || io::Error::from(io::ErrorKind::UnexpectedEof);
    let (head, body) = answer.split_once("\r\n\r\n").ok_or_else(broken)?;
    let status = head.split(' ').nth(1).and_then(|word| word.parse().ok());
    let json = serde_json::from_str(body.trim()).unwrap_or(Value::Null);
    Ok((status.ok_or_else(broken)?, json))
}
