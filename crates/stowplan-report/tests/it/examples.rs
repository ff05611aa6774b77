//! The DuckDB and pandas examples of docs/how-to/analyse-in-python.md, run on a result.
//!
//! Needs python3 with duckdb, pandas and pyarrow. `STOWPLAN_PYTHON` names another interpreter.

use std::path::Path;
use std::process::Command;

use crate::common;

/// Code blocks of a language in the page.
fn blocks(page: &str, language: &str) -> Vec<String> {
    let fence = format!("```{language}\n");
    page.split(&fence)
        .skip(1)
        .map(|rest| rest.split("```").next().unwrap().to_owned())
        .collect()
}

fn python() -> String {
    std::env::var("STOWPLAN_PYTHON").unwrap_or_else(|_| "python3".to_owned())
}

fn present() -> bool {
    let mut import = Command::new(python());
    import.args(["-c", "import duckdb, pandas, pyarrow"]);
    let found = import.output().is_ok_and(|output| output.status.success());
    if !found {
        stowplan_testkit::skip!("python3 lacks duckdb, pandas or pyarrow");
    }
    found
}

fn run(dir: &Path, program: &str) -> String {
    let output = Command::new(python())
        .args(["-c", program])
        .current_dir(dir)
        .output()
        .unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{program}\n{error}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn the_examples_of_the_documentation_run() {
    if !present() {
        return;
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let page = std::fs::read_to_string(root.join("docs/how-to/analyse-in-python.md")).unwrap();
    let folder = common::folder();
    let size = common::Size {
        blocks: 2,
        instances: 200,
        samples: 20,
    };
    let dir = common::write(folder.path(), size);

    let sql = blocks(&page, "sql");
    assert_eq!(sql.len(), 3);
    for query in sql {
        let program = format!("import duckdb\nprint(duckdb.sql('''{query}''').fetchall())");
        let rows = run(&dir, &program);
        assert!(rows.contains("oci/betz-8"), "{rows}");
    }
    let scripts = blocks(&page, "python");
    assert_eq!(scripts.len(), 1);
    for script in scripts {
        let printed = run(&dir, &script);
        assert!(printed.contains("oci/betz-8"), "{printed}");
    }
}
