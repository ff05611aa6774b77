//! Reading whatever an event has.

use stowplan_ctf::reader::Event;

/// Reads every field in every way. No array has more elements than its stream has bits.
pub fn read(event: &Event<'_>, stream: &[u8]) {
    let class = event.class();
    for field in class.contexts.iter().chain(&class.fields) {
        let key = field.field;
        let _ = (
            event.i64(key),
            event.f64(key),
            event.text(key),
            event.bytes(key),
        );
        if let Some(elements) = event.integers(key) {
            assert!(elements.count() <= stream.len() * 8);
        }
    }
}
