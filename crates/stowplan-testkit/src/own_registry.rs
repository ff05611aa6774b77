//! A registry of a test's own: that of the Distribution project, as Debian packages it.

use std::fs::{self, File};
use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use tempfile::TempDir;

use crate::available::absent;

/// Attempts to start it: somebody else may take the port that was free.
const ATTEMPTS: u32 = 5;
/// Name and password for it, where it asks for them: `somebody:secret` in Base64.
const LOGIN: &str = "c29tZWJvZHk6c2VjcmV0";
/// That login as `htpasswd -B` writes it.
const HTPASSWD: &str = "somebody:$2y$04$abcdefghijklmnopqrstuu2r9OfJnfCsdneAXAGHnS4UpFFP8WIrW\n";

/// What a registry does.
#[derive(Debug, Clone, Copy, Default)]
pub struct RegistrySettings {
    /// It removes manifests.
    pub deletes: bool,
    /// It takes nothing.
    pub read_only: bool,
    /// It asks for a password.
    pub password: bool,
}

/// A registry on loopback, with all that it keeps in a folder of its own. Dropping it ends it.
#[derive(Debug)]
pub struct OwnRegistry {
    process: Child,
    folder: TempDir,
    host: String,
}

impl OwnRegistry {
    /// Starts one; `None` where it cannot be had.
    ///
    /// # Panics
    /// When it is there and does not run, or when it is not there and `$STOWPLAN_REQUIRE_ENGINES` names `kube`.
    #[must_use]
    pub fn start(settings: RegistrySettings) -> Option<Self> {
        let mut said = String::new();
        for _ in 0..ATTEMPTS {
            match Self::attempt(settings) {
                Ok(Ok(own)) => return Some(own),
                Ok(Err(complaint)) => said = complaint,
                Err(error) if error.kind() == ErrorKind::NotFound => {
                    absent("kube", "there is no docker-registry");
                    return None;
                }
                Err(error) => panic!("docker-registry: {error}"),
            }
        }
        panic!("docker-registry does not run here: {said}");
    }

    /// The inner error is what it has said before it ended.
    fn attempt(settings: RegistrySettings) -> std::io::Result<Result<Self, String>> {
        let folder = TempDir::with_prefix("registry")?;
        let free = TcpListener::bind("127.0.0.1:0")?.local_addr()?;
        let config = folder.path().join("config.yml");
        let host = free.to_string();
        fs::write(&config, configuration(settings, folder.path(), &host))?;
        fs::write(folder.path().join("htpasswd"), HTPASSWD)?;
        let log = folder.path().join("log");
        let mut command = Command::new("docker-registry");
        command.arg("serve").arg(config).stdin(Stdio::null());
        command.stdout(Stdio::null()).stderr(File::create(&log)?);
        let mut own = Self {
            process: command.spawn()?,
            folder,
            host,
        };
        while TcpStream::connect(&own.host).is_err() {
            if own.process.try_wait()?.is_some() {
                return Ok(Err(fs::read_to_string(log)?));
            }
            std::thread::yield_now();
        }
        Ok(Ok(own))
    }

    /// Host and port.
    #[must_use]
    pub fn host(&self) -> &str {
        &self.host
    }

    /// The folder, for `$DOCKER_CONFIG`, of a file with the login as `docker login` would keep it.
    ///
    /// # Panics
    /// When it cannot be written.
    #[must_use]
    pub fn login(&self) -> &Path {
        let text = format!(r#"{{"auths": {{"{}": {{"auth": "{LOGIN}"}}}}}}"#, self.host);
        fs::write(self.folder.path().join("config.json"), text).expect("a file can be written");
        self.folder.path()
    }

    /// What it answers to a request.
    ///
    /// # Panics
    /// When it does not answer.
    #[must_use]
    pub fn get(&self, path: &str) -> String {
        let mut stream = TcpStream::connect(&self.host).expect("it answers");
        let host = &self.host;
        let asked = format!("GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
        stream.write_all(asked.as_bytes()).expect("it listens");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("text");
        answer
    }
}

impl Drop for OwnRegistry {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn configuration(settings: RegistrySettings, folder: &Path, host: &str) -> String {
    let folder = folder.display();
    let RegistrySettings {
        deletes,
        read_only,
        password,
    } = settings;
    let auth = if password {
        format!("auth: {{htpasswd: {{realm: test, path: {folder}/htpasswd}}}}\n")
    } else {
        String::new()
    };
    format!(
        "version: 0.1\nlog: {{level: warn}}\nhttp: {{addr: '{host}'}}\n{auth}storage:\n  filesystem: {{rootdirectory: {folder}/data}}\n  \
         delete: {{enabled: {deletes}}}\n  maintenance: {{uploadpurging: {{enabled: false}}, readonly: {{enabled: {read_only}}}}}\n"
    )
}
