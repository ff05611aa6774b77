//! Limits and requests of a service, as the API has words for them.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::ResourceRequirements;
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use stowplan_engine::EngineError;
use stowplan_engine_daemon::{CpuTime, memory_bytes};
use stowplan_wire::deployment::{DeploymentPlan, LimitsPlan};

use crate::node::{GPU, Node};

/// Limits and requests, with so many GPUs. Where there is a limit and no request, the API server would make a request of it: what it would
/// do is said here, so that what it changes is a change.
pub(crate) fn of(
    limits: &LimitsPlan,
    gpus: u64,
) -> Result<Option<ResourceRequirements>, EngineError> {
    let quota = CpuTime::of(limits).map(milli).transpose()?;
    // A request of 1000m is 1024 shares, which is the default weight of 100.
    let weight = limits.cpu_weight.map(|weight| u64::from(weight) * 10);
    let memory = memory_bytes(limits).map(|bytes| Quantity(bytes.to_string()));
    let of = |cpu: Option<u64>| {
        let cpu = cpu.map(|milli| ("cpu".to_owned(), cpu_quantity(milli)));
        let memory = memory.clone().map(|bytes| ("memory".to_owned(), bytes));
        // Of these the API takes no request that is not the limit.
        let gpus = (gpus > 0).then(|| (GPU.to_owned(), Quantity(gpus.to_string())));
        let all: BTreeMap<String, Quantity> = cpu.into_iter().chain(memory).chain(gpus).collect();
        Some(all).filter(|all| !all.is_empty())
    };
    let (quota, weight) = match &limits.cpuset {
        None => (quota, weight),
        Some(cpus) => {
            let whole = cpus.len() as u64 * 1000;
            guaranteed(whole, [quota, weight], memory.is_some())?;
            (Some(whole), Some(whole))
        }
    };
    let resources = ResourceRequirements {
        limits: of(quota),
        requests: of(weight.or(quota)),
        ..ResourceRequirements::default()
    };
    Ok((resources != ResourceRequirements::default()).then_some(resources))
}

/// The static CPU manager gives CPUs to pods of the class `Guaranteed` alone: with requests that are their limits, of
/// CPUs and of memory.
fn guaranteed(whole: u64, others: [Option<u64>; 2], has_memory: bool) -> Result<(), EngineError> {
    if others.iter().flatten().any(|milli| *milli != whole) {
        return Err(EngineError::new(format!(
            "a pod has CPUs of its own only where its quota and its weight are those of so many CPUs, here {}",
            whole / 1000
        ))
        .hint("leave cpu_quota and cpu_weight out beside cpuset"));
    }
    if !has_memory {
        return Err(EngineError::new(
            "a pod has CPUs of its own only where it has a limit of memory, too (class 'Guaranteed')",
        )
        .hint("give the service a limit of memory beside cpuset"));
    }
    Ok(())
}

/// Refuses CPUs where the node gives none to single pods.
pub(crate) fn require_cpus(plan: &DeploymentPlan, node: &Node) -> Result<(), EngineError> {
    let mut services = plan.services.iter();
    let Some(service) = services.find(|service| service.limits.cpuset.is_some()) else {
        return Ok(());
    };
    if node.gives_cpus() {
        return Ok(());
    }
    let policy = node
        .cpu_manager
        .as_deref()
        .unwrap_or("not told by the kubelet");
    Err(EngineError::new(format!(
        "node {} gives no CPUs to single pods, so that limits.cpuset cannot be had: the policy of its CPU manager is '{policy}'",
        node.name
    ))
    .hint(
        "leave cpuset out, or set 'cpuManagerPolicy: static' and 'kubeReserved: {cpu: 100m}' in the kubelet's configuration; \
         docs/how-to/engines/kube.md has the steps",
    )
    .of_service(&service.name, Some(service.log.clone())))
}

/// A quota in thousandths of a CPU.
fn milli(time: CpuTime) -> Result<u64, EngineError> {
    let of_period = time.quota_us * 1000;
    let milli = u64::try_from(of_period / time.period_us).unwrap_or_default();
    if of_period % time.period_us != 0 {
        return Err(EngineError::new(format!(
            "Kubernetes has limits of whole thousandths of a CPU, and {} µs of {} µs are none",
            time.quota_us, time.period_us
        ))
        .hint("round the cpu-quota"));
    }
    Ok(milli)
}

