//! Common Trace Format 1.8: metadata, packets, reader and writer.
