//! Images on their way to a registry and out of it again (OCI distribution-spec 1.1,
//! <https://github.com/opencontainers/distribution-spec/blob/v1.1.0/spec.md>).

use std::time::Duration;

use docker_credential::{CredentialRetrievalError, DockerCredential};
use futures_util::TryStreamExt as _;
use http::{HeaderValue, StatusCode};
use oci_client::Reference;
use oci_client::client::{Client, ClientConfig, ClientProtocol};
use oci_client::errors::{OciDistributionError, OciErrorCode};
use oci_client::secrets::RegistryAuth;
use oci_client::token_cache::RegistryOperation;
use serde_json::Value;
use stowplan_engine::EngineError;
use stowplan_engine_daemon::cri::{image_settings, is_made_as};
use stowplan_engine_daemon::{Serving, pieces};
use stowplan_image::{Blob, Contents, blobs};

use crate::registry::{Registry, VARIABLE};

/// Longest wait for a connection.
const CONNECTING: Duration = Duration::from_secs(10);
/// Longest silence of a registry.
const PATIENCE: Duration = Duration::from_secs(120);
/// A digest that no manifest has.
const NO_DIGEST: &str = "sha256:0000000000000000000000000000000000000000000000000000000000000000";
/// What Docker calls its own registry where it keeps passwords.
const DOCKER_HUB: (&str, &str) = ("docker.io", "https://index.docker.io/v1/");

/// A registry that is spoken to.
pub(crate) struct Pusher {
    serving: Serving,
    registry: Registry,
    client: Client,
    http: reqwest::Client,
    auth: RegistryAuth,
}

/// An image that a registry has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Pushed {
    /// Its name by its digest, as `HOST/PATH@sha256:…`.
    pub(crate) name: String,
    /// Why it cannot be removed again; `None` where it can.
    pub(crate) stays: Option<String>,
}

impl Pusher {
    pub(crate) fn new(registry: &Registry) -> Result<Self, EngineError> {
        let unusable =
            || EngineError::new(format!("the registry {} cannot be used", registry.host));
        // Whoever was first has set the same one.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let protocol = if registry.is_plain {
            ClientProtocol::Http
        } else {
            ClientProtocol::Https
        };
        let client = Client::try_from(ClientConfig {
            protocol,
            // A layer is sent as it is read, in one request.
            use_monolithic_push: true,
            connect_timeout: Some(CONNECTING),
            read_timeout: Some(PATIENCE),
            ..ClientConfig::default()
        });
        let http = reqwest::Client::builder().connect_timeout(CONNECTING);
        let http = http.read_timeout(PATIENCE).build();
        Ok(Self {
            serving: Serving::new()?,
            client: client.map_err(|e| unusable().because(e))?,
            http: http.map_err(|e| unusable().because(e))?,
            auth: credentials(&registry.host)?,
            registry: registry.clone(),
        })
    }

    /// Name and password, where the registry asks for them.
    pub(crate) fn password(&self) -> Option<(&str, &str)> {
        match &self.auth {
            RegistryAuth::Basic(name, password) => Some((name, password)),
            RegistryAuth::Anonymous | RegistryAuth::Bearer(_) => None,
        }
    }

    /// Pushes an image of these contents as `tag`. Parts that the registry has are not sent.
    pub(crate) fn push(&self, contents: &Contents, tag: &str) -> Result<Pushed, EngineError> {
        let unread = |e| EngineError::new("cannot read what goes into the image").because(e);
        let mut parts = blobs(contents, &image_settings(contents, Some(tag))).map_err(unread)?;
        let Some(manifest) = parts.pop() else {
            return Err(EngineError::new("an image has a manifest"));
        };
        let mut text = Vec::new();
        manifest.write(&mut text).map_err(unread)?;
        let image = self.registry.reference(tag_of(tag))?;
        self.serving.wait(async {
            let failed = |e| self.error("take an image", e);
            let operation = RegistryOperation::Push;
            let login = self.client.auth(&image, &self.auth, operation).await;
            login.map_err(failed)?;
            for part in parts {
                self.push_part(&image, part).await?;
            }
            let kind = HeaderValue::from_static(manifest.media_type);
            let pushed = self.client.push_manifest_raw(&image, text, kind).await;
            pushed.map_err(failed)?;
            Ok(Pushed {
                name: format!("{}@{}", self.registry.images(), manifest.digest),
                // It answers this before it looks whether there is such a manifest.
                stays: self.delete(NO_DIGEST).await?.err(),
            })
        })
    }

    async fn push_part(&self, image: &Reference, part: Blob) -> Result<(), EngineError> {
        let failed = |e| self.error("take a part of an image", e);
        let there = self.client.blob_exists(image, &part.digest).await;
        if there.map_err(failed)? {
            return Ok(());
        }
        let (digest, bytes) = (part.digest.clone(), Some(part.bytes));
        let (pieces, writer) = pieces(move |out| part.write(out));
        let pieces = pieces.map_err(OciDistributionError::from);
        let pushed = self.client.push_blob_stream(image, pieces, &digest, bytes);
        let pushed = pushed.await;
        writer.end()?;
        pushed.map(drop).map_err(failed)
    }

    /// The digest of the manifest of this tag; `None` where there is none, or not one that was made here.
    pub(crate) fn digest(&self, tag: &str) -> Result<Option<String>, EngineError> {
        let image = self.registry.reference(tag_of(tag))?;
        let client = &self.client;
        let found = client.pull_manifest_and_config(&image, &self.auth);
        match self.serving.wait(found) {
            Ok((_, digest, config)) => {
                let config: Value = serde_json::from_str(&config).unwrap_or_default();
                Ok(is_made_as(&config["config"]["Labels"], tag).then_some(digest))
            }
            Err(error) if is_absent(&error) => Ok(None),
            Err(error) => Err(self.error("tell of an image", error)),
        }
    }

    /// Has a manifest removed. What it names goes when the registry collects it. A registry need not allow it.
    pub(crate) fn remove(&self, digest: &str) -> Result<bool, EngineError> {
        let removed = self.serving.wait(self.delete(digest));
        removed.map(|allowed| allowed.unwrap_or(false))
    }

    /// Whether there was one; the inner error is why the registry does not do it.
    async fn delete(&self, digest: &str) -> Result<Result<bool, String>, EngineError> {
        let image = self.registry.reference(digest)?;
        let failed = |e| self.error("remove an image", e);
        let operation = RegistryOperation::Push;
        let token = self.client.auth(&image, &self.auth, operation).await;
        let request = self.http.delete(self.registry.manifest_url(digest));
        let request = match (token.map_err(failed)?, self.password()) {
            (Some(token), _) => request.bearer_auth(token),
            (None, Some((name, password))) => request.basic_auth(name, Some(password)),
            (None, None) => request,
        };
        let answer = request.send().await.map_err(|e| failed(e.into()))?;
        match answer.status() {
            StatusCode::NOT_FOUND => Ok(Ok(false)),
            status if status.is_success() => Ok(Ok(true)),
            status @ (StatusCode::METHOD_NOT_ALLOWED
            | StatusCode::UNAUTHORIZED
            | StatusCode::FORBIDDEN) => Ok(Err(format!("it answers '{status}'"))),
            status => Err(EngineError::new(format!(
                "the registry {} cannot remove an image: it answers '{status}'",
                self.registry.host
            ))),
        }
    }

    fn error(&self, what: &str, error: OciDistributionError) -> EngineError {
        let Registry {
            host, repository, ..
        } = &self.registry;
        match status(&error) {
            Some(StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN) => {
                EngineError::new(format!("the registry {host} refuses to {what}"))
                    .because(error)
                    .hint(format!(
                        "log in with 'docker login {host}' as somebody who may write to {repository}; Stowplan reads the file that this writes"
                    ))
            }
            Some(StatusCode::METHOD_NOT_ALLOWED) => EngineError::new(format!(
                "the registry {host} cannot be written, and does not {what}"
            ))
            .because(error)
            .hint(format!("set {VARIABLE} to one that is neither a mirror nor read-only")),
            Some(_) => EngineError::new(format!("the registry {host} cannot {what}")).because(error),
            None => EngineError::new(format!("the registry {host} does not {what}"))
                .because(error)
                .hint(format!(
                    "start it, or correct {VARIABLE}; one without TLS has 'http://' before its name"
                )),
        }
    }
}

