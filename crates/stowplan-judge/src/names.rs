//! What a deployment is called where it stands beside its earlier self.

/// What stands for a deployment in comparisons across results.
pub(crate) fn before(id: &str) -> String {
    format!("{id}{BEFORE}")
}

pub(crate) fn after(id: &str) -> String {
    format!("{id}{AFTER}")
}

/// Id of a deployment, also where it stands beside its earlier self.
#[must_use]
pub fn deployment_of(named: &str) -> &str {
    let id = named.strip_suffix(AFTER);
    id.or_else(|| named.strip_suffix(BEFORE)).unwrap_or(named)
}

const BEFORE: &str = " (before)";
const AFTER: &str = " (after)";
