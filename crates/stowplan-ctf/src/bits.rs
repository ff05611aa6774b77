//! Integers of any width at any bit of a byte slice, in both byte orders.

/// How an integer is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Int {
    /// Width, 1 to 64 bits, or [`Int::VARIABLE`].
    pub bits: u8,
    pub signed: bool,
    pub big_endian: bool,
}

impl Int {
    /// Stands for a width that the stored bytes say themselves (LEB128).
    pub const VARIABLE: u8 = 0;

    /// The stored bits as an unsigned number; `None` past the end of `data`.
    #[inline]
    pub fn raw(self, data: &[u8], at: u64) -> Option<u64> {
        let (skip, bits) = ((at % 8) as u32, u32::from(self.bits));
        // Mostly eight bytes are there to be loaded at once: then no branch depends on the width.
        if !self.big_endian
            && self.bits != Self::VARIABLE
            && skip + bits <= u64::BITS
            && let Some(word) = data.get(usize::try_from(at / 8).ok()?..)?.first_chunk()
        {
            let unused = u64::BITS - bits;
            return Some((u64::from_le_bytes(*word) >> skip) << unused >> unused);
        }
        self.raw_at_the_end(data, at)
    }

    /// As [`Int::raw`], of any bytes that are there.
    fn raw_at_the_end(self, data: &[u8], at: u64) -> Option<u64> {
        if at.is_multiple_of(8) {
            let rest = data.get(usize::try_from(at / 8).ok()?..)?;
            match (self.bits, self.big_endian) {
                (64, false) => return Some(u64::from_le_bytes(*rest.first_chunk()?)),
                (32, false) => return Some(u32::from_le_bytes(*rest.first_chunk()?).into()),
                (16, false) => return Some(u16::from_le_bytes(*rest.first_chunk()?).into()),
                (8, _) => return Some((*rest.first()?).into()),
                (64, true) => return Some(u64::from_be_bytes(*rest.first_chunk()?)),
                (32, true) => return Some(u32::from_be_bytes(*rest.first_chunk()?).into()),
                (16, true) => return Some(u16::from_be_bytes(*rest.first_chunk()?).into()),
                _ => {}
            }
        }
        self.raw_unaligned(data, at)
    }

    /// Bit fields: little-endian ones fill a byte from its lowest bit, big-endian
    /// ones from its highest (CTF 1.8.3, 4.1.5).
    fn raw_unaligned(self, data: &[u8], at: u64) -> Option<u64> {
        let bits = u32::from(self.bits);
        if self.bits == Self::VARIABLE {
            return self.variable(data, at);
        }
        let skip = u32::try_from(at % 8).ok()?;
        let first = usize::try_from(at / 8).ok()?;
        let length = usize::try_from((skip + bits).div_ceil(8)).ok()?;
        let bytes = data.get(first..first.checked_add(length)?)?;
        // At most 7 + 64 bits.
        let mut wide = 0u128;
        if self.big_endian {
            for &byte in bytes {
                wide = (wide << 8) | u128::from(byte);
            }
            wide >>= u32::try_from(length).ok()? * 8 - skip - bits;
        } else {
            for &byte in bytes.iter().rev() {
                wide = (wide << 8) | u128::from(byte);
            }
            wide >>= skip;
        }
        u64::try_from(wide & ((1 << bits) - 1)).ok()
    }

    /// A number of seven bits a byte, the lowest first, sign-extended to 64 bits if it is signed; `None` also if it does not
    /// fit these.
    #[cold]
    fn variable(self, data: &[u8], at: u64) -> Option<u64> {
        let mut wide = 0u128;
        let mut bits = 0;
        for byte in data.get(usize::try_from(at / 8).ok()?..)? {
            if bits >= 70 {
                return None;
            }
            wide |= u128::from(byte & 0x7f) << bits;
            bits += 7;
            if byte & 0x80 == 0 {
                return if self.signed {
                    let shift = u128::BITS - bits;
                    let value = (wide << shift) as i128 >> shift;
                    i64::try_from(value).ok().map(|value| value as u64)
                } else {
                    u64::try_from(wide).ok()
                };
            }
        }
        None
    }

