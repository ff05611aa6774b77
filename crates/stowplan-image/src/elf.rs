//! Whether a program is static: an image has no dynamic loader and no libraries.

use std::path::Path;

use crate::ImageError;

const PT_INTERP: u32 = 3;
const HEADER: usize = 64;

/// Refuses a program that needs a dynamic loader (an ELF file with a `PT_INTERP` segment).
///
/// # Errors
/// [`ImageError::Dynamic`] with the loader's name, [`ImageError::NotAProgram`] for anything else that is not a
/// little-endian 64-bit ELF file, [`ImageError::Io`] when it cannot be read.
pub fn require_static(path: &Path) -> Result<(), ImageError> {
    let bytes = std::fs::read(path).map_err(ImageError::io("read", path))?;
    match interpreter(&bytes) {
        Ok(None) => Ok(()),
        Ok(Some(loader)) => Err(ImageError::Dynamic {
            path: path.into(),
            loader,
        }),
        Err(reason) => Err(ImageError::NotAProgram {
            path: path.into(),
            reason,
        }),
    }
}

/// The loader that an ELF file names, if any (System V ABI, chapter 5).
fn interpreter(file: &[u8]) -> Result<Option<String>, &'static str> {
    if file.len() < HEADER || &file[..4] != b"\x7fELF" {
        return Err("no ELF header");
    }
    if file[4] != 2 || file[5] != 1 {
        return Err("not 64-bit little-endian");
    }
    let table = number::<8>(file, 32).ok_or("program header offset")?;
    let size = number::<2>(file, 54).ok_or("program header size")?;
    let count = number::<2>(file, 56).ok_or("program header count")?;
    for index in 0..count {
        let at = index
            .checked_mul(size)
            .and_then(|skip| table.checked_add(skip))
            .and_then(|at| usize::try_from(at).ok())
            .ok_or("program header beyond the end")?;
        let kind = number::<4>(file, at).ok_or("program header beyond the end")?;
        if kind != u64::from(PT_INTERP) {
            continue;
        }
        let from = number::<8>(file, at + 8).ok_or("program header beyond the end")?;
        let length = number::<8>(file, at + 32).ok_or("program header beyond the end")?;
        let name = usize::try_from(from)
            .ok()
            .zip(usize::try_from(length).ok())
            .and_then(|(from, length)| file.get(from..from.checked_add(length)?))
            .ok_or("loader name beyond the end")?;
        let name = name.split(|byte| *byte == 0).next().unwrap_or_default();
        return Ok(Some(String::from_utf8_lossy(name).into_owned()));
    }
    Ok(None)
}

/// Unsigned little-endian number of `N` bytes at `at`.
fn number<const N: usize>(file: &[u8], at: usize) -> Option<u64> {
    let bytes = file.get(at..at.checked_add(N)?)?;
    Some(
        bytes
            .iter()
            .rev()
            .fold(0, |number, byte| number << 8 | u64::from(*byte)),
    )
}

/// A small static ELF file, for tests: one program header of type `kind`, then `tail`.
#[cfg(test)]
pub(crate) fn sample(kind: u32, tail: &[u8]) -> Vec<u8> {
    let mut file = vec![0_u8; HEADER + 56];
    file[..6].copy_from_slice(b"\x7fELF\x02\x01");
    file[32] = 64;
    file[54] = 56;
    file[56] = 1;
    file[64..68].copy_from_slice(&kind.to_le_bytes());
    file[72] = 120;
    file[96] = u8::try_from(tail.len()).expect("short");
    file.extend_from_slice(tail);
    file
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_loader_is_found_by_name() {
        assert_eq!(
            interpreter(&sample(3, b"/lib64/ld.so\0")),
            Ok(Some("/lib64/ld.so".into()))
        );
        assert_eq!(interpreter(&sample(1, b"x")), Ok(None));
    }

    #[test]
    fn the_test_program_itself_is_dynamic_and_is_refused_with_a_hint() {
        let error = require_static(Path::new("/bin/sh")).unwrap_err();
        assert!(matches!(error, ImageError::Dynamic { .. }), "{error}");
        assert!(error.hint().unwrap().contains("cargo xtask node"));
    }

    #[test]
    fn cut_and_broken_files_are_refused_without_panic() {
        let whole = sample(3, b"/lib64/ld.so\0");
        for length in 0..whole.len() {
            let _ = interpreter(&whole[..length]);
        }
        for at in 0..whole.len() {
            let mut broken = whole.clone();
            broken[at] = 0xFF;
            let _ = interpreter(&broken);
        }
        assert_eq!(interpreter(b"#!/bin/sh\n"), Err("no ELF header"));
    }
}
