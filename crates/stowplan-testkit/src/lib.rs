//! For tests: the built programs, folders of their own, a fake engine on a fake host, redaction.

mod available;
mod chroot;
mod events;
pub mod fake;
mod initramfs;
mod left;
mod own_daemon;
mod plans;
mod programs;
mod redact;
mod shell;
mod state;
mod user;

pub use available::{available, skip};
pub use chroot::in_chroot;
pub use events::{
    emitted, events_in_container, events_program, events_root, only_child, wait_until_events,
};
pub use initramfs::Initramfs;
pub use left::{left_of, links};
pub use own_daemon::OwnDaemon;
pub use plans::{callback_plan, command_plan, node_plan, process_plan, service_plan, timer_plan};
pub use programs::{agent_program, node_program, static_example};
pub use redact::redact;
pub use shell::{ShellRoot, shell_root};
pub use state::private_state;
pub use user::{DockerApi, InstanceServer, Labelled, User, user_of};
