//! Whether figures come from an instrument that was calibrated on their machine.

use stowplan_results::{Machine, Selftest, SelftestKind, date};

/// One line about the calibration for results of `machine`. That of another machine says nothing about this one.
pub(crate) fn line(selftest: Option<&Selftest>, machine: &Machine) -> String {
    let Some(selftest) = selftest.filter(|s| s.machine.is_same_as(machine)) else {
        return "Instrument not calibrated on this machine: `stowplan selftest`".to_owned();
    };
    let equal = selftest.of_kind(SelftestKind::Equal);
    let (flagged, compared) = equal.map_or((0, 0), |c| (c.flagged, c.compared));
    let figures = format!(
        "A/A half-width {:.1} %, {flagged} of {compared} flagged",
        selftest.median_half_width * 100.0
    );
    let date = date(selftest.measured_unix_s);
    let kernel = if selftest.machine.kernel == machine.kernel {
        ""
    } else {
        ", under another kernel"
    };
    if selftest.passed {
        format!("Instrument calibrated on {date}: {figures}{kernel}")
    } else {
        let missed = selftest.criteria.iter().filter(|c| !c.passed);
        let missed: Vec<&str> = missed.map(|c| &*c.asks).collect();
        format!(
            "Instrument did not pass its calibration on {date}: {figures}{kernel}; missed: {}",
            missed.join("; ")
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn selftest(passed: bool) -> Selftest {
        serde_json::from_value(json!({
            "schema": "stowplan.selftest/1", "stowplan_version": "0.1.0", "build_id": "b",
            "measured_unix_s": 1_795_169_700_u64, "machine": machine("bench", "6.18"), "passed": passed,
            "criteria": [
                {"name": "equal-flagged", "asks": "at most 6 of 40 equal pairs flagged", "found": 9.0, "of": 40,
                 "bound": "at-most", "limit": 6.0, "passed": passed},
                {"name": "equal-half-width", "asks": "half-width", "found": 0.01, "of": null,
                 "bound": "at-most", "limit": 0.05, "passed": true},
            ],
            "median_half_width": 0.0123,
            "counts": [{"kind": "equal", "compared": 40, "flagged": 2, "flagged_longer": 1, "covered": 38}],
            "injected": {
                "share": 0.1, "ns": 4_000_000, "work_callback": "planner/timer", "work_factor": 2.0,
                "work_iterations": 3e6, "ns_per_iteration": 1.3, "timer": "planner/timer", "arrival_ns": 9_000_000,
            },
            "subject": {
                "stack": "hello", "stack_sha256": "00", "place": "bare:flat", "partition": "single",
                "chain": "c", "metric": "e2e_paper_mean", "blocks": 10, "window_s": 2.0, "seed": 1,
            },
            "dependence": "", "comparisons": [],
        }))
        .unwrap()
    }

    fn machine(host: &str, kernel: &str) -> Machine {
        Machine {
            host: host.to_owned(),
            kernel: kernel.to_owned(),
            ..Machine::default()
        }
    }

    #[test]
    fn the_line_says_when_and_how_well() {
        let here = machine("bench", "6.18");
        let told = |passed, machine: &Machine| line(Some(&selftest(passed)), machine);
        let calibrated =
            "Instrument calibrated on 2026-11-20: A/A half-width 1.2 %, 2 of 40 flagged";
        assert_eq!(told(true, &here), calibrated);
        assert_eq!(
            told(true, &machine("bench", "6.19")),
            format!("{calibrated}, under another kernel")
        );
        assert_eq!(
            told(false, &here),
            "Instrument did not pass its calibration on 2026-11-20: A/A half-width 1.2 %, 2 of 40 flagged; \
             missed: at most 6 of 40 equal pairs flagged"
        );
        let none = "Instrument not calibrated on this machine: `stowplan selftest`";
        assert_eq!(told(true, &machine("other", "6.18")), none);
        assert_eq!(line(None, &here), none);
    }
}