/// As the API server writes it.
fn cpu_quantity(milli: u64) -> Quantity {
    Quantity(if milli.is_multiple_of(1000) {
        (milli / 1000).to_string()
    } else {
        format!("{milli}m")
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::node::STATIC;

    fn of_both(limits: LimitsPlan) -> Result<(Vec<String>, Vec<String>), String> {
        let resources = of(&limits, 0).map_err(|e| e.to_string())?.unwrap();
        let plain = |all: Option<BTreeMap<String, Quantity>>| {
            let all = all.unwrap_or_default().into_iter();
            all.map(|(name, Quantity(text))| format!("{name}={text}"))
                .collect::<Vec<_>>()
        };
        Ok((plain(resources.limits), plain(resources.requests)))
    }

    fn words(all: &[&str]) -> Vec<String> {
        all.iter().map(|&word| word.to_owned()).collect()
    }

    #[test]
    fn limits_are_limits_and_a_weight_is_a_request() {
        assert_eq!(of(&LimitsPlan::default(), 0).unwrap(), None);
        let quota = LimitsPlan {
            cpu_quota: Some(0.2),
            memory_bytes: Some(1 << 26),
            ..LimitsPlan::default()
        };
        let both = words(&["cpu=200m", "memory=67108864"]);
        assert_eq!(of_both(quota), Ok((both.clone(), both)));
        let weight = LimitsPlan {
            cpu_weight: Some(300),
            ..LimitsPlan::default()
        };
        assert_eq!(of_both(weight), Ok((vec![], words(&["cpu=3"]))));
    }

    #[test]
    fn gpus_are_requested_as_they_are_limited() {
        let resources = of(&LimitsPlan::default(), 2).unwrap().unwrap();
        let two = BTreeMap::from([(GPU.to_owned(), Quantity("2".to_owned()))]);
        assert_eq!(resources.limits, Some(two));
        assert_eq!(resources.requests, resources.limits);
    }

    #[test]
    fn a_quota_that_the_api_has_no_word_for_is_refused() {
        let limits = LimitsPlan {
            cpu_quota: Some(0.0125),
            ..LimitsPlan::default()
        };
        let error = of(&limits, 0).unwrap_err();
        assert!(
            error.to_string().contains("1250 µs of 100000 µs"),
            "{error}"
        );
    }

    #[test]
    fn cpus_are_whole_ones_of_a_guaranteed_pod() {
        let cpus = LimitsPlan {
            cpuset: Some(vec![2, 5]),
            memory_bytes: Some(1 << 26),
            ..LimitsPlan::default()
        };
        let both = words(&["cpu=2", "memory=67108864"]);
        assert_eq!(of_both(cpus.clone()), Ok((both.clone(), both.clone())));
        let same = LimitsPlan {
            cpu_quota: Some(2.0),
            ..cpus.clone()
        };
        assert_eq!(of_both(same), Ok((both.clone(), both)));
        let other = LimitsPlan {
            cpu_weight: Some(100),
            ..cpus.clone()
        };
        assert!(of_both(other).unwrap_err().contains("here 2"));
        let without = LimitsPlan {
            memory_bytes: None,
            ..cpus
        };
        assert!(of_both(without).unwrap_err().contains("limit of memory"));
    }

    #[test]
    fn a_node_that_gives_no_cpus_is_told_with_its_policy() {
        let mut plan = stowplan_testkit::command_plan("7-1", "/nowhere", None, &[("a", &["/x"])]);
        let node = |policy: Option<&str>| {
            let mut node = Node::default();
            node.cpu_manager = policy.map(str::to_owned);
            node
        };
        assert!(require_cpus(&plan, &node(Some("none"))).is_ok());
        plan.services[0].limits.cpuset = Some(vec![1]);
        assert!(require_cpus(&plan, &node(Some(STATIC))).is_ok());
        let error = require_cpus(&plan, &node(Some("none"))).unwrap_err();
        assert!(
            error.to_string().ends_with("CPU manager is 'none'"),
            "{error}"
        );
        assert_eq!(error.service.as_deref(), Some("a"));
        assert!(require_cpus(&plan, &node(None)).is_err());
    }
}
