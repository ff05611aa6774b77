//! The words of Stowplan: stacks, partitions, places, deployments. No I/O and no clock.