    /// The stored number as 64 bits in two's complement: sign-extended if signed.
    #[inline]
    pub fn extended(self, data: &[u8], at: u64) -> Option<u64> {
        let raw = self.raw(data, at)?;
        Some(if self.signed && (1..64).contains(&self.bits) {
            let shift = 64 - u32::from(self.bits);
            (((raw << shift) as i64) >> shift) as u64
        } else {
            raw
        })
    }

    /// The stored number with its sign.
    pub fn value(self, data: &[u8], at: u64) -> Option<i128> {
        let extended = self.extended(data, at)?;
        Some(if self.signed {
            i128::from(extended as i64)
        } else {
            i128::from(extended)
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn int(bits: u8, signed: bool, big_endian: bool) -> Int {
        Int {
            bits,
            signed,
            big_endian,
        }
    }

    #[test]
    fn compact_header_of_lttng() {
        // 5 bits id = 3, 27 bits time = 0x1234567, little-endian.
        let word: u32 = 3 | (0x0123_4567 << 5);
        let data = word.to_le_bytes();
        assert_eq!(int(5, false, false).raw(&data, 0), Some(3));
        assert_eq!(int(27, false, false).raw(&data, 5), Some(0x0123_4567));
        let word: u32 = (3 << 27) | 0x0123_4567;
        let data = word.to_be_bytes();
        assert_eq!(int(5, false, true).raw(&data, 0), Some(3));
        assert_eq!(int(27, false, true).raw(&data, 5), Some(0x0123_4567));
    }

    #[test]
    fn numbers_of_any_length_say_where_they_end() {
        let of = |signed, data: &[u8]| int(Int::VARIABLE, signed, false).value(data, 0);
        assert_eq!(of(false, &[0x00]), Some(0));
        assert_eq!(of(false, &[0xe5, 0x8e, 0x26, 0xff]), Some(624_485));
        assert_eq!(of(true, &[0x7f]), Some(-1));
        assert_eq!(of(true, &[0xc0, 0xbb, 0x78]), Some(-123_456));
        assert_eq!(of(true, &[0x3f]), Some(63));
        let mut most = [0xff; 10];
        most[9] = 1;
        assert_eq!(of(false, &most), Some(u64::MAX.into()));
        most[9] = 2;
        assert_eq!(of(false, &most), None, "65 bits");
        assert_eq!(of(false, &[0x80; 12]), None);
        assert_eq!(of(false, &[]), None);
    }

    #[test]
    fn signs_extend() {
        assert_eq!(int(3, true, false).value(&[0b0000_0111], 0), Some(-1));
        assert_eq!(int(8, true, false).value(&[0x80], 0), Some(-128));
        assert_eq!(int(64, true, false).value(&[0xff; 8], 0), Some(-1),);
        assert_eq!(
            int(64, false, true).value(&[0xff; 8], 0),
            Some(u64::MAX.into())
        );
    }

    proptest! {
        #[test]
        fn any_width_anywhere_equals_bit_by_bit(
            data in proptest::collection::vec(any::<u8>(), 0..20),
            at in 0u64..200,
            bits in 1u8..=64,
            big_endian: bool,
        ) {
            let bit = |index: u64| {
                let byte = *data.get(usize::try_from(index / 8).unwrap())?;
                let within = u32::try_from(index % 8).unwrap();
                Some(if big_endian { byte >> (7 - within) & 1 } else { byte >> within & 1 })
            };
            // Whole big-endian bytes and bit fields agree; little-endian ones do by definition.
            let mut expected = Some(0u64);
            for index in 0..u64::from(bits) {
                let place = if big_endian { index } else { u64::from(bits) - 1 - index };
                expected = expected.zip(bit(at + place)).map(|(value, bit)| value << 1 | u64::from(bit));
            }
            prop_assert_eq!(int(bits, false, big_endian).raw(&data, at), expected);
        }
    }
}
