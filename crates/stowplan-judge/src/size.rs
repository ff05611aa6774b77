//! How many blocks an experiment needs, from the spread of its pilot, and how fine its intervals came out.

use stowplan_stats::{ALPHA, PILOT_BLOCKS, PairedComparison, TARGET_POWER, planned_blocks};

use crate::error::JudgeError;
use crate::figures::Figures;
use crate::judgement::Judgement;
use crate::{ablation, compare};

/// What the pilot asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Size {
    /// Blocks of the whole experiment.
    pub blocks: usize,
    /// How it came to that number.
    pub reason: String,
}

/// The comparison that needs most blocks.
struct Needs {
    blocks: usize,
    std: f64,
    delta: f64,
    family: usize,
}

impl Figures {
    /// The blocks that the primary comparisons need, at most `most`: each shall tell a difference of δ, and find
    /// equal what is equal, after Holm's correction (docs/measuring.md §5). `None` where nothing is compared in two blocks.
    ///
    /// # Errors
    /// When values cannot be compared.
    pub fn size(&self, most: usize) -> Result<Option<Size>, JudgeError> {
        let families = [compare::family(self)?, ablation::family(self)?];
        let needs = families.iter().flat_map(|family| {
            let of_family = move |c: &PairedComparison| {
                let (std, alpha) = (c.std?, ALPHA / family.len() as f64);
                Some(Needs {
                    blocks: planned_blocks(std, PILOT_BLOCKS, c.margins(), alpha, most),
                    std,
                    delta: c.delta,
                    family: family.len(),
                })
            };
            family.iter().filter_map(of_family)
        });
        // Of several that need as many, the one with the largest spread is the reason.
        let order = |a: &Needs, b: &Needs| a.blocks.cmp(&b.blocks).then(a.std.total_cmp(&b.std));
        Ok(needs.max_by(order).map(|worst| Size {
            blocks: worst.blocks,
            reason: reason(&worst, most),
        }))
    }
}

impl Judgement {
    /// How fine the primary comparisons came out, in one line; `None` where none has an interval.
    #[must_use]
    pub fn precision(&self) -> Option<String> {
        let steps = self.ablations.iter().flat_map(|a| &a.steps);
        let all = self.comparisons.iter().chain(steps.map(|s| &s.comparison));
        let primary = all.filter(|c| c.primary && c.relative);
        let widths: Vec<(f64, f64)> = primary
            .filter_map(|c| Some(((c.high? - c.low?) / 2.0, c.delta)))
            .collect();
        let widest = widths.iter().max_by(|a, b| a.0.total_cmp(&b.0))?;
        let of = match widths.len() {
            1 => "the primary comparison".to_owned(),
            several => format!("the widest of {several} primary comparisons"),
        };
        Some(format!(
            "Half-width of the 95 % interval: {:.1} %, {of}; differences below {:.1} % do not matter",
            widest.0 * 100.0,
            widest.1 * 100.0
        ))
    }
}

fn reason(worst: &Needs, most: usize) -> String {
    let among = match worst.family {
        1 => String::new(),
        several => format!(" in each of {several} comparisons"),
    };
    let cap = if worst.blocks == most {
        format!(", at most {most}")
    } else {
        String::new()
    };
    format!(
        "the differences spread by {:.1} % from block to block, and {:.1} % shall be told with a power of \
         {TARGET_POWER}{among}{cap}",
        worst.std * 100.0,
        worst.delta * 100.0
    )
}
