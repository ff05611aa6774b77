//! Services in containers of the embedded OCI runtime.
