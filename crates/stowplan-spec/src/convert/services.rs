//! Real programs.

use stowplan_model::{Ready, RealMount, RealService};
use stowplan_plan::Subject;

use crate::at::Entries;
use crate::context::Context;
use crate::elements::service::{ReadySpec, ServiceSpec};

const DEFAULT_READY_TIMEOUT_NS: u64 = 30_000_000_000;

pub(super) fn convert(context: &mut Context, services: &Entries<ServiceSpec>) -> Vec<RealService> {
    let mut converted = Vec::new();
    for (key, spec) in &services.0 {
        context.mark(Subject::Service(key.value.clone()), key.mark);
        context.mark(Subject::Ready(key.value.clone()), spec.ready.mark);
        let path = format!("services.{}.ready_timeout", key.value);
        let ready_timeout_ns =
            context.fixed(&path, spec.ready_timeout.as_ref(), DEFAULT_READY_TIMEOUT_NS);
        if spec.background.is_some() {
            continue;
        }
        let Some(name) = context.name(key) else {
            continue;
        };
        converted.push(RealService {
            name,
            rootfs: spec.rootfs.clone(),
            image: spec.image.clone(),
            mounts: spec
                .mounts
                .iter()
                .map(|mount| RealMount {
                    from: mount.from.clone(),
                    to: mount.to.clone(),
                    read_only: mount.read_only,
                })
                .collect(),
            devices: spec.devices.clone(),
            user: spec.user.clone(),
            working_dir: spec.working_dir.clone(),
            command: spec.command.clone(),
            env: spec
                .env
                .0
                .iter()
                .map(|(k, v)| (k.value.clone(), v.clone()))
                .collect(),
            publishes: spec.publishes.clone(),
            subscribes: spec.subscribes.clone(),
            participants: spec.participants,
            trace: spec.trace,
            ready: match &spec.ready.value {
                ReadySpec::Started => Ready::Started,
                ReadySpec::Exit => Ready::Exit,
                ReadySpec::LogLine(text) => Ready::LogLine(text.clone()),
                ReadySpec::File(path) => Ready::File(path.clone()),
                ReadySpec::Port(port) => Ready::Port(*port),
                ReadySpec::TopicMatched(topic) => Ready::TopicMatched(topic.clone()),
            },
            ready_timeout_ns,
        });
    }
    converted
}
