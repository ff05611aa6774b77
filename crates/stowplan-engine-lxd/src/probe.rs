//! Whether a server can start an instance here, and what it is.

use std::path::Path;
use std::time::{Duration, Instant};

use stowplan_engine::{CGROUPFS, EngineError, WITH_HOST_NETWORK, parts};
use stowplan_engine_daemon::{Images, container_entry, in_probe_run, of_ground};
use stowplan_host::cgroup::Tree;
use stowplan_host::network;
use stowplan_image::Contents;

use crate::client::Client;
use crate::config::{self, Ground};
use crate::pool::Pool;
use crate::{Server, fleet, images, names};

/// Longest wait until a started instance has a first process.
const PATIENCE: Duration = Duration::from_secs(20);

/// Starts an instance that does nothing in the network of the run and removes it. Gives the server with its parts:
/// version, API, storage driver, liblxc, cgroup version.
pub(crate) fn try_out(
    server: Server,
    images: &mut Images<Server>,
    pool: &mut Pool,
    agent: &Path,
    network_of: u32,
) -> Result<String, EngineError> {
    let client = Client::connect(server)?;
    let pool = pool.choose(&client)?;
    let contents = Contents::Program {
        from: agent.to_owned(),
        name: "stowplan-agent".to_owned(),
    };
    let tag = images.load(&client, &contents)?;
    let ground = Ground {
        budget_us: None,
        swap_accounting: false,
        agent,
        network_of: Some(network_of),
        pool: &pool.name,
    };
    in_probe_run(server.name(), |run, host| {
        let image = images::fingerprint(&client, &tag)?.unwrap_or_default();
        let request = config::nothing(&ground, run, &image)?;
        let name = of_ground(run);
        let instance = names::instance(&name);
        let entry = container_entry(server.name(), &name);
        host.enter(&entry)?;
        let serving = client.serving();
        let tried = serving.wait(async {
            fleet::make(&client, &instance, &request).await?;
            fleet::start(&client, &instance).await?;
            see(&client, &instance, network_of).await
        });
        let removed = serving.wait(fleet::remove_instance(&client, &instance));
        if removed.is_ok() {
            host.gone(&entry);
        }
        tried?;
        removed.map(drop)
    })?;
    version(&client, &pool.driver)
}

/// Sees that the instance is in the network of the run.
async fn see(client: &Client, instance: &str, network_of: u32) -> Result<(), EngineError> {
    let begin = Instant::now();
    loop {
        let pid = fleet::first_process(client, instance).await?;
        if pid > 0 && network::of_process(pid) == network::of_process(network_of) {
            return Ok(());
        }
        if pid > 0 || begin.elapsed() > PATIENCE {
            let server = client.server().name();
            return Err(EngineError::new(format!(
                "an instance of {server} does not get into the network of the run"
            ))
            .hint(WITH_HOST_NETWORK));
        }
        // What the server has said of a start may be ahead of liblxc's log.
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// The server with its parts, for instances in a pool with this driver. It leaves their control groups to liblxc, which makes them
/// in the file system.
pub(crate) fn version(client: &Client, storage: &str) -> Result<String, EngineError> {
    let info = client.info();
    let environment = &info.environment;
    Ok(format!(
        "{} (API {}, {})",
        environment.server_version,
        info.api_version,
        parts(
            storage,
            &format!("{} {}", environment.driver, environment.driver_version),
            CGROUPFS,
            Tree::detect()?.layout.version()
        ),
    ))
}
