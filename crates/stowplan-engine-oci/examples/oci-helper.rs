//! A helper process by itself, as the agent starts it: for the tests and benches of this crate.

fn main() {
    stowplan_engine_oci::helper_main();
}
