//! Real images and a real detector.

use stowplan_results::Results;

use crate::measured::{AT_ONCE, only_result};
use crate::one_at_a_time::shared_turn;
use crate::support::{Bench, engines_missing};

#[test]
fn every_tag_of_every_image_is_found_in_one_process_and_in_two_services() {
    if engines_missing(&["bare", "oci"]) {
        return;
    }
    let bench = Bench::new();
    let _turn = shared_turn();
    let by_pointer = stowplan_spec::shipped("vision").unwrap().replace(
        "/image: { frames:",
        "/image: { intra_process: true, frames:",
    );
    bench.write("near.yaml", &by_pointer);
    for (stack, places, partition) in [
        ("vision", "bare:flat,oci", "modules"),
        ("near.yaml", "bare:flat", "single"),
    ] {
        let what = [
            "latency",
            stack,
            "--place",
            places,
            "--partition",
            partition,
        ];
        let how = ["--blocks", "1", "--window", "2s", "--timer", "camera=20Hz"];
        let all = what.into_iter().chain(how).chain(AT_ONCE);
        bench.run(all).expect(0);
        let dir = only_result(&bench);
        let results = Results::open(&dir).unwrap();
        let timers = &results.experiment.parameters["timers"];
        assert_eq!(timers[0], "camera=20Hz");
        for run in &results.runs {
            // Four in each image, some of which may have been lost on a busy machine.
            let tags = run.tags.unwrap();
            assert!(tags > 0 && tags.is_multiple_of(4), "{stack}: {tags}");
            assert!(tags / 4 <= run.published.unwrap(), "{stack}: {tags}");
        }
        assert!(!results.latency().unwrap().is_empty(), "{stack}");
        std::fs::remove_dir_all(dir).unwrap();
    }
    let unknown = ["latency", "vision", "--timer", "camra=20Hz"];
    let error = bench.run(unknown).expect(3).err;
    assert!(error.contains("did you mean 'camera'?"), "{error}");
}
