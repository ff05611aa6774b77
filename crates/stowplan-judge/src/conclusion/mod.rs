//! What a result says on one screen: the answer first, then what it rests on. Every word of it follows from the verdicts.

mod advice;
mod answer;
mod columns;
mod earlier;
mod questions;
mod settle;
mod warned;
mod why;

use serde::Serialize;

pub use columns::{Cell, Column, Overview};
pub use questions::Question;
pub use warned::Repeated;

use crate::judgement::Judgement;
use crate::metrics::{Metric, metrics};

/// The conclusion of an experiment.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Conclusion {
    /// What came out against an earlier result, one sentence, where there is one.
    pub against: Option<String>,
    /// The answer to the question of the experiment, one sentence.
    pub answer: String,
    /// What to do with it: which deployment to use and what it costs, or that there is nothing to choose by.
    pub advice: String,
    /// One row per question, that of the experiment first.
    pub questions: Vec<Question>,
    /// What each deployment came to.
    pub overview: Overview,
    /// What the difference comes from, where that is known; at most two sentences.
    pub why: Vec<String>,
    /// What would decide an answer that is inconclusive: how many blocks, how long they take, and the command.
    pub settle: Option<String>,
    /// Every warning, once.
    pub warnings: Vec<Repeated>,
}

impl Judgement {
    /// What the result says on one screen.
    #[must_use]
    pub fn conclusion(&self) -> Conclusion {
        let metrics = metrics(&self.figures);
        let asked = questions::asked(&self.figures, &metrics);
        let all = asked.iter().map(|asked| questions::answered(self, asked));
        let questions: Vec<Question> = all.flatten().collect();
        let main = questions.first();
        Conclusion {
            against: earlier::sentence(self),
            answer: answer::sentence(self, main, &asked),
            advice: advice::sentence(self, &questions),
            overview: columns::overview(self, &asked, &metrics),
            why: main.map_or_else(Vec::new, |main| why::sentences(self, main)),
            settle: main.and_then(|main| settle::sentence(self, main)),
            warnings: warned::all(&self.figures),
            questions,
        }
    }
}

/// A metric that a question is asked of, with the noun that sentences have for it.
struct Asked<'a> {
    question: String,
    noun: String,
    metric: &'a Metric,
}
