//! Applications of a life cycle: built with a compiler, changed, started and stopped, as processes and in containers.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use stowplan_results::{MeasurementRow, Results};

use crate::measured::only_result;
use crate::nothing_left::left_of;
use crate::one_at_a_time::shared_turn;
use crate::support::{Bench, Ended, engines_missing};

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

/// What a program prints.
fn said(program: &str, arguments: &[&str]) -> String {
    let ended = Command::new(program).args(arguments).output().unwrap();
    String::from_utf8_lossy(&ended.stdout).trim().to_owned()
}

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
    let mut files = BTreeSet::new();
    for program in programs {
        let linked = said("ldd", &[&program.display().to_string()]);
        let words = linked.split_whitespace();
        files.extend(
            words
                .filter(|word| word.starts_with('/'))
                .map(PathBuf::from),
        );
        files.insert(program);
    }
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

/// A toolbox with that compiler alone: one of Debian's packages is a download of half a gigabyte.
fn lay_toolbox(store: &Path) {
    let dir = store.join("toolbox/current");
    let tree = dir.join("tree");
    for folder in [
        "proc",
        "dev",
        "sys",
        "srv",
        "tmp",
        "usr/bin",
        "usr/lib",
        "usr/lib64",
        "etc",
    ] {
        std::fs::create_dir_all(tree.join(folder)).unwrap();
    }
    for folder in ["bin", "lib", "lib64"] {
        std::os::unix::fs::symlink(format!("usr/{folder}"), tree.join(folder)).unwrap();
    }
    for file in compiler() {
        let folder = file.parent().unwrap().canonicalize().unwrap();
        let to = tree.join(folder.strip_prefix("/").unwrap());
        std::fs::create_dir_all(&to).unwrap();
        let copied = Command::new("cp").arg("-rL").arg(&file).arg(&to).status();
        assert!(copied.unwrap().success(), "{}", file.display());
    }
    let about =
        r#"{"digest": "test", "suite": "test", "asked": ["gcc"], "packages": ["gcc 1 amd64"]}"#;
    std::fs::write(dir.join("toolbox.json"), about).unwrap();
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
    lay_toolbox(&cache.path().join("stowplan/images"));
    let _turn = shared_turn();
    let bench = Bench::new();
    let options =
        "lifecycle --settle 0s --place bare:grouped,oci --faults none --blocks 1 --applications";
    let mut command = bench.command(options.split(' ').chain(["adas,control,server"]));
    command.env("XDG_CACHE_HOME", cache.path());
    let ended = Ended::new(command.output().unwrap()).expect(0);
    assert!(ended.out.lines().count() <= 40, "{}", ended.out);
    assert!(ended.out.contains("adas: build"), "{}", ended.out);
    let dir = only_result(&bench);
    let results = Results::open(&dir).unwrap();
    assert_eq!(left_of(std::process::id()), Vec::<String>::new());
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
