//! Engine and Deployment traits, capabilities and errors.
