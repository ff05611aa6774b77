//! The YAML files: parse, validate, convert, JSON schema.
