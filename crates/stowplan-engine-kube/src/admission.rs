//! What became of something on its way through admission: the API server and its webhooks may fill in, change and add.

use serde_json::Value;

/// Fields that the API server fills in by itself where they were not asked for, with what it may have filled in: `None` is
/// anything. They are names below `spec`, without the numbers of lists.
const FILLED_IN: [(&str, Option<&[&str]>); 21] = [
    ("spec.dnsPolicy", None),
    ("spec.schedulerName", Some(&["default-scheduler"])),
    ("spec.securityContext", Some(&["{}"])),
    ("spec.serviceAccount", Some(&["default"])),
    ("spec.serviceAccountName", Some(&["default"])),
    ("spec.terminationGracePeriodSeconds", Some(&["30"])),
    ("spec.tolerations", None),
    ("spec.priority", Some(&["0"])),
    ("spec.preemptionPolicy", Some(&["PreemptLowerPriority"])),
    ("spec.enableServiceLinks", None),
    ("spec.containers.terminationMessagePath", None),
    ("spec.containers.terminationMessagePolicy", None),
    ("spec.containers.resources", Some(&["{}"])),
    ("spec.containers.securityContext", Some(&["{}"])),
    ("spec.containers.volumeMounts.recursiveReadOnly", None),
    ("spec.volumes.hostPath.type", Some(&[""])),
    ("spec.nodeName", None),
    ("spec.hostUsers", None),
    ("spec.os", None),
    ("spec.hostNetwork", None),
    ("spec.restartPolicy", None),
];

/// What differs between what was asked for and what was made of it, a line each.
pub(crate) fn changes(asked: &Value, made: &Value) -> Vec<String> {
    let mut found = Vec::new();
    let none = Value::Null;
    let spec = |of: &Value| of.get("spec").unwrap_or(&none).clone();
    compare(&spec(asked), &spec(made), "spec", &mut found);
    for words in ["labels", "annotations"] {
        let of = |all: &Value| all["metadata"][words].clone();
        let (asked, made) = (of(asked), of(made));
        for (name, value) in asked.as_object().into_iter().flatten() {
            if made.get(name) != Some(value) {
                found.push(format!("metadata.{words} '{name}' was changed"));
            }
        }
    }
    found
}

fn compare(asked: &Value, made: &Value, path: &str, found: &mut Vec<String>) {
    match (asked, made) {
        (Value::Object(asked), Value::Object(made)) => {
            for (name, value) in asked {
                let path = format!("{path}.{name}");
                match made.get(name) {
                    Some(has) => compare(value, has, &path, found),
                    None => found.push(format!("{path} was taken away")),
                }
            }
            let added = made.iter().filter(|(name, _)| !asked.contains_key(*name));
            for (name, value) in added {
                let path = format!("{path}.{name}");
                if !is_filled_in(&path, value) {
                    found.push(format!("{path} was added: {}", short(value)));
                }
            }
        }
        (Value::Array(asked), Value::Array(made)) => {
            if asked.len() != made.len() {
                let (had, has) = (asked.len(), made.len());
                found.push(format!("{path} has {has} entries, not {had}"));
            }
            for (asked, made) in asked.iter().zip(made) {
                compare(asked, made, path, found);
            }
        }
        _ if asked == made => {}
        _ => found.push(format!(
            "{path} was changed from {} to {}",
            short(asked),
            short(made)
        )),
    }
}

fn is_filled_in(path: &str, value: &Value) -> bool {
    let mut known = FILLED_IN.iter().filter(|(name, _)| *name == path);
    known.any(|(_, values)| {
        let text = value
            .as_str()
            .map_or_else(|| value.to_string(), str::to_owned);
        values.is_none_or(|values| values.contains(&text.as_str()))
    })
}

fn short(value: &Value) -> String {
    let text = value.to_string();
    let mut kept: String = text.chars().take(80).collect();
    if kept.len() < text.len() {
        kept.push('…');
    }
    kept
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn asked() -> Value {
        json!({"metadata": {"labels": {"stowplan.run": "7"}},
               "spec": {"restartPolicy": "Never",
                        "containers": [{"name": "service", "env": [{"name": "A", "value": "b"}]}]}})
    }

    #[test]
    fn what_every_server_fills_in_is_no_change() {
        let mut made = asked();
        made["metadata"]["uid"] = json!("u");
        made["spec"]["schedulerName"] = json!("default-scheduler");
        made["spec"]["priority"] = json!(0);
        made["spec"]["tolerations"] = json!([{"key": "node.kubernetes.io/not-ready"}]);
        made["spec"]["containers"][0]["resources"] = json!({});
        assert_eq!(changes(&asked(), &made), [""; 0]);
    }

    #[test]
    fn what_a_webhook_did_is_told() {
        let mut made = asked();
        made["metadata"]["labels"]["stowplan.run"] = json!("8");
        made["spec"]["restartPolicy"] = json!("Always");
        made["spec"]["priority"] = json!(1000);
        made["spec"]["containers"] = json!([
            {"name": "service", "resources": {"limits": {"cpu": "1"}}},
            {"name": "sidecar"},
        ]);
        let mut told = changes(&asked(), &made);
        told.sort();
        assert_eq!(
            told,
            [
                "metadata.labels 'stowplan.run' was changed",
                "spec.containers has 2 entries, not 1",
                "spec.containers.env was taken away",
                "spec.containers.resources was added: {\"limits\":{\"cpu\":\"1\"}}",
                "spec.priority was added: 1000",
                "spec.restartPolicy was changed from \"Never\" to \"Always\"",
            ]
        );
    }
}
