//! Applications of a life cycle: built with a compiler, changed, started and stopped, as processes and in containers.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use stowplan_results::{MeasurementRow, Results};

use crate::measured::only_result;
use crate::nothing_left::left_of;
use crate::one_at_a_time::shared_turn;
use crate::support::{Bench, Ended, engines_missing, to_its_end};
use crate::toolbox::{lay_toolbox, said, with_libraries};

const STEPS: [&str; 9] = [
    "build",
    "update_cached",
    "update",
    "create",
    "start_created",
    "start",
    "resume",
    "stop",
    "restart",
];

/// Files and folders of the machine's own compiler, with the libraries that its programs are linked with.
fn compiler() -> BTreeSet<PathBuf> {
    let found = |kind: &str, name: &str| {
        PathBuf::from(said("gcc", &[&format!("-print-{kind}-name={name}")]))
    };
    let own = found("prog", "cc1");
    let own = own.parent().unwrap();
    let mut programs: Vec<PathBuf> = ["cc1", "collect2", "lto-wrapper", "liblto_plugin.so"]
        .map(|name| own.join(name))
        .into();
    let commands = ["gcc", "cc", "as", "ld", "make", "sh", "rm"];
    programs.extend(commands.map(|name| Path::new("/usr/bin").join(name)));
    let mut files = with_libraries(programs);
    let objects = ["crt1.o", "crti.o", "crtn.o", "crtbeginT.o", "crtend.o"];
    let libraries = [
        "libc.a",
        "libgcc.a",
        "libgcc_eh.a",
        "libpthread.a",
        "include",
    ];
    let parts = objects.iter().chain(&libraries);
    files.extend(parts.map(|name| found("file", name)));
    let headers = std::fs::read_dir("/usr/include").unwrap();
    let headers = headers.map(|entry| entry.unwrap().path());
    files.extend(headers.filter(|path| path.extension().is_some_and(|of| of == "h")));
    let folders = [
        "arpa",
        "netinet",
        "linux",
        "asm-generic",
        "x86_64-linux-gnu",
    ];
    files.extend(folders.map(|name| Path::new("/usr/include").join(name)));
    files
        .into_iter()
        .filter(|file| file.is_absolute() && file.exists())
        .collect()
}

fn value(rows: &[MeasurementRow], deployment: &str, step: &str, application: &str) -> f64 {
    let metric = format!("application_{step}");
    let mut found = rows.iter().filter(|row| {
        (&*row.deployment, &*row.metric) == (deployment, &*metric)
            && row.subject.as_deref() == Some(application)
    });
    let row = found.next();
    let row = row.unwrap_or_else(|| panic!("no {metric} of {application}, {deployment}"));
    assert!(found.next().is_none(), "{metric} of {application} twice");
    row.value
        .unwrap_or_else(|| panic!("{metric} of {application}, {deployment}: {:?}", row.reason))
}

#[test]
fn applications_are_built_changed_and_started_everywhere() {
    if engines_missing(&["bare", "oci"]) {
        return;
    }
    let cache = tempfile::tempdir().unwrap();
    lay_toolbox(cache.path(), &compiler());
    let _turn = shared_turn();
    let bench = Bench::new();
    let options =
        "lifecycle --settle 0s --place bare:grouped,oci --faults none --blocks 1 --applications";
    let mut command = bench.command(options.split(' ').chain(["adas,control,server"]));
    command.env("XDG_CACHE_HOME", cache.path());
    let (pid, ended) = to_its_end(&mut command);
    let ended = ended.expect(0);
    assert_eq!(left_of(pid), Vec::<String>::new());
    assert!(ended.out.lines().count() <= 40, "{}", ended.out);
    assert!(ended.out.contains("adas: build"), "{}", ended.out);
    let dir = only_result(&bench);
    let results = Results::open(&dir).unwrap();
    let rows = results.measurements().unwrap();
    for deployment in ["bare-grouped.modules", "oci.modules"] {
        for application in ["adas", "control", "server"] {
            for step in STEPS {
                assert!(value(&rows, deployment, step, application) > 0.0);
            }
        }
    }
    let scratch = std::fs::read_dir(&dir).unwrap();
    let names = scratch.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let left: Vec<_> = names.filter(|name| name.starts_with("scratch")).collect();
    assert_eq!(left, Vec::<String>::new());
}

#[test]
fn without_a_toolbox_no_application_is_built() {
    let cache = tempfile::tempdir().unwrap();
    let bench = Bench::new();
    let mut command = bench.command(["lifecycle", "--faults", "none", "--applications", "all"]);
    command.env("XDG_CACHE_HOME", cache.path());
    let told = Ended::new(command.output().unwrap()).expect(4).err;
    assert!(told.contains("there is no toolbox"), "{told}");
    assert!(
        told.contains("hint: make one with 'stowplan bench toolbox build'"),
        "{told}"
    );
}
