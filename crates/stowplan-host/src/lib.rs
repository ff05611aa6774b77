//! The Host trait and the local machine: cgroups, CPU, fingerprint, sampling, ledger.
