//! The connection to a server.

use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use bytes::Bytes;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full};
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::client::legacy;
use hyper_util::rt::TokioExecutor;
use hyperlocal::UnixConnector;
use serde::de::DeserializeOwned;
use serde_json::Value;
use stowplan_engine::EngineError;
use stowplan_engine_daemon::Serving;
use stowplan_host::ledger::DaemonVariables;

use crate::Server;
use crate::api::{Answer, Operation, ServerInfo};

/// Longest wait for an answer or the end of an operation, beyond what the request itself asks to wait.
pub(crate) const PATIENCE: Duration = Duration::from_secs(120);
/// Longest time that an instance is busy ending by itself.
const BUSY: Duration = Duration::from_secs(60);
/// Time between two looks at a busy instance, for which the server has no event.
const LOOK: Duration = Duration::from_millis(20);

/// What a request carries.
pub(crate) type Body = UnsyncBoxBody<Bytes, io::Error>;

/// Why a request has no good answer.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ApiError {
    /// The server says no.
    #[error("{message}")]
    InstanceEvent { code: u16, message: String },
    #[error("the connection failed")]
    Connection(#[from] legacy::Error),
    #[error("the answer broke off")]
    Answer(#[from] hyper::Error),
    #[error("the answer is not understood")]
    Meaning(#[from] serde_json::Error),
    #[error("no answer within {0:?}")]
    Silent(Duration),
}

impl ApiError {
    fn said(&self) -> Option<&str> {
        match self {
            Self::InstanceEvent { message, .. } => Some(message),
            _ => None,
        }
    }

    /// Whether the server says that there is none of this name.
    pub(crate) const fn is_absent(&self) -> bool {
        matches!(self, Self::InstanceEvent { code: 404, .. })
    }

    /// Whether the name is somebody else's.
    pub(crate) fn is_taken(&self) -> bool {
        self.said()
            .is_some_and(|text| text.contains("already exists"))
    }

    /// Whether an instance cannot be stopped because it does not run.
    pub(crate) fn is_stopped(&self) -> bool {
        self.said()
            .is_some_and(|text| text.contains("already stopped") || text.contains("is not running"))
    }

    /// Whether an instance has to be asked again: it does something else now.
    fn is_busy(&self) -> bool {
        self.said()
            .is_some_and(|text| text.contains("is busy running"))
    }
}

/// A connection with the thread of this process as its executor: between calls nothing of it runs.
pub struct Client {
    serving: Serving,
    http: legacy::Client<UnixConnector, Body>,
    server: Server,
    socket: PathBuf,
    info: ServerInfo,
}

impl Client {
    /// Connects to the server that its own client would use.
    pub(crate) fn connect(server: Server) -> Result<Self, EngineError> {
        Self::connect_at(server, &DaemonVariables::of_this_process())
    }

    /// Connects to the server that these variables tell of, and sees who answers.
    pub(crate) fn connect_at(server: Server, at: &DaemonVariables) -> Result<Self, EngineError> {
        let socket = server.socket(|name| at.get(name), Path::exists);
        let serving = Serving::new()?;
        // Every request on a connection of its own: one that was kept may be that of a server that has died since.
        let http = legacy::Client::builder(TokioExecutor::new())
            .pool_max_idle_per_host(0)
            .build(UnixConnector);
        let asked = serving.wait(answer(&http, get(&socket, "/1.0"), PATIENCE));
        let info = asked.and_then(|answer| Ok(serde_json::from_value(answer.metadata)?));
        let info: ServerInfo = info.map_err(|error| {
            let (name, path) = (server.name(), socket.display());
            EngineError::new(format!("{name} does not answer on {path}"))
                .because(error)
                .hint(server.hint())
        })?;
        let who = &info.environment.server;
        if who != server.name() {
            return Err(EngineError::new(format!(
                "on {} answers '{who}', which is not {}",
                socket.display(),
                server.name()
            ))
            .hint(format!("use the engine '{who}'")));
        }
        Ok(Self {
            serving,
            http,
            server,
            socket,
            info,
        })
    }

    pub(crate) const fn server(&self) -> Server {
        self.server
    }

    pub(crate) const fn info(&self) -> &ServerInfo {
        &self.info
    }

    pub(crate) fn socket(&self) -> &Path {
        &self.socket
    }

    pub(crate) const fn serving(&self) -> &Serving {
        &self.serving
    }

    /// What the server has at `path`.
    pub(crate) async fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T, ApiError> {
        let answer = answer(&self.http, get(&self.socket, path), PATIENCE).await?;
        Ok(serde_json::from_value(answer.metadata)?)
    }

    /// The objects that the server has at `path`. Incus says null where there are none.
    pub(crate) async fn list<T: DeserializeOwned>(&self, path: &str) -> Result<Vec<T>, ApiError> {
        let all: Option<Vec<T>> = self.get(path).await?;
        Ok(all.unwrap_or_default())
    }

    /// The file that the server has at `path`, as text; what is not UTF-8 is replaced.
    pub(crate) async fn text(&self, path: &str) -> Result<String, ApiError> {
        let (status, bytes) = exchange(&self.http, get(&self.socket, path), PATIENCE).await?;
        if status == StatusCode::OK {
            Ok(String::from_utf8_lossy(&bytes).into_owned())
        } else {
            let answer: Answer = serde_json::from_slice(&bytes)?;
            Err(no(answer))
        }
    }

    /// Asks for something to be done, and waits until it is: longer than for other things by what it may take itself.
    pub(crate) async fn ask(
        &self,
        method: Method,
        path: &str,
        body: &Value,
        longer: Duration,
    ) -> Result<(), ApiError> {
        let body = Full::new(Bytes::from(body.to_string()));
        let body = Body::new(body.map_err(|never| match never {}));
        self.send(method, path, body, longer).await
    }

    /// [`Client::ask`] with a body of any kind.
    pub(crate) async fn send(
        &self,
        method: Method,
        path: &str,
        body: Body,
        longer: Duration,
    ) -> Result<(), ApiError> {
        let patience = PATIENCE.saturating_add(longer);
        let request = request(&self.socket, method, path, body);
        let answer_now = answer(&self.http, request, patience).await?;
        if answer_now.kind != "async" {
            return Ok(());
        }
        let wait = format!("{}/wait", answer_now.operation);
        let ended = answer(&self.http, get(&self.socket, &wait), patience).await?;
        let operation: Operation = serde_json::from_value(ended.metadata)?;
        if operation.status_code == StatusCode::OK.as_u16() {
            return Ok(());
        }
        Err(ApiError::InstanceEvent {
            code: operation.status_code,
            message: operation.err,
        })
    }

    /// [`Client::ask`], again for as long as the instance does something else.
    pub(crate) async fn ask_when_idle(
        &self,
        method: Method,
        path: &str,
        body: &Value,
        longer: Duration,
    ) -> Result<(), ApiError> {
        let begin = Instant::now();
        loop {
            match self.ask(method.clone(), path, body, longer).await {
                Err(error) if error.is_busy() && begin.elapsed() < BUSY => {
                    tokio::time::sleep(LOOK).await;
                }
                done => return done,
            }
        }
    }

    /// The error of a request.
    pub(crate) fn error(&self, what: impl std::fmt::Display, error: ApiError) -> EngineError {
        let name = self.server.name();
        match error {
            ApiError::InstanceEvent { message, .. } => {
                EngineError::new(format!("{name} cannot {what}: {message}"))
            }
            other => EngineError::new(format!("{name} does not {what}"))
                .because(other)
                .hint(format!(
                    "if it no longer runs, {}; 'stowplan clean' removes what is left",
                    self.server.hint()
                )),
        }
    }
}

fn request(socket: &Path, method: Method, path: &str, body: Body) -> Request<Body> {
    let mut request = Request::new(body);
    *request.method_mut() = method;
    *request.uri_mut() = hyperlocal::Uri::new(socket, path).into();
    request
}

fn get(socket: &Path, path: &str) -> Request<Body> {
    let nothing = Full::new(Bytes::new()).map_err(|never| match never {});
    request(socket, Method::GET, path, Body::new(nothing))
}

async fn exchange(
    http: &legacy::Client<UnixConnector, Body>,
    request: Request<Body>,
    patience: Duration,
) -> Result<(StatusCode, Bytes), ApiError> {
    let exchange = async {
        let answer: Response<_> = http.request(request).await?;
        let status = answer.status();
        Ok((status, answer.into_body().collect().await?.to_bytes()))
    };
    tokio::time::timeout(patience, exchange)
        .await
        .map_err(|_| ApiError::Silent(patience))?
}

async fn answer(
    http: &legacy::Client<UnixConnector, Body>,
    request: Request<Body>,
    patience: Duration,
) -> Result<Answer, ApiError> {
    let (_, bytes) = exchange(http, request, patience).await?;
    let answer: Answer = serde_json::from_slice(&bytes)?;
    if answer.kind == "error" {
        return Err(no(answer));
    }
    Ok(answer)
}

fn no(answer: Answer) -> ApiError {
    ApiError::InstanceEvent {
        code: answer.error_code,
        message: answer.error,
    }
}
