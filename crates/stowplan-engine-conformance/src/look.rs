//! Seeing through the host what a service did.

use std::path::PathBuf;
use std::time::Duration;

use stowplan_wire::deployment::Locator;
use stowplan_wire::host::{SampleSubject, UsageSample};

use crate::Setup;
use crate::trial::{Stop, Trial};

impl Trial<'_> {
    /// A file of the host as text; `None` when it does not exist.
    pub(crate) fn file(&self, path: &str) -> Option<String> {
        file_of(self.setup, path)
    }

    /// Whether the process of the locator still runs.
    pub(crate) fn is_alive(&self, locator: &Locator) -> bool {
        let Some(stat) = self.file(&format!("/proc/{}/stat", locator.pid)) else {
            return false;
        };
        let Some((_, rest)) = stat.rsplit_once(')') else {
            return false;
        };
        let fields: Vec<&str> = rest.split_whitespace().collect();
        fields.get(19).and_then(|ticks| ticks.parse().ok()) == Some(locator.start_ticks)
            && !matches!(fields.first(), Some(&("Z" | "X")))
    }

    /// Pids in a control group of the host; `None` when it does not exist.
    pub(crate) fn pids_of(&self, folder: &str) -> Option<Vec<u32>> {
        let text = self.file(&format!("{folder}/cgroup.procs"))?;
        Some(text.lines().filter_map(|line| line.parse().ok()).collect())
    }

    /// Samples these services over `time`; gives the last sample of each in order.
    pub(crate) fn usage_over(
        &mut self,
        services: &[&str],
        time: Duration,
    ) -> Result<Vec<UsageSample>, Stop> {
        let subjects = services
            .iter()
            .map(|service| {
                Ok(SampleSubject {
                    subject: (*service).to_owned(),
                    cgroups: self.locator(service)?.cgroups,
                    pids: Vec::new(),
                    names: Vec::new(),
                })
            })
            .collect::<Result<Vec<_>, Stop>>()?;
        let host = self.setup.stage.host();
        host.start_sampling(&subjects, &[], 50)?;
        self.pass(time)?;
        let samples = host.stop_sampling()?.usage;
        services
            .iter()
            .map(|service| {
                samples
                    .iter()
                    .rfind(|sample| sample.subject == *service)
                    .cloned()
                    .ok_or_else(|| Stop::Failed(format!("no sample of {service}")))
            })
            .collect()
    }
}

/// What a service used in several windows.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Used {
    pub(crate) cpu_ns: u64,
    /// Periods in which its quota held it back.
    pub(crate) throttled: u64,
}

/// One window of [`Trial::used_until`], and the longest that all of them are.
const WINDOW: Duration = Duration::from_millis(200);
const WINDOWS: u32 = 15;

impl Trial<'_> {
    /// Samples these services in short windows until `holds` of what each used in all of them and of their length in ns, but not
    /// for ever: gives what it was asked last.
    pub(crate) fn used_until(
        &mut self,
        services: &[&str],
        holds: impl Fn(&[Used], u64) -> bool,
    ) -> Result<(Vec<Used>, u64), Stop> {
        let mut used = vec![Used::default(); services.len()];
        let mut time = 0;
        for _ in 0..WINDOWS {
            let begin = self.now()?;
            for (used, sample) in used.iter_mut().zip(self.usage_over(services, WINDOW)?) {
                used.cpu_ns += cpu_of(&sample)?;
                used.throttled += sample.throttled.unwrap_or(0);
            }
            time += self.now()? - begin;
            if holds(&used, time) {
                break;
            }
        }
        Ok((used, time))
    }
}

/// A file of the host as text; `None` when it does not exist.
pub(crate) fn file_of(setup: &Setup<'_>, path: &str) -> Option<String> {
    let copy: PathBuf = std::env::temp_dir().join(format!(
        "{}-look-{:?}",
        Setup::next_run(),
        std::thread::current().id()
    ));
    let fetched = setup.stage.host().fetch(path, &copy);
    let text = fetched
        .ok()
        .and_then(|()| std::fs::read_to_string(&copy).ok());
    // It may not have been made.
    let _ = std::fs::remove_file(&copy);
    text
}

/// CPU time of a sample in ns.
pub(crate) fn cpu_of(sample: &UsageSample) -> Result<u64, Stop> {
    sample
        .cpu_ns
        .ok_or_else(|| Stop::Failed(format!("no CPU time of {}", sample.subject)))
}
