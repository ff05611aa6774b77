//! Checks, partition presets, edges and utilisation.
