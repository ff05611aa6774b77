//! How long each call may take before the agent is given up.

use std::time::Duration;

use stowplan_wire::agent::Call;
use stowplan_wire::deployment::StopMode;

/// What a call may take: the time that it asks for itself, and generous room for a machine under load.
pub(crate) fn timeout_of(call: &Call) -> Duration {
    let room = Duration::from_secs(60);
    match call {
        Call::Quiet { timeout_ms } | Call::Watch { timeout_ms } => {
            room + Duration::from_millis(*timeout_ms)
        }
        Call::WaitWindow { longest_ns } => room + Duration::from_nanos(*longest_ns),
        Call::Stop(_, StopMode::Terminate { grace_ms }) => {
            room * 2 + Duration::from_millis(*grace_ms)
        }
        Call::Cold { .. }
        | Call::OpenRun { .. }
        | Call::CloseRun
        | Call::Probe { .. }
        | Call::Prepare { .. }
        | Call::Create(_)
        | Call::Start(_)
        | Call::Destroy
        | Call::Calibrate { .. } => room * 5,
        _ => room,
    }
}

/// The verb of a call, for messages.
pub(crate) fn verb_of(call: &Call) -> String {
    let text = format!("{call:?}");
    let end = text
        .find(|c: char| !c.is_ascii_alphanumeric())
        .unwrap_or(text.len());
    text[..end].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_is_named_by_its_verb() {
        assert_eq!(verb_of(&Call::Clock), "Clock");
        assert_eq!(verb_of(&Call::Watch { timeout_ms: 3 }), "Watch");
        assert_eq!(verb_of(&Call::Pause("a".to_owned())), "Pause");
    }

    #[test]
    fn a_window_is_waited_for() {
        let call = Call::WaitWindow {
            longest_ns: 3_600_000_000_000,
        };
        assert!(timeout_of(&call) > Duration::from_secs(3600));
    }
}
