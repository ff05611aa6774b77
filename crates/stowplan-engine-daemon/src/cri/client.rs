//! The connection to a runtime.

use std::collections::HashMap;
use std::error::Error;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::{Serving, peer};
use serde_json::Value;
use stowplan_engine::EngineError;
use tonic::transport::Channel;
use tonic::{Code, Request, Status};

use super::api::containerd::services::containers::v1::containers_client::ContainersClient;
use super::api::runtime::v1::image_service_client::ImageServiceClient;
use super::api::runtime::v1::runtime_service_client::RuntimeServiceClient;
use super::api::runtime::v1::{
    ContainerStatus, ContainerStatusRequest, PodSandboxStatusRequest, StatusRequest,
    VersionRequest, VersionResponse,
};
use super::crio::Config;
use super::endpoint::Endpoint;
use super::runtime::Runtime;
use super::settings::Settings;

/// Longest wait for the answer to a request, beyond what the request itself asks to wait.
const PATIENCE: Duration = Duration::from_secs(120);

/// Longest time that a runtime takes from listening to answering.
const START_UP: Duration = Duration::from_secs(30);

/// Longest time that an end is asked for again.
const INSISTING: Duration = Duration::from_secs(10);

/// The namespace in which containerd keeps what is the CRI's (containerd, `pkg/cri/constants`).
const NAMESPACE: &str = "k8s.io";

/// A connection.
pub struct Client {
    serving: Serving,
    channel: Channel,
    socket: PathBuf,
    /// Who answers.
    pub runtime: Runtime,
    /// Version of the runtime.
    pub version: String,
    /// Version of the API.
    pub api: String,
    /// How the runtime is set up.
    pub settings: Settings,
}

impl Client {
    /// Connects to the first that serves pods; where none does, the error is that of the first of all.
    pub fn connect(endpoint: &Endpoint) -> Result<Self, EngineError> {
        Self::to(endpoint.first()).or_else(|error| {
            let mut others = endpoint.others().iter();
            others.find_map(|socket| Self::to(socket).ok()).ok_or(error)
        })
    }

    /// Connects, and finds out who answers.
    fn to(socket: &Path) -> Result<Self, EngineError> {
        let socket = socket.to_owned();
        let hint = || Runtime::on(&socket).hint();
        let serving = Serving::new()?;
        let unanswered = || EngineError::new(format!("nobody answers on {}", socket.display()));
        let address = format!("unix://{}", socket.display());
        let address = tonic::transport::Endpoint::from_shared(address)
            .map_err(|e| unanswered().because(e))?;
        let channel = serving
            .wait(address.connect())
            .map_err(|e| unanswered().because(e).hint(hint()))?;
        let version = serving
            .wait(version(&channel))
            .map_err(|status| no_cri(&socket, status))?;
        let Some(runtime) = Runtime::of(&version.runtime_name) else {
            return Err(EngineError::new(format!(
                "{} {} on {} takes no image that it has not pulled",
                version.runtime_name,
                version.runtime_version,
                socket.display()
            ))
            .hint("use containerd or CRI-O: set CONTAINER_RUNTIME_ENDPOINT to the socket of one"));
        };
        let untold = || EngineError::new(format!("{} does not tell its state", runtime.name()));
        let asked = request(StatusRequest { verbose: true });
        let status = serving.wait(RuntimeServiceClient::new(channel.clone()).status(asked));
        let status = status.map_err(|status| untold().because(status))?;
        let info = status.into_inner().info;
        let told = info.get("config").map_or("{}", String::as_str);
        let settings = match runtime {
            Runtime::Containerd => Settings::parse(told)?,
            Runtime::CriO => Settings::parse(told)?.with(&Config::of(&socket, &serving)?),
        };
        Ok(Self {
            settings,
            serving,
            channel,
            socket,
            runtime,
            version: version.runtime_version,
            api: version.runtime_api_version,
        })
    }

    /// What drives its futures.
    pub const fn serving(&self) -> &Serving {
        &self.serving
    }

    /// Drives a future to its end.
    pub fn wait<T>(&self, future: impl Future<Output = T>) -> T {
        self.serving.wait(future)
    }

    /// The connection itself.
    pub fn channel(&self) -> Channel {
        self.channel.clone()
    }

    /// Pods and containers.
    pub fn runtime(&self) -> RuntimeServiceClient<Channel> {
        RuntimeServiceClient::new(self.channel())
    }

    /// Images.
    pub fn images(&self) -> ImageServiceClient<Channel> {
        ImageServiceClient::new(self.channel())
    }

    /// What containerd keeps of containers below the CRI.
    pub fn containers(&self) -> ContainersClient<Channel> {
        ContainersClient::new(self.channel())
    }

