//! HTML and terminal views of saved results.
