//! What a real program has of its host and as whom it runs: in a root unpacked from an image, and as a plain process.

use std::fs;
use std::path::Path;
use std::process::Command;

use stowplan_engine::{Engine, EngineError};
use stowplan_engine_bare::Bare;
use stowplan_wire::deployment::{
    Access, BindMount, DeploymentPlan, IsolationPlan, Program, Select, ServiceStart,
};

use crate::common::{Run, bare, docker, engine, is_root, wait_for_exit};

/// Says whom it runs as, where it is, and what it finds; tries to write.
const SOURCE: &str = r#"
#include <stdio.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>
static void say(const char *path) {
    char text[64] = "-";
    FILE *file = fopen(path, "r");
    if (file && !fgets(text, sizeof text, file)) text[0] = 0;
    printf("%s=%s\n", path, text);
}
int main(void) {
    char folder[4096];
    struct stat device;
    printf("%d:%d in %s\n", (int)getuid(), (int)getgid(), getcwd(folder, sizeof folder));
    say("/etc/word");
    say("/maps/word");
    printf("maps %s\n", fopen("/maps/new", "w") ? "written" : "refused");
    printf("data %s\n", fopen("/data/new", "w") ? "written" : "refused");
    if (!stat("/dev/fuse", &device)) printf("fuse %d:%d\n", major(device.st_rdev), minor(device.st_rdev));
    return 0;
}
"#;

/// A static program that says all this.
fn program(folder: &Path) -> std::path::PathBuf {
    let (source, program) = (folder.join("says.c"), folder.join("says"));
    fs::write(&source, SOURCE).unwrap();
    let built = Command::new("cc")
        .args(["-static", "-o"])
        .args([&program, &source])
        .status();
    assert!(built.unwrap().success());
    program
}

fn mount(from: &Path, to: &str, read_only: bool) -> BindMount {
    BindMount {
        from: from.display().to_string(),
        to: to.to_owned(),
        read_only,
    }
}

fn plan(run: &Run, isolation: IsolationPlan, program: Program) -> DeploymentPlan {
    let service = ServiceStart {
        program,
        ..run.service("one", &[])
    };
    run.plan(isolation, vec![service])
}

fn says(run: &Run, engine: &dyn Engine, plan: &DeploymentPlan) -> Result<String, EngineError> {
    let mut deployment = engine.prepare(plan, run.host.clone())?;
    deployment.create(&Select::All)?;
    deployment.start(&Select::All)?;
    assert_eq!(wait_for_exit(&mut *deployment, "one"), 0);
    let log = deployment.log("one", 65_536)?;
    deployment.destroy()?;
    fs::remove_file(&plan.services[0].log).unwrap();
    Ok(log)
}

