//! For tests: the built programs, folders of their own, a fake engine on a fake host, redaction, and a word for what was not
//! looked at.

mod available;
mod bag;
mod chroot;
mod data;
mod events;
pub mod fake;
mod initramfs;
mod known;
mod kube_lab;
mod lab_files;
mod left;
mod mortal;
mod own_daemon;
mod own_registry;
mod plans;
mod programs;
mod redact;
mod shell;
mod state;
mod unchecked;
mod user;

pub use available::{absent, available, is_root};
pub use bag::{McapMessages, mcap_file};
pub use chroot::in_chroot;
pub use data::{case, data, fixture, kept_trace, said_by, unpacked};
pub use events::{
    emitted, events_in_container, events_program, events_root, only_child, wait_until_events,
};
pub use initramfs::Initramfs;
pub use known::known_engines;
pub use kube_lab::KubeLab;
pub use left::{left_of, links};
pub use mortal::Mortal;
pub use own_daemon::OwnDaemon;
pub use own_registry::{OwnRegistry, RegistrySettings};
pub use plans::{callback_plan, command_plan, node_plan, process_plan, service_plan, timer_plan};
pub use programs::{agent_program, example, node_program, static_example};
pub use redact::redact;
pub use shell::{ShellRoot, shell_root};
pub use state::private_state;
pub use unchecked::{VARIABLE, unchecked, waited};
pub use user::{DockerApi, InstanceServer, Kubernetes, Labelled, Swarm, User, user_of};
