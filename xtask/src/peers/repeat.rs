//! A trace several times in a row: copies with identifiers of their own, each with a clock whose zero is later.
//!
//! babeltrace2 takes copies with the same identifiers for one trace, and reads what they have in common once.

use std::fs;
use std::path::Path;

use super::error::PeersError;

/// Characters of a UUID as text.
const UUID_TEXT: usize = 36;

/// Writes `times` copies of the traces in a folder into folders below `into`, each `shift_ns` later than the one before.
pub fn repeat(trace: &Path, times: u16, shift_ns: u64, into: &Path) -> Result<(), PeersError> {
    if into.exists() {
        fs::remove_dir_all(into).map_err(PeersError::io("remove an earlier repetition"))?;
    }
    for copy in 0..times {
        folder(trace, &into.join(format!("{copy:03}")), copy, shift_ns)?;
    }
    Ok(())
}

fn folder(from: &Path, to: &Path, copy: u16, shift_ns: u64) -> Result<(), PeersError> {
    let what = || format!("copy {} to {}", from.display(), to.display());
    let io = |source| PeersError::io(what())(source);
    fs::create_dir_all(to).map_err(io)?;
    let metadata = from.join("metadata");
    let identifiers = if metadata.is_file() {
        identifiers(&fs::read(&metadata).map_err(io)?)
    } else {
        Vec::new()
    };
    for entry in fs::read_dir(from).map_err(io)? {
        let path = entry.map_err(io)?.path();
        let target = to.join(path.file_name().unwrap_or_default());
        if path.is_dir() {
            folder(&path, &target, copy, shift_ns)?;
            continue;
        }
        let mut bytes = fs::read(&path).map_err(io)?;
        for text in &identifiers {
            rename(&mut bytes, text, copy);
        }
        if path == metadata {
            let shift = u64::from(copy) * shift_ns;
            delay(&mut bytes, shift).ok_or_else(|| {
                let file = path.display().to_string();
                PeersError::output(
                    "this metadata has no clock whose offset can be changed",
                    &file,
                )
            })?;
        }
        fs::write(&target, bytes).map_err(io)?;
    }
    Ok(())
}

/// The UUIDs of a trace and its clocks.
fn identifiers(metadata: &[u8]) -> Vec<String> {
    const BEFORE: &[u8] = b"uuid = \"";
    let found = positions(metadata, BEFORE).filter_map(|at| {
        let text = metadata.get(at + BEFORE.len()..)?.get(..UUID_TEXT)?;
        String::from_utf8(text.to_vec()).ok()
    });
    found.collect()
}

/// Gives a UUID another last byte wherever it stands, as text and as bytes.
fn rename(bytes: &mut [u8], text: &str, copy: u16) {
    let digits = text.replace('-', "");
    let raw = (0..digits.len() / 2).map(|at| u8::from_str_radix(&digits[2 * at..2 * at + 2], 16));
    let Ok(raw) = raw.collect::<Result<Vec<u8>, _>>() else {
        return;
    };
    let Some(last) = raw.last() else { return };
    let other = last.wrapping_add(copy as u8);
    for at in positions(bytes, text.as_bytes()).collect::<Vec<_>>() {
        let end = at + text.len();
        bytes[end - 2..end].copy_from_slice(format!("{other:02x}").as_bytes());
    }
    for at in positions(bytes, &raw).collect::<Vec<_>>() {
        bytes[at + raw.len() - 1] = other;
    }
}

/// Adds to the offset of the clock, whose number of digits stays. `None` if there is none, or it would grow.
fn delay(metadata: &mut [u8], by_ns: u64) -> Option<()> {
    const BEFORE: &[u8] = b"offset = ";
    let start = positions(metadata, BEFORE).next()? + BEFORE.len();
    let digits = metadata[start..].iter().take_while(|b| b.is_ascii_digit());
    let field = start..start + digits.count();
    let offset: u64 = std::str::from_utf8(&metadata[field.clone()])
        .ok()?
        .parse()
        .ok()?;
    let later = offset.checked_add(by_ns)?.to_string();
    (later.len() == field.len()).then(|| metadata[field].copy_from_slice(later.as_bytes()))
}

fn positions<'b>(bytes: &'b [u8], wanted: &'b [u8]) -> impl Iterator<Item = usize> + 'b {
    let windows = bytes.windows(wanted.len()).enumerate();
    windows.filter_map(move |(at, window)| (window == wanted).then_some(at))
}

#[cfg(test)]
mod tests {
    use super::*;

    const UUID: &str = "c1f4ca0f-55c5-4c59-8202-e23970ffefff";

    #[test]
    fn a_copy_has_its_own_identifiers_and_begins_later() {
        let mut metadata =
            format!("trace {{ uuid = \"{UUID}\"; }}; clock {{ offset = 1990; }};").into_bytes();
        assert_eq!(identifiers(&metadata), [UUID]);
        rename(&mut metadata, UUID, 2);
        delay(&mut metadata, 15).unwrap();
        let text = String::from_utf8(metadata.clone()).unwrap();
        assert!(
            text.contains("e23970ffef01\"") && text.contains("offset = 2005;"),
            "{text}"
        );
        assert_eq!(delay(&mut metadata, 9_000), None);

        let mut packet =
            b"....\xc1\xf4\xca\x0f\x55\xc5\x4c\x59\x82\x02\xe2\x39\x70\xff\xef\xff\xff".to_vec();
        rename(&mut packet, UUID, 2);
        assert_eq!(packet[16..], *b"\x70\xff\xef\x01\xff");
    }

    #[test]
    fn copies_lie_beside_each_other() {
        let folder = tempfile::tempdir().unwrap();
        let (trace, into) = (folder.path().join("trace"), folder.path().join("copies"));
        fs::create_dir_all(trace.join("index")).unwrap();
        fs::write(
            trace.join("metadata"),
            format!("uuid = \"{UUID}\"; offset = 10;"),
        )
        .unwrap();
        fs::write(trace.join("index/stream"), "as it is").unwrap();
        repeat(&trace, 2, 7, &into).unwrap();
        repeat(&trace, 2, 7, &into).unwrap();
        let second = fs::read_to_string(into.join("001/metadata")).unwrap();
        assert!(second.ends_with("offset = 17;"), "{second}");
        assert_eq!(
            fs::read_to_string(into.join("001/index/stream")).unwrap(),
            "as it is"
        );
        assert!(!into.join("002").exists());
    }
}
