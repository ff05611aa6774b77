//! Root file systems for services.
