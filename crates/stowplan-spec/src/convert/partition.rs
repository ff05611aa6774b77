//! Partition tables.

use stowplan_plan::{Table, TableService};

use crate::at::At;
use crate::context::Context;
use crate::elements::partition::PartitionSpec;

pub(crate) fn convert(context: &mut Context, spec: &PartitionSpec) -> Table {
    let mut services = Vec::new();
    for (key, assignment) in &spec.services.0 {
        let Some(service) = context.name(key) else {
            continue;
        };
        let texts =
            |items: &[At<String>]| items.iter().map(|i| i.value.clone()).collect::<Vec<_>>();
        for function in assignment
            .functions
            .iter()
            .filter(|f| f.value.split('/').count() != 2)
        {
            context.problem(
                function.mark,
                format!("'{}' is not a function", function.value),
                Some("write MODULE/FUNCTION, for example 'sensing/lidar'".into()),
            );
        }
        services.push(TableService {
            service,
            modules: texts(&assignment.modules),
            functions: texts(&assignment.functions),
            nodes: texts(&assignment.nodes),
            rest: assignment.rest,
            note: assignment.note.clone(),
        });
    }
    if services.is_empty() {
        context.problem(spec.name.mark, "the partition has no services", None);
    }
    Table {
        name: spec.name.value.clone(),
        description: spec.description.trim_end().to_owned(),
        notes: spec.notes.clone(),
        services,
    }
}
