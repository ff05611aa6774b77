//! From ros2_tracing events to node graph, links, chains and latencies.
