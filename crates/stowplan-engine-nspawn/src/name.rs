//! Names of containers.

/// Longest name of a machine (hostname(7)).
const LONGEST: usize = 64;

/// A name that systemd-nspawn takes for the container of a service, different for every run and service: what a host
/// name may hold, and where that is too long its beginning with a digest.
pub(crate) fn machine(run: &str, service: &str) -> String {
    let whole = format!("stowplan-{run}-{service}");
    let plain: String = whole
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() { c } else { '-' })
        .collect();
    if plain.len() <= LONGEST && plain == whole && !plain.ends_with('-') {
        return plain;
    }
    let digest = format!("-{:016x}", digest(&whole));
    let kept = plain.len().min(LONGEST - digest.len());
    format!("{}{digest}", &plain[..kept])
}

/// FNV-1a (draft-eastlake-fnv): names need no more than to differ.
fn digest(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_one_of_a_machine_and_no_two_are_equal() {
        assert_eq!(machine("r-1", "sensing"), "stowplan-r-1-sensing");
        let long = "a".repeat(80);
        let names = [
            machine("r", "a_b"),
            machine("r", "a.b"),
            machine("r", &format!("{long}1")),
            machine("r", &format!("{long}2")),
            machine("r", "a-"),
        ];
        for (index, name) in names.iter().enumerate() {
            assert!(
                name.len() <= LONGEST && name.starts_with("stowplan-r-"),
                "{name}"
            );
            assert!(name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-'));
            assert!(
                !name.ends_with('-') && !names[..index].contains(name),
                "{name}"
            );
        }
        // The published value of FNV-1a of "a".
        assert_eq!(digest("a"), 0xaf63_dc4c_8601_ec8c);
    }
}
