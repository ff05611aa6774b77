//! Contents of start-up files: pseudo-random, so that neither a compressing file system nor page merging can
//! make them smaller than the libraries they stand for.

use std::io::{self, Write};

use sha2::{Digest, Sha256};

const CHUNK: usize = 1 << 16;

/// Writes `bytes` bytes that follow from `path` alone.
pub(crate) fn write(out: &mut impl Write, path: &str, bytes: u64) -> io::Result<()> {
    let seed = Sha256::digest(path.as_bytes());
    let mut state = u64::from_le_bytes([
        seed[0], seed[1], seed[2], seed[3], seed[4], seed[5], seed[6], seed[7],
    ]);
    let mut chunk = [0_u8; CHUNK];
    let mut left = bytes;
    while left > 0 {
        for word in chunk.chunks_exact_mut(8) {
            word.copy_from_slice(&split_mix(&mut state).to_le_bytes());
        }
        let now = usize::try_from(left).unwrap_or(CHUNK).min(CHUNK);
        out.write_all(&chunk[..now])?;
        left -= now as u64;
    }
    Ok(())
}

/// SplitMix64 (Steele, Lea, Flood: "Fast splittable pseudorandom number generators", 2014).
fn split_mix(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn split_mix_gives_its_published_sequence() {
        // First outputs for seed 1234567, as listed with the reference implementation.
        let mut state = 1_234_567;
        let got: Vec<u64> = (0..3).map(|_| split_mix(&mut state)).collect();
        assert_eq!(
            got,
            [
                6_457_827_717_110_365_317,
                3_203_168_211_198_807_973,
                9_817_491_932_198_370_423
            ]
        );
    }

    #[test]
    fn the_size_is_exact_and_the_bytes_follow_from_the_path() {
        let make = |path: &str, bytes| {
            let mut out = Vec::new();
            write(&mut out, path, bytes).unwrap();
            out
        };
        for bytes in [0, 1, 7, 8, CHUNK as u64, CHUNK as u64 + 1, 200_003] {
            assert_eq!(make("a", bytes).len() as u64, bytes);
        }
        assert_eq!(make("a", 1000), make("a", 1000));
        assert_ne!(make("a", 1000), make("b", 1000));
    }

    #[test]
    fn every_byte_value_occurs_about_equally_often() {
        let mut out = Vec::new();
        write(&mut out, "lib.so", 1 << 20).unwrap();
        let mut count = [0_u32; 256];
        for byte in &out {
            count[usize::from(*byte)] += 1;
        }
        // 4,096 expected each with a standard deviation of 64.
        assert!(
            count.iter().all(|n| (3_700..4_500).contains(n)),
            "{count:?}"
        );
    }
}
