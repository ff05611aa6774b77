//! SHA-256 of what processes really execute.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use sha2::{Digest, Sha256};
use stowplan_wire::agent::ProgramDigest;

use crate::HostError;

/// Digests of /proc/PID/exe, once per device and inode.
///
/// # Errors
/// When a process is gone or its program cannot be read.
pub fn digests(pids: &[u32]) -> Result<Vec<ProgramDigest>, HostError> {
    let mut found: BTreeMap<String, ProgramDigest> = BTreeMap::new();
    for pid in pids {
        let path = Path::new("/proc").join(pid.to_string()).join("exe");
        let file = File::open(&path).map_err(|e| HostError::io("open", &path, e))?;
        let meta = file
            .metadata()
            .map_err(|e| HostError::io("look at", &path, e))?;
        let key = format!("{}:{}", meta.dev(), meta.ino());
        if let Some(known) = found.get_mut(&key) {
            known.processes += 1;
        } else {
            let sha256 = sha256_of(file).map_err(|e| HostError::io("read", &path, e))?;
            let digest = ProgramDigest {
                file: key.clone(),
                sha256,
                processes: 1,
            };
            found.insert(key, digest);
        }
    }
    Ok(found.into_values().collect())
}

/// SHA-256 of everything that `reader` gives, in hex.
///
/// # Errors
/// When reading fails.
pub fn sha256_of(mut reader: impl Read) -> std::io::Result<String> {
    let mut hash = Sha256::new();
    let mut buffer = vec![0; 64 * 1024];
    loop {
        match reader.read(&mut buffer)? {
            0 => break,
            length => hash.update(&buffer[..length]),
        }
    }
    Ok(hex::encode(hash.finalize()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_answer() {
        assert_eq!(
            sha256_of(&b"abc"[..]).unwrap(),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        );
    }

    #[test]
    fn a_program_that_runs_twice_is_read_once() {
        let own = std::process::id();
        let found = digests(&[own, own]).unwrap();
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].processes, 2);
        let exe = File::open("/proc/self/exe").unwrap();
        assert_eq!(found[0].sha256, sha256_of(exe).unwrap());
    }
}
