//! A suite of its own: how many comparisons two ways to find a number need.
//!
//! `toy PARENT` measures into a new folder below PARENT, `toy --resume FOLDER` goes on with one. Before each run it says
//! which, and waits for a line.

use std::error::Error;
use std::path::Path;
use std::sync::atomic::AtomicBool;

use stowplan_results::{
    Better, DeploymentRecord, Experiment, MeasurementRow, MetricPlan, RunData, RunRow, RunStatus,
};
use stowplan_suite::{
    Asked, Caller, Job, JobContext, Kept, Observer, OpenResult, RunFailed, Step, Suite, finish, run,
};

const WAYS: [&str; 2] = ["linear", "binary"];

struct Searching<'a>(&'a OpenResult);

impl Suite for Searching<'_> {
    fn deployments(&self) -> usize {
        WAYS.len()
    }

    fn kept(&self, job: Job) -> Kept {
        Kept::one(job, WAYS.len(), WAYS[job.deployment], 1)
    }

    fn run(&mut self, job: Job, context: &mut JobContext<'_>) -> Result<(), RunFailed> {
        context.step(job, WAYS[job.deployment], "search");
        let run = &self.kept(job).runs[0];
        let mut data = RunData::of(RunRow::of_scheduled(run, RunStatus::Finished));
        let count = f64::from(comparisons(job));
        let figure = MeasurementRow::new(run, "comparisons", "steps", Better::Lower, count);
        data.measurements.push(figure);
        let kept = self.0.write_run(&data);
        kept.map_err(|error| RunFailed::of_results(&run.deployment, &error))
    }
}

fn comparisons(job: Job) -> u32 {
    let numbers: Vec<u32> = (0..300).collect();
    let wanted = (job.block * 37 + 111) % 300;
    let mut count = 0;
    let mut compare = |number: &u32| {
        count += 1;
        number.cmp(&wanted)
    };
    if WAYS[job.deployment] == "linear" {
        numbers.iter().position(|number| compare(number).is_eq());
    } else {
        let _ = numbers.binary_search_by(compare);
    }
    count
}

struct StepByStep;

impl Observer for StepByStep {
    fn step(&mut self, step: &Step<'_>) {
        println!("block {}/{}: {}", step.block, step.blocks, step.label);
        let _ = std::io::stdin().read_line(&mut String::new());
    }
}

fn experiment() -> Experiment {
    let mut experiment = Experiment::new("searching", "toy");
    experiment
        .deployments
        .extend(WAYS.map(DeploymentRecord::named));
    experiment.metrics.push(MetricPlan {
        metric: "comparisons".to_owned(),
        delta: 0.02,
        primary: true,
    });
    experiment
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let result = match &arguments[..] {
        [resume, folder] if resume == "--resume" => OpenResult::resume(Path::new(folder))?,
        _ => OpenResult::create(Path::new(&arguments[0]), experiment())?,
    };
    println!("{}", result.dir().display());
    let asked = Asked {
        blocks: 6,
        seed: 1,
        budget: None,
    };
    let caller = Caller {
        stop: &AtomicBool::new(false),
        observer: &mut StepByStep,
        sizing: &mut |_, _| Err("there is no pilot".to_owned()),
    };
    let results = [result];
    let outcome = run(&mut Searching(&results[0]), &results, asked, caller)?;
    Ok(finish(results.into(), &outcome)?)
}
