//! Daemons of containers as their user sees and uses them: so that tests look at what an engine did with other eyes.

mod containerd;
mod docker;
mod kube;
mod lxd;
mod swarm;

pub use containerd::Containerd;
pub use docker::DockerApi;
pub use kube::Kubernetes;
pub use lxd::InstanceServer;
pub use swarm::Swarm;

pub(crate) use docker::ask;

/// Label of a run.
const RUN: &str = "stowplan.run";
/// Label of a service.
const SERVICE: &str = "stowplan.service";
/// Value of the label of a run on containers that a [`User`] makes.
const NOT_OURS: &str = "another";

/// A container with a label of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Labelled {
    /// Its name.
    pub name: String,
    /// The run.
    pub run: String,
    /// The service, where it says one.
    pub service: Option<String>,
}

/// Somebody with a daemon of containers. Every method panics when the daemon does not answer.
pub trait User {
    /// All containers with a label of a run, running or not.
    fn labelled(&self) -> Vec<Labelled>;

    /// Tags of all images.
    fn images(&self) -> Vec<String>;

    /// Names of all storage pools, where there are any.
    fn pools(&self) -> Vec<String> {
        Vec::new()
    }

    /// Removes an image, as one does who needs room.
    fn remove_image(&self, tag: &str);

    /// Makes a container of this name. It has a label that looks like one of Stowplan's, but not all of them.
    fn make(&self, name: &str);

    /// Whether there is a container of this name.
    fn has(&self, name: &str) -> bool;

    /// Removes the container that [`User::make`] made.
    fn remove(&self, name: &str);

    /// Whether a container of [`User::make`] keeps an engine from using its name.
    fn takes_names(&self) -> bool {
        true
    }

    /// Names of the containers of a run.
    fn of_run(&self, run: &str) -> Vec<String> {
        let all = self.labelled().into_iter();
        all.filter(|found| found.run == run)
            .map(|found| found.name)
            .collect()
    }

    /// Tags of the images that the process `pid` has made.
    fn images_of(&self, pid: u32) -> Vec<String> {
        let mut images = self.images();
        images.retain(|tag| tag.contains(&format!("stowplan:{pid}-")));
        images
    }

    /// Services of the process `pid` that have a container: its runs are called `PID-…`.
    fn services_of(&self, pid: u32) -> usize {
        let all = self.labelled().into_iter();
        all.filter(|found| is_of(found, pid) && found.service.is_some())
            .count()
    }

    /// Containers, images and storage pools that the process `pid` has made.
    fn left_by(&self, pid: u32) -> Vec<String> {
        let containers = self.labelled().into_iter();
        let containers = containers.filter(|found| is_of(found, pid));
        let pools = self.pools().into_iter();
        let pools = pools.filter(|name| name.starts_with(&format!("stowplan-{pid}-")));
        let images = self.images_of(pid).into_iter();
        images
            .chain(pools)
            .chain(containers.map(|found| found.name))
            .collect()
    }
}

fn is_of(found: &Labelled, pid: u32) -> bool {
    found.run.starts_with(&format!("{pid}-"))
}

/// The user of the daemon that the engine of this name finds on this machine.
///
/// # Panics
/// When no engine of this name has a daemon.
#[must_use]
pub fn user_of(engine: &str) -> Box<dyn User> {
    match engine {
        "docker" => Box::new(DockerApi::at("/var/run/docker.sock")),
        "swarm" => Box::new(Swarm::at("/var/run/docker.sock")),
        "podman" => Box::new(DockerApi::at("/run/podman/podman.sock")),
        "cri" => Box::new(Containerd::of_this_machine()),
        "kube" => Box::new(Kubernetes),
        other => Box::new(InstanceServer::of(other)),
    }
}
