//! Edges as they were planned and as a trace has them.

use std::collections::{BTreeMap, BTreeSet};

use stowplan_model::Deployment;
use stowplan_plan::Plan;
use stowplan_results::LossRow;

/// Whether two nodes are in different network namespaces, by their names. The nodes of a real program are not among those of
/// the partition, and so in none of its services.
pub(crate) fn apart(deployment: &Deployment) -> impl Fn(&str, &str) -> bool {
    let services = deployment.partition.services.iter().flat_map(|s| {
        let nodes = s.nodes.iter();
        nodes.map(|node| (node.as_str(), s.service.as_str()))
    });
    let services: BTreeMap<&str, &str> = services.collect();
    let own_networks = own_networks(deployment);
    move |a, b| {
        let [a, b] = [a, b].map(|node| services.get(node));
        own_networks && (a != b || a.is_none())
    }
}

/// Whether each service of a deployment has a network namespace of its own.
pub(crate) fn own_networks(deployment: &Deployment) -> bool {
    deployment.isolation.net && !deployment.place.is_plain()
}

/// What to warn of where messages travelled in another way than planned.
pub(crate) fn unlike(plan: &Plan, rows: &[LossRow]) -> Option<String> {
    let planned: BTreeMap<(&str, &str, &str), &str> = plan
        .edges
        .iter()
        .map(|e| ((&*e.topic, &*e.from, &*e.to), e.class.name()))
        .collect();
    let mut traced = BTreeSet::new();
    for row in rows {
        if let (Some(from), Some(class)) = (&row.publisher, &row.edge_class) {
            traced.insert((&*row.topic, &**from, &*row.subscriber, &**class));
        }
    }
    let unlike = traced.iter().filter_map(|(topic, from, to, class)| {
        let planned = planned.get(&(*topic, *from, *to))?;
        (planned != class).then(|| {
            format!("{topic} from {from} to {to} is planned as {planned} and travelled as {class}")
        })
    });
    let unlike: Vec<String> = unlike.collect();
    let first = unlike.first()?;
    Some(format!(
        "messages of {} edges travelled in another way than planned: {first}",
        unlike.len()
    ))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use stowplan_model::Partition;
    use stowplan_plan::{MachineFacts, PlanOptions};
    use stowplan_results::{Label, LossCause};

    use super::*;
    use crate::prepare::tests::known;

    fn plan(partition: &str, own_network: bool) -> (Plan, Partition) {
        let text = stowplan_spec::shipped("hello").unwrap();
        let spec = stowplan_spec::parse_spec(text, "hello.yaml").unwrap();
        let choice = stowplan_spec::find_partition(partition, Path::new(".")).unwrap();
        let partition = stowplan_plan::partition(spec.stack(), &choice).unwrap();
        let options = PlanOptions {
            own_network,
            ..PlanOptions::default()
        };
        let machine = MachineFacts {
            cpus: 2,
            speed: None,
            memory_bytes: None,
            multicast: true,
        };
        let plan = stowplan_plan::plan(spec.stack(), &partition, &machine, &options).unwrap();
        (plan, partition)
    }

    fn as_planned(plan: &Plan) -> Vec<LossRow> {
        let rows = plan.edges.iter().map(|edge| LossRow {
            run: 1,
            block: 1,
            deployment: "d".into(),
            topic: edge.topic.as_str().into(),
            publisher: Some(edge.from.as_str().into()),
            subscriber: edge.to.as_str().into(),
            edge_class: Some(edge.class.name().into()),
            cause: LossCause::Overwritten,
            published: Some(1),
            lost: Some(0),
            reason: None,
        });
        rows.collect()
    }

    #[test]
    fn edges_that_travel_as_planned_are_not_told() {
        let (plan, _) = plan("modules", false);
        let mut rows = as_planned(&plan);
        assert!(!rows.is_empty());
        assert_eq!(unlike(&plan, &rows), None);
        // One that nothing tells of, and one that no plan has, as those of implicit endpoints.
        rows[0].edge_class = None;
        rows[1].topic = "/rosout".into();
        assert_eq!(unlike(&plan, &rows), None);
        rows.truncate(3);
        let (from, planned) = (rows[2].publisher.clone(), rows[2].edge_class.clone());
        rows[2].edge_class = Some("by_pigeon".into());
        let told = unlike(&plan, &rows).unwrap();
        assert!(told.starts_with("messages of 1 edges"), "{told}");
        let of_it = |label: &Option<Label>| told.contains(&**label.as_ref().unwrap());
        assert!(of_it(&from) && of_it(&planned), "{told}");
    }

    #[test]
    fn services_with_networks_of_their_own_are_apart() {
        let (plan, partition) = plan("modules", true);
        let at = |place: &str| Deployment {
            partition: partition.clone(),
            place: known().place(place).unwrap(),
            resources: stowplan_model::Resources::default(),
            isolation: stowplan_model::Isolation {
                net: true,
                ..stowplan_model::Isolation::default()
            },
            variant: None,
        };
        let (contained, bare) = (at("oci"), at("bare:flat"));
        for edge in &plan.edges {
            let other = edge.class.name() == "other_namespace";
            assert_eq!(apart(&contained)(&edge.from, &edge.to), other, "{edge:?}");
            assert!(!apart(&bare)(&edge.from, &edge.to));
        }
        assert!(apart(&contained)("a real one", "another"));
    }
}
