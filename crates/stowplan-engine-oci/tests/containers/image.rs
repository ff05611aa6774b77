//! The node program in an image.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use stowplan_image::{Image, ImageSpec, LibFile, build};
use stowplan_wire::deployment::{IsolationPlan, Program, Select};

use crate::common::{Run, docker, is_root, wait_for_exit};

/// Stands for the node program: says its arguments, whether its plan is there, and the size of a start-up file.
const SOURCE: &str = r#"
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>
int main(int argc, char **argv) {
    struct stat file;
    char path[4096];
    for (int i = 1; i < argc; i++) printf("%s\n", argv[i]);
    printf("plan %d\n", access(argv[2], R_OK));
    snprintf(path, sizeof path, "%s/perception/a.so", argv[4]);
    printf("size %ld\n", stat(path, &file) ? -1L : (long)file.st_size);
    return 0;
}
"#;

fn image(folder: &Path) -> Image {
    let source = folder.join("node.c");
    let node_program: PathBuf = folder.join("node");
    fs::write(&source, SOURCE).unwrap();
    let status = Command::new("cc")
        .args(["-static", "-o"])
        .args([&node_program, &source])
        .status()
        .unwrap();
    assert!(status.success());
    let libs = vec![LibFile {
        path: "perception/a.so".into(),
        bytes: 12_345,
    }];
    build(&ImageSpec { node_program, libs }, &folder.join("store")).unwrap()
}

fn says(run: &Run, image: &Image, isolation: IsolationPlan) -> String {
    let services = ["a", "b"].map(|name| {
        let mut service = run.service(name, &[]);
        service.program = Program::Node;
        fs::create_dir_all(run.dir.join(name)).unwrap();
        fs::write(run.dir.join(name).join("plan.json"), "{}").unwrap();
        service
    });
    let mut plan = run.plan(isolation, services.to_vec());
    plan.image_dir = image.dir.display().to_string();
    let mut deployment = run.prepare(&plan).unwrap();
    deployment.create(&Select::All).unwrap();
    deployment.start(&Select::All).unwrap();
    assert_eq!(wait_for_exit(&mut *deployment, "a"), 0);
    let log = deployment.log("a", 10_000).unwrap();
    fs::remove_file(run.dir.join("a.log")).unwrap();
    log
}

#[test]
fn the_node_program_finds_its_plan_and_files_in_every_kind_of_root() {
    if !is_root() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let image = image(folder.path());
    let run = Run::new();
    let plan = run.dir.join("a/plan.json").display().to_string();
    let expected = |files: &str| format!("launch\n{plan}\n--files\n{files}\nplan 0\nsize 12345\n");
    assert_eq!(says(&run, &image, docker()), expected("/files"));
    let mut bound = docker();
    (bound.overlay, bound.read_only_root) = (false, true);
    assert_eq!(says(&run, &image, bound), expected("/files"));
    let mut own_ids = docker();
    own_ids.user = true;
    assert_eq!(says(&run, &image, own_ids), expected("/files"));
    let mut none = docker();
    (none.mount, none.overlay) = (false, false);
    let outside = image.files().display().to_string();
    assert_eq!(says(&run, &image, none), expected(&outside));
}

#[test]
fn a_plan_without_an_image_is_refused_with_a_hint() {
    let run = Run::new();
    let mut service = run.service("a", &[]);
    service.program = Program::Node;
    let error = run
        .prepare(&run.plan(docker(), vec![service]))
        .err()
        .unwrap();
    assert!(
        error.to_string().contains("/nonexistent/stowplan-node"),
        "{error}"
    );
    assert!(error.hint.is_some());
}
