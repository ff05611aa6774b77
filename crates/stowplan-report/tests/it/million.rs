//! A million chain instances in less than 5 MB, with quantiles that hold.

use serde_json::Value;
use stowplan_judge::{Judgement, Part};
use stowplan_results::{LatencyRow, Results};

use crate::common;

/// The sorted samples that a sketch in the page stands for: (share, ns) as the page decodes them.
fn decoded(samples: &Value) -> Vec<(f64, f64)> {
    let n = samples["summary"]["n"].as_f64().unwrap();
    let column = |name: &str| -> Vec<f64> {
        let mut sum = 0.0;
        let values = samples[name].as_array().unwrap().iter();
        values
            .map(|v| {
                sum += v.as_f64().unwrap();
                sum
            })
            .collect()
    };
    let shares = column("index").into_iter().map(|i| i / (n - 1.0));
    shares.zip(column("ns")).collect()
}

fn quantile(points: &[(f64, f64)], q: f64) -> f64 {
    let next = points
        .partition_point(|p| p.0 < q)
        .clamp(1, points.len() - 1);
    let ((q0, a), (q1, b)) = (points[next - 1], points[next]);
    a + (b - a) * (q - q0) / (q1 - q0)
}

#[test]
#[ignore = "long: script/test --full, and .ci/run where its code was touched"]
fn a_million_instances_fit_five_megabytes_and_keep_their_quantiles() {
    let size = common::Size {
        blocks: 8,
        instances: 25_700,
        samples: 120,
    };
    let folder = common::folder();
    let results = Results::open(common::make(folder.path(), size, false)).unwrap();
    let mut samples: Vec<(String, f64)> = Vec::new();
    let mut rows = 0_u32;
    results
        .scan(|row: LatencyRow| {
            rows += 1;
            if let (true, Some(ns)) = (row.valid, row.e2e_paper_ns) {
                samples.push((row.deployment.to_string(), ns as f64));
            }
        })
        .unwrap();
    assert!(rows >= 1_000_000, "{rows}");

    let page = stowplan_report::html(&Judgement::read(&results).unwrap()).unwrap();
    println!("{} bytes for {rows} instances", page.len());
    assert!(page.len() < 5_000_000, "{}", page.len());

    let from = page.find("id=\"data\">").unwrap() + "id=\"data\">".len();
    let end = from + page[from..].find("</script>").unwrap();
    let data: Value = serde_json::from_str(&page[from..end]).unwrap();
    for one in data["chains"][0]["deployments"].as_array().unwrap() {
        let points = decoded(&one["parts"][Part::E2ePaper.key()]);
        let own = samples.iter().filter(|(d, _)| *d == one["deployment"]);
        let mut exact: Vec<f64> = own.map(|(_, ns)| *ns).collect();
        exact.sort_by(f64::total_cmp);
        let n = exact.len() as f64;
        for step in 0..=2_000 {
            let q = f64::from(step) / 2_000.0;
            let read_off = quantile(&points, q);
            let low = exact.partition_point(|v| *v < read_off) as f64 / n;
            let high = exact.partition_point(|v| *v <= read_off) as f64 / n;
            let wrong = (low - q).max(q - high).max(0.0);
            assert!(wrong <= 0.001, "{q}: {wrong} in rank");
        }
    }
}
