//! Means over the runs of a block, and over blocks.

use std::collections::BTreeMap;

use crate::usage::mean;

/// One value per block: the mean over its runs.
pub(crate) fn by_block(values: impl Iterator<Item = (u32, f64)>) -> BTreeMap<u32, f64> {
    let mut blocks: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
    for (block, value) in values {
        blocks.entry(block).or_default().push(value);
    }
    let means = blocks
        .into_iter()
        .filter_map(|(block, values)| Some((block, mean(values.into_iter())?)));
    means.collect()
}

/// The mean over the blocks, each the mean over its runs: the one that is compared.
pub(crate) fn over_blocks(values: impl Iterator<Item = (u32, f64)>) -> Option<f64> {
    mean(by_block(values).into_values())
}
