//! Experiments: schedule, blocks, clean-up, resume.
