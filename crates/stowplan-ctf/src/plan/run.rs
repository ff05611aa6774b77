//! Runs: stretches of fields at fixed places, and what follows them.
//!
//! The start of each run is noted in a table of bases when an event is walked;
//! every field stands at a fixed distance from a base. Most events are one run.

use std::ops::Range;

use memchr::memchr;

use super::field::{IntAt, Length};
use crate::error::Fault;

/// A base whose run is not part of the event.
pub(crate) const UNSET: u64 = u64::MAX;

/// Fields at fixed places, then something whose size depends on the data.
#[derive(Debug)]
pub(crate) struct Run {
    /// Alignment of the start, bits.
    pub align: u32,
    /// Where the start is noted.
    pub base: u32,
    /// Size of the fixed part, bits.
    pub bits: u64,
    pub then: Then,
}

#[derive(Debug)]
pub(crate) enum Then {
    Nothing,
    Text,
    /// Bytes until one without its highest bit.
    Variable,
    /// Elements of one size, aligned already.
    Elements {
        length: IntAt,
        stride: u64,
        last: u64,
    },
    /// Elements whose sizes depend on the data.
    Each {
        length: Length,
        body: Vec<Run>,
    },
    Variant {
        tag: IntAt,
        /// Both ends included; index of the option.
        ranges: Vec<(i128, i128, usize)>,
        options: Vec<Vec<Run>>,
        /// Bases of all options.
        bases: Range<u32>,
    },
}

/// The content of a packet, up to a bit.
#[derive(Clone, Copy)]
pub(crate) struct Frame<'t> {
    pub data: &'t [u8],
    /// At most `data.len() * 8`.
    pub end: u64,
}

/// Goes over `runs` from `at`, noting bases; leaves `at` behind them, or where the
/// fault is.
#[inline]
pub(crate) fn walk(
    runs: &[Run],
    frame: Frame<'_>,
    at: &mut u64,
    bases: &mut [u64],
) -> Result<(), Fault> {
    for run in runs {
        let mask = u64::from(run.align) - 1;
        let start = (*at + mask) & !mask;
        let next = start + run.bits;
        if next > frame.end {
            return Err(Fault::Truncated);
        }
        if let Some(base) = bases.get_mut(run.base as usize) {
            *base = start;
        }
        *at = next;
        match &run.then {
            Then::Nothing => {}
            Then::Text => skip_text(frame, at)?,
            then => follow(then, frame, at, bases)?,
        }
    }
    Ok(())
}

fn skip_text(frame: Frame<'_>, at: &mut u64) -> Result<(), Fault> {
    let end = usize::try_from(frame.end / 8).map_err(|_| Fault::Truncated)?;
    let start = usize::try_from(*at / 8).map_err(|_| Fault::Truncated)?;
    let length = frame
        .data
        .get(start..end)
        .and_then(|rest| memchr(0, rest))
        .ok_or(Fault::Truncated)?;
    *at += (length as u64 + 1) * 8;
    Ok(())
}

fn follow(then: &Then, frame: Frame<'_>, at: &mut u64, bases: &mut [u64]) -> Result<(), Fault> {
    match then {
        Then::Nothing | Then::Text => Ok(()),
        Then::Variable => {
            let end = usize::try_from(frame.end / 8).map_err(|_| Fault::Truncated)?;
            let start = usize::try_from(*at / 8).map_err(|_| Fault::Truncated)?;
            let rest = frame.data.get(start..end).ok_or(Fault::Truncated)?;
            let last = rest.iter().position(|byte| byte & 0x80 == 0);
            *at += (last.ok_or(Fault::Truncated)? as u64 + 1) * 8;
            Ok(())
        }
        Then::Elements {
            length,
            stride,
            last,
        } => {
            let length = length.raw(frame.data, bases).ok_or(Fault::Truncated)?;
            let Some(before) = length.checked_sub(1) else {
                return Ok(());
            };
            let end = before
                .checked_mul(*stride)
                .and_then(|bits| bits.checked_add(*last)?.checked_add(*at))
                .filter(|end| *end <= frame.end)
                .ok_or(Fault::ArrayLength { length })?;
            *at = end;
            Ok(())
        }
        Then::Each { length, body } => {
            let length = match length {
                Length::Fixed(length) => *length,
                Length::At(length) => length.raw(frame.data, bases).ok_or(Fault::Truncated)?,
            };
            for _ in 0..length {
                let before = *at;
                walk(body, frame, at, bases)?;
                // Elements without size would make the loop as long as the data claims.
                if *at == before {
                    return Err(Fault::ArrayLength { length });
                }
            }
            Ok(())
        }
        Then::Variant {
            tag,
            ranges,
            options,
            bases: range,
        } => {
            if let Some(bases) = bases.get_mut(range.start as usize..range.end as usize) {
                bases.fill(UNSET);
            }
            let value = tag.value(frame.data, bases).ok_or(Fault::Truncated)?;
            let option = ranges
                .iter()
                .find(|(low, high, _)| (*low..=*high).contains(&value))
                .and_then(|(_, _, option)| options.get(*option))
                .ok_or(Fault::NoOption { value })?;
            walk(option, frame, at, bases)
        }
    }
}
