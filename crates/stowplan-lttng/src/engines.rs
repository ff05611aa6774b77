//! The first process of a container that Docker or Podman runs.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::Value;
use stowplan_host::HostError;

/// Longest wait for an answer.
const PATIENCE: Duration = Duration::from_secs(10);

/// Pid on the host of the first process of the container `name`; Docker is asked, then Podman, which speaks Docker's
/// API.
///
/// # Errors
/// When no engine answers, or none knows a running container of this name.
pub fn init_of(name: &str) -> Result<u32, HostError> {
    let user = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from);
    let sockets = ["/var/run/docker.sock", "/run/podman/podman.sock"]
        .map(PathBuf::from)
        .into_iter()
        .chain(user.map(|dir| dir.join("podman/podman.sock")));
    find(name, &sockets.collect::<Vec<_>>())
}

fn find(name: &str, sockets: &[PathBuf]) -> Result<u32, HostError> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_.-".contains(c);
    if name.is_empty() || !name.chars().all(plain) {
        return Err(HostError::new(format!(
            "'{name}' is no name of a container"
        )));
    }
    let mut answers = Vec::new();
    for socket in sockets {
        match ask(name, socket) {
            Ok(Some(pid)) => return Ok(pid),
            Ok(None) => answers.push(format!("{} knows none", socket.display())),
            Err(error) => answers.push(format!("{}: {error}", socket.display())),
        }
    }
    Err(HostError::new(format!(
        "there is no running container '{name}': {}",
        answers.join("; ")
    ))
    .hint("give the pid of its first process on the host with --pid"))
}

/// `GET /containers/NAME/json` of Docker's API, whose unversioned paths every version answers.
fn ask(name: &str, socket: &Path) -> std::io::Result<Option<u32>> {
    let mut stream = UnixStream::connect(socket)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    // HTTP 1.0: the answer is neither chunked nor kept open.
    write!(
        stream,
        "GET /containers/{name}/json HTTP/1.0\r\nHost: localhost\r\n\r\n"
    )?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    let Some((head, body)) = answer.split_once("\r\n\r\n") else {
        return Err(std::io::Error::other("no answer of HTTP"));
    };
    if !head
        .lines()
        .next()
        .is_some_and(|line| line.contains(" 200 "))
    {
        return Ok(None);
    }
    let document: Value = serde_json::from_str(body)?;
    let pid = document["State"]["Pid"]
        .as_u64()
        .and_then(|pid| u32::try_from(pid).ok());
    // 0 for one that does not run.
    Ok(pid.filter(|pid| *pid > 0))
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixListener;

    use super::*;

    /// Answers as Docker 20.10 does, once.
    fn answering(folder: &Path, status: &str, body: &str) -> PathBuf {
        let path = folder.join("docker.sock");
        let listener = UnixListener::bind(&path).unwrap();
        let answer = format!("HTTP/1.0 {status}\r\nContent-Type: application/json\r\n\r\n{body}");
        std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            // It may come in pieces.
            let (mut request, mut piece) = (Vec::new(), [0; 1024]);
            while !request.ends_with(b"\r\n\r\n") {
                let read = stream.read(&mut piece).unwrap();
                assert!(read > 0, "{request:?}");
                request.extend_from_slice(&piece[..read]);
            }
            let expected = b"GET /containers/autoware_1/json HTTP/1.0\r\n";
            assert!(request.starts_with(expected));
            stream.write_all(answer.as_bytes()).unwrap();
        });
        path
    }

    #[test]
    fn a_running_container_has_a_pid() {
        let folder = tempfile::tempdir().unwrap();
        let body = r#"{"Id":"ab","State":{"Status":"running","Running":true,"Pid":4711}}"#;
        let socket = answering(folder.path(), "200 OK", body);
        let absent = folder.path().join("absent.sock");
        assert_eq!(find("autoware_1", &[absent, socket]).unwrap(), 4711);
    }

    #[test]
    fn one_that_does_not_run_is_none() {
        let folder = tempfile::tempdir().unwrap();
        let body = r#"{"Id":"ab","State":{"Status":"exited","Pid":0}}"#;
        let socket = answering(folder.path(), "200 OK", body);
        let error = find("autoware_1", &[socket]).unwrap_err();
        assert!(error.to_string().contains("knows none"), "{error}");
        assert!(error.hint.unwrap().contains("--pid"));
    }

    #[test]
    fn a_name_is_no_path() {
        assert!(find("../x", &[]).is_err());
    }
}