/// What comes after the name of an image.
fn tag_of(tag: &str) -> &str {
    tag.rsplit_once(':').map_or(tag, |(_, tag)| tag)
}

/// What the registry has answered; `None` where it has not.
fn status(error: &OciDistributionError) -> Option<StatusCode> {
    match error {
        OciDistributionError::AuthenticationFailure(_)
        | OciDistributionError::UnauthorizedError { .. } => Some(StatusCode::UNAUTHORIZED),
        OciDistributionError::ServerError { code, .. } => StatusCode::from_u16(*code).ok(),
        OciDistributionError::RequestError(error) => error.status(),
        OciDistributionError::RegistryError { envelope, .. } => {
            let first = envelope.errors.first().map(|error| &error.code);
            Some(match first {
                Some(OciErrorCode::Unauthorized | OciErrorCode::Denied) => StatusCode::FORBIDDEN,
                Some(OciErrorCode::Unsupported) => StatusCode::METHOD_NOT_ALLOWED,
                Some(
                    OciErrorCode::ManifestUnknown
                    | OciErrorCode::NameUnknown
                    | OciErrorCode::NotFound,
                ) => StatusCode::NOT_FOUND,
                _ => StatusCode::BAD_REQUEST,
            })
        }
        _ => Some(StatusCode::BAD_GATEWAY),
    }
}

fn is_absent(error: &OciDistributionError) -> bool {
    matches!(error, OciDistributionError::ImageManifestNotFoundError(_))
        || status(error) == Some(StatusCode::NOT_FOUND)
}

/// Name and password for a registry, as `docker login` keeps them.
fn credentials(host: &str) -> Result<RegistryAuth, EngineError> {
    let (hub, kept_as) = DOCKER_HUB;
    let server = if host == hub { kept_as } else { host };
    let unusable = || {
        EngineError::new(format!(
            "the password for the registry {host} cannot be had"
        ))
        .hint(format!("log in again with 'docker login {host}'"))
    };
    match docker_credential::get_credential(server) {
        Ok(DockerCredential::UsernamePassword(name, password)) => {
            Ok(RegistryAuth::Basic(name, password))
        }
        Ok(DockerCredential::IdentityToken(_)) => Err(unusable().hint(format!(
            "its login is an identity token: log in with a name and a password ('docker login {host}')"
        ))),
        Err(
            CredentialRetrievalError::ConfigNotFound
            | CredentialRetrievalError::ConfigReadError
            | CredentialRetrievalError::NoCredentialConfigured,
        ) => Ok(RegistryAuth::Anonymous),
        Err(error) => Err(unusable().because(error)),
    }
}
