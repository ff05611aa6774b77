//! What cannot be run, and what makes results doubtful.

use stowplan_model::{DdsProfile, Profile, Stack, units};

use crate::planned::{MachineFacts, Plan, PlanOptions};

/// Participants that one domain can have when DDS cannot use multicast and so addresses each by
/// its participant index: CycloneDDS's default `MaxAutoParticipantIndex` is 99.
const MOST_WITHOUT_MULTICAST: usize = 100;

pub(crate) fn refusals(
    stack: &Stack,
    plan: &Plan,
    machine: &MachineFacts,
    options: &PlanOptions,
) -> Vec<String> {
    let mut refusals = Vec::new();
    let dds = options.dds;
    if !machine.multicast && dds != DdsProfile::Stowplan {
        refusals.push(format!(
            "DDS profile '{dds}' finds participants by multicast, which the loopback of this network does not have: measure in a network namespace of the experiment's own, or leave the profile out"
        ));
    }
    if let Some(most) = dds
        .most_participants()
        .filter(|most| plan.participants > *most)
    {
        refusals.push(format!(
            "{} DDS participants, and with DDS profile '{dds}' at most {most} find each other on one machine",
            plan.participants
        ));
    }
    if !machine.multicast && plan.participants > MOST_WITHOUT_MULTICAST {
        refusals.push(format!(
            "{} DDS participants, and without multicast at most {MOST_WITHOUT_MULTICAST} find each other: use a partition with fewer services and processes, or a network namespace with multicast",
            plan.participants
        ));
    }
    if let Some(have) = machine.memory_bytes {
        let need: u64 = plan.services.iter().map(|s| s.memory_bytes).sum();
        if need > have {
            refusals.push(format!(
                "the nodes and launchers keep {}, and the machine has {}",
                units::show_bytes(to_f64(need)),
                units::show_bytes(to_f64(have))
            ));
        }
    }
    if let Some(asked) = options.utilisation
        && !(asked > 0.0 && asked <= 1.0)
    {
        refusals.push(format!(
            "a utilisation of {asked}: it must be above 0 and at most 1"
        ));
    }
    if let Some((asked, sending)) = options.utilisation.zip(plan.serialisation_utilisation)
        && sending > 0.0
        && sending >= asked
    {
        refusals.push(format!(
            "serialising messages alone needs a utilisation of {sending:.2}, and only callback work is scaled: ask for more than that, or for a partition with fewer messages over DDS"
        ));
    }
    for real in &stack.services {
        if plan.services.iter().any(|s| s.name == real.name.as_str()) {
            refusals.push(format!(
                "service '{}' is a real program of the stack and a service of partition '{}': rename one",
                real.name, plan.partition
            ));
        }
    }
    if stack.nodes.is_empty() {
        refusals.push("the stack has no nodes".to_owned());
    }
    refusals
}

pub(crate) fn warnings(
    stack: &Stack,
    plan: &Plan,
    machine: &MachineFacts,
    options: &PlanOptions,
) -> Vec<String> {
    let mut warnings = Vec::new();
    if let Some(utilisation) = plan.utilisation.filter(|u| *u > 1.0) {
        warnings.push(format!(
            "callback work and serialising need {utilisation:.2} times what {} CPUs can do: messages will be lost; scale it with a utilisation below 1",
            machine.cpus
        ));
    }
    if plan.utilisation.is_none() {
        warnings.push("the work kernel is not calibrated on this machine: utilisation and duration are not known".to_owned());
    }
    if options.utilisation.is_some() && plan.scaling.is_none() && plan.utilisation.is_some() {
        warnings.push("no callback has work, so there is nothing to scale".to_owned());
    }
    let circular = plan.topics.iter().filter(|t| t.circular).count();
    if circular > 0 {
        warnings.push(format!(
            "on {circular} topics messages trigger each other in a circle: rates and utilisation count each message once"
        ));
    }
    let unknown = plan
        .topics
        .iter()
        .filter(|t| t.messages_per_s.is_none())
        .count();
    if unknown > 0 {
        warnings.push(format!(
            "real programs feed {unknown} topics at rates that the stack does not say: utilisation leaves them out"
        ));
    }
    if stack
        .processes
        .iter()
        .any(|p| p.profile == Profile::Minimal)
    {
        warnings.push("processes of profile 'minimal' lack the endpoints that ROS 2 nodes have: discovery is cheaper than on a vehicle".to_owned());
    }
    warnings
}

#[expect(clippy::cast_precision_loss, reason = "for people, in three digits")]
fn to_f64(bytes: u64) -> f64 {
    bytes as f64
}