    /// What the runtime says of a container, and what it says of its inside.
    pub async fn container(&self, id: &str) -> Result<(ContainerStatus, Value), Status> {
        let asked = request(ContainerStatusRequest {
            container_id: id.to_owned(),
            verbose: true,
        });
        let found = self.runtime().container_status(asked).await?.into_inner();
        Ok((found.status.unwrap_or_default(), inside(&found.info)))
    }

    /// What the runtime says of the inside of a pod.
    pub async fn sandbox(&self, id: &str) -> Result<Value, Status> {
        let asked = request(PodSandboxStatusRequest {
            pod_sandbox_id: id.to_owned(),
            verbose: true,
        });
        let found = self.runtime().pod_sandbox_status(asked).await?;
        Ok(inside(&found.into_inner().info))
    }

    /// The process that serves the socket, where the kernel tells.
    pub fn daemon_pid(&self) -> Option<u32> {
        peer(&self.socket)
    }

    /// The error of a request.
    pub fn error(&self, what: impl std::fmt::Display, status: Status) -> EngineError {
        let name = self.runtime.name();
        if is_unanswered(&status) {
            EngineError::new(format!("{name} does not {what}"))
                .because(status)
                .hint(format!(
                    "if it no longer runs, {}; 'stowplan clean' removes what is left",
                    self.runtime.hint()
                ))
        } else {
            EngineError::new(format!("{name} cannot {what}: {}", status.message()))
        }
    }
}

/// Who answers. One that has just been started says for a moment that it cannot answer yet.
async fn version(channel: &Channel) -> Result<VersionResponse, Status> {
    let begin = Instant::now();
    loop {
        let mut runtime = RuntimeServiceClient::new(channel.clone());
        match runtime.version(request(VersionRequest::default())).await {
            Err(status)
                if status.message().contains("not initialized yet")
                    && begin.elapsed() < START_UP =>
            {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
            answer => return answer.map(tonic::Response::into_inner),
        }
    }
}

/// Asks for an end that may come by itself meanwhile: containerd loses its shim then before it knows why, and says that as an
/// unknown error (`ttrpc: closed`). Asked again a moment later, as a kubelet does, it knows.
pub async fn insist<T, F: Future<Output = Result<T, Status>>>(
    ask: impl Fn() -> F,
) -> Result<T, Status> {
    let begin = Instant::now();
    loop {
        match ask().await {
            Err(status)
                if status.code() == Code::Unknown
                    && !is_unanswered(&status)
                    && begin.elapsed() < INSISTING =>
            {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
            answer => return answer,
        }
    }
}

/// A request that is not waited for longer than any should take.
pub fn request<T>(message: T) -> Request<T> {
    patient(message, Duration::ZERO)
}

/// A request that itself asks to wait.
pub fn patient<T>(message: T, wait: Duration) -> Request<T> {
    let mut request = Request::new(message);
    request.set_timeout(PATIENCE.saturating_add(wait));
    request
}

/// A request to containerd itself, in the namespace of the CRI.
pub fn below<T>(message: T) -> Request<T> {
    let mut request = request(message);
    let metadata = request.metadata_mut();
    metadata.insert("containerd-namespace", NAMESPACE.parse().expect("is ASCII"));
    request
}

/// Whether the runtime has not said so itself: a status that was made here for a broken connection has its cause with it.
fn is_unanswered(status: &Status) -> bool {
    let is_about_the_way = matches!(
        status.code(),
        Code::Unavailable | Code::Cancelled | Code::DeadlineExceeded
    );
    is_about_the_way || status.source().is_some()
}

/// Whether the answer is that there is none.
pub fn is_absent(status: &Status) -> bool {
    status.code() == Code::NotFound
}

/// Whether a request failed because what it asks for is there.
pub fn is_there(status: &Status) -> bool {
    status.code() == Code::AlreadyExists
}

/// The error of a socket on which somebody answers who does not speak the CRI.
fn no_cri(socket: &Path, status: Status) -> EngineError {
    let error = EngineError::new(format!(
        "who answers on {} does not speak CRI v1",
        socket.display()
    ));
    match status.code() {
        Code::Unimplemented => error.because(status).hint(
            "take 'cri' out of disabled_plugins in /etc/containerd/config.toml and start containerd anew; \
             'ctr plugins ls' says why a plugin does not run",
        ),
        _ => error.because(status).hint(Runtime::on(socket).hint()),
    }
}

/// What a verbose status says of the inside, as JSON; null where it says nothing.
pub fn inside(info: &HashMap<String, String>) -> Value {
    let info = info.get("info").map_or("null", String::as_str);
    serde_json::from_str(info).unwrap_or_default()
}
