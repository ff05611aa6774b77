//! Recordings that are like one that is there, and another: with an identity and a host of their own.

use std::fs;
use std::path::Path;

/// What a packet begins with, little endian (CTF 1.8, 5.2).
const MAGIC: [u8; 4] = 0xC1FC_1FC1_u32.to_le_bytes();

/// Copies the traces below a folder as recordings of host number `number` (a digit).
pub fn as_another_host(from: &Path, to: &Path, number: u8) {
    fs::create_dir(to).unwrap();
    let entries = fs::read_dir(from)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let (folders, files): (Vec<_>, Vec<_>) = entries.partition(|path| path.is_dir());
    for folder in folders {
        as_another_host(&folder, &to.join(folder.file_name().unwrap()), number);
    }
    let Some(metadata) = files.iter().find(|file| file.ends_with("metadata")) else {
        return;
    };
    let text = String::from_utf8_lossy(&fs::read(metadata).unwrap()).into_owned();
    let (uuid, host) = (quoted(&text, "uuid = \""), quoted(&text, "hostname = \""));
    let renamed = format!("{}{number}", &host[..host.len() - 1]);
    let known: Vec<u8> = hex(uuid);
    let other = [&[number][..], &known[1..]].concat();
    let other_text = format!("{number:02x}{}", &uuid[2..]);
    for file in &files {
        let mut bytes = fs::read(file).unwrap();
        replace(
            &mut bytes,
            &[&MAGIC[..], &known].concat(),
            &[&MAGIC[..], &other].concat(),
        );
        if file == metadata {
            replace(&mut bytes, uuid.as_bytes(), other_text.as_bytes());
            replace(&mut bytes, host.as_bytes(), renamed.as_bytes());
            // The metadata's own packets, where it has any.
            replace(&mut bytes, &known, &other);
        }
        fs::write(to.join(file.file_name().unwrap()), bytes).unwrap();
    }
}

/// What stands between `after` and the next quotation mark.
fn quoted<'t>(text: &'t str, after: &str) -> &'t str {
    let rest = &text[text.find(after).unwrap() + after.len()..];
    &rest[..rest.find('"').unwrap()]
}

fn hex(uuid: &str) -> Vec<u8> {
    let digits: Vec<char> = uuid.chars().filter(|c| *c != '-').collect();
    let byte = |pair: &[char]| {
        let pair: String = pair.iter().collect();
        u8::from_str_radix(&pair, 16).unwrap()
    };
    digits.chunks(2).map(byte).collect()
}

/// Replaces what is found by something as long.
fn replace(bytes: &mut [u8], what: &[u8], with: &[u8]) {
    assert_eq!(what.len(), with.len());
    let mut at = 0;
    while let Some(next) = bytes[at..].iter().position(|byte| *byte == what[0]) {
        at += next;
        if bytes[at..].starts_with(what) {
            bytes[at..at + what.len()].copy_from_slice(with);
        }
        at += 1;
    }
}