/// An image of one layer with the program, a user and a word.
fn image(folder: &Path) -> String {
    let root = folder.join("layer");
    for name in ["etc", "proc", "sys", "dev", "maps", "data", "srv"] {
        fs::create_dir_all(root.join(name)).unwrap();
    }
    fs::copy(program(folder), root.join("says")).unwrap();
    fs::write(root.join("etc/word"), "image\n").unwrap();
    fs::write(root.join("etc/passwd"), "ros:x:1234:2345::/:\n").unwrap();
    let image = folder.join("image");
    let blobs = image.join("blobs/sha256");
    fs::create_dir_all(&blobs).unwrap();
    let layer = folder.join("layer.tar");
    let tar = Command::new("tar")
        .arg("-C")
        .arg(&root)
        .arg("-cf")
        .arg(&layer)
        .arg(".")
        .status();
    assert!(tar.unwrap().success());
    let put = |kind: &str, bytes: &[u8]| {
        let file = folder.join("blob");
        fs::write(&file, bytes).unwrap();
        let said = Command::new("sha256sum").arg(&file).output().unwrap();
        let hash = String::from_utf8(said.stdout).unwrap()[..64].to_owned();
        fs::rename(&file, blobs.join(&hash)).unwrap();
        let kind = format!("application/vnd.oci.image.{kind}");
        format!(
            r#"{{"mediaType":"{kind}","digest":"sha256:{hash}","size":{}}}"#,
            bytes.len()
        )
    };
    let config = put(
        "config.v1+json",
        br#"{"architecture":"amd64","os":"linux","rootfs":{"type":"layers","diff_ids":[]},
        "config":{"Entrypoint":["/says"],"User":"ros","WorkingDir":"/srv"}}"#,
    );
    let layer = put("layer.v1.tar", &fs::read(&layer).unwrap());
    let manifest = format!(r#"{{"schemaVersion":2,"config":{config},"layers":[{layer}]}}"#);
    let manifest = put("manifest.v1+json", manifest.as_bytes());
    let index = format!(r#"{{"schemaVersion":2,"manifests":[{manifest}]}}"#);
    fs::write(image.join("index.json"), index).unwrap();
    image.display().to_string()
}

#[test]
fn a_program_from_an_image_has_its_user_mounts_and_devices() {
    if !is_root() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let unpacked = stowplan_image::unpack(&image(folder.path()), &folder.path().join("store"));
    let root = unpacked.unwrap();
    let maps = folder.path().join("maps");
    let data = folder.path().join("data");
    fs::create_dir(&maps).unwrap();
    fs::create_dir(&data).unwrap();
    fs::write(maps.join("word"), "maps\n").unwrap();
    std::os::unix::fs::chown(&data, Some(1234), Some(2345)).unwrap();
    let run = Run::new();
    let devices: Vec<String> = ["/dev/fuse"]
        .into_iter()
        .filter(|path| Path::new(path).exists())
        .map(str::to_owned)
        .collect();
    let fuse = if devices.is_empty() {
        ""
    } else {
        "fuse 10:229\n"
    };
    let program = Program::Command {
        command: root.config.command.clone(),
        env: vec![],
        rootfs: Some(root.dir.display().to_string()),
        access: Access {
            mounts: vec![mount(&maps, "/maps", true), mount(&data, "/data", false)],
            devices,
            user: root.config.user.clone(),
            working_dir: root.config.working_dir.clone(),
        },
    };
    let expected = format!(
        "1234:2345 in /srv\n/etc/word=image\n\n/maps/word=maps\n\nmaps refused\ndata written\n{fuse}"
    );
    let mut bound = docker();
    (bound.overlay, bound.read_only_root) = (false, true);
    let mut own_ids = docker();
    own_ids.user = true;
    for isolation in [docker(), bound, own_ids] {
        let plan = plan(&run, isolation, program.clone());
        assert_eq!(
            says(&run, &engine(), &plan).unwrap(),
            expected,
            "{isolation:?}"
        );
        assert!(data.join("new").exists());
        fs::remove_file(data.join("new")).unwrap();
    }
    let host = fs::read_dir(&root.dir).unwrap().count();
    assert_eq!(host, 8, "nothing was made in the root itself");
}

#[test]
fn what_cannot_be_had_is_refused_with_a_reason() {
    if !is_root() {
        return;
    }
    let run = Run::new();
    let with = |isolation, access| {
        let program = Program::Command {
            command: vec!["true".into()],
            env: vec![],
            rootfs: None,
            access,
        };
        plan(&run, isolation, program)
    };
    let refused = |engine: &dyn Engine, plan: &DeploymentPlan| {
        let error = engine.prepare(plan, run.host.clone()).err().unwrap();
        assert!(error.hint.is_some() || error.source.is_some(), "{error}");
        stowplan_host::chain(&error)
    };
    let mounted = |from: &str, to: &str| Access {
        mounts: vec![mount(Path::new(from), to, false)],
        ..Access::default()
    };
    let user = |user: &str| Access {
        user: Some(user.to_owned()),
        ..Access::default()
    };
    let flat = &Bare;
    assert!(refused(flat, &with(bare(), mounted("/tmp", "/x"))).contains("program.mounts"));
    assert!(refused(flat, &with(bare(), user("nobody-here"))).contains("no user 'nobody-here'"));
    let oci = &engine();
    assert!(refused(oci, &with(bare(), user("65534"))).contains("'mount'"));
    assert!(refused(oci, &with(docker(), user("nobody-here"))).contains("no user 'nobody-here'"));
    let none = refused(oci, &with(docker(), mounted("/no/such/folder", "/x")));
    assert!(none.contains("cannot mount /no/such/folder"), "{none}");
    let mut bound = docker();
    bound.overlay = false;
    let nowhere = refused(oci, &with(bound, mounted("/tmp", "/no/such/place")));
    assert!(nowhere.contains("there is no /no/such/place"), "{nowhere}");
    assert!(!Path::new("/no").exists());
    let mut shared = docker();
    shared.ipc = false;
    let nowhere = refused(
        oci,
        &with(shared, mounted("/tmp", "/dev/shm/no-such-place")),
    );
    assert!(
        nowhere.contains("there is no /dev/shm/no-such-place"),
        "{nowhere}"
    );
    let no_device = Access {
        devices: vec!["/dev/no-such-device".to_owned()],
        ..Access::default()
    };
    for engine in [flat as &dyn Engine, oci] {
        let why = refused(engine, &with(docker(), no_device.clone()));
        assert!(why.contains("/dev/no-such-device"), "{why}");
    }
}

#[test]
fn a_plain_process_runs_as_the_user_that_it_was_given() {
    if !is_root() {
        return;
    }
    let run = Run::new();
    let script = "id -u; id -g; id -G; grep -c . /proc/self/status >/dev/null; pwd";
    let program = Program::Command {
        command: ["sh", "-c", script].map(str::to_owned).to_vec(),
        env: vec![],
        rootfs: None,
        access: Access {
            user: Some("65534:12".to_owned()),
            devices: vec!["/dev/null".to_owned()],
            working_dir: Some("/tmp".to_owned()),
            ..Access::default()
        },
    };
    let plan = plan(&run, bare(), program);
    assert_eq!(says(&run, &Bare, &plan).unwrap(), "65534\n12\n12\n/tmp\n");
}
