//! Event headers: the number of the event's class and when it was.

use super::clock::update;
use crate::error::Fault;
use crate::plan::{Frame, IntAt, Run, StreamPlan, Then, UNSET, walk};

/// How the event headers of a stream are read.
#[derive(Debug)]
pub(super) struct Header<'t> {
    plan: &'t StreamPlan,
    quick: Option<Quick<'t>>,
}

impl<'t> Header<'t> {
    pub fn new(plan: &'t StreamPlan) -> Self {
        Self {
            plan,
            quick: Quick::new(plan),
        }
    }

    /// Reads a header at `at` and goes behind it, notes its bases and sets the clock; the number of the class.
    #[inline]
    pub fn read(
        &self,
        frame: Frame<'_>,
        at: &mut u64,
        bases: &mut [u64],
        clock: &mut u64,
    ) -> Result<u64, Fault> {
        let quick = self.quick.as_ref();
        if let Some(id) = quick.and_then(|quick| quick.read(frame, at, bases, clock)) {
            return Ok(id);
        }
        walk(&self.plan.header, frame, at, bases)?;
        let mut id = 0;
        for field in &self.plan.ids {
            id = field.raw(frame.data, bases).unwrap_or(id);
        }
        for field in &self.plan.times {
            if let Some(value) = field.raw(frame.data, bases) {
                *clock = update(*clock, *field, value);
            }
        }
        Ok(id)
    }
}

/// A header as LTTng writes it, read in one step: fields at fixed places, of which one is the number of the class and
/// chooses between few sets of further fields, also at fixed places. Whatever else a header is, and whatever is wrong
/// with one, is left to [`walk`].
#[derive(Debug)]
struct Quick<'t> {
    first: &'t Run,
    tag: IntAt,
    options: Vec<Choice<'t>>,
    /// The short header, if one of the choices is one.
    short: Option<Short>,
}

/// A header of at most eight bytes, which are read at once.
#[derive(Debug)]
struct Short {
    tag: Bits,
    low: u64,
    high: u64,
    id: Bits,
    time: Bits,
    time_at: IntAt,
    /// From its front to the second run, and to its end, bits.
    begin: u64,
    end: u64,
    base: usize,
}

/// Some of the bits of a word.
#[derive(Debug, Clone, Copy)]
struct Bits {
    shift: u32,
    mask: u64,
}

impl Bits {
    /// A field so many bits after the front of the word; `None` if it is none of this word.
    fn new(field: IntAt, begin: u64) -> Option<Self> {
        let shift = begin + u64::from(field.offset);
        let bits = u32::from(field.int.bits);
        let fits = bits > 0 && shift + u64::from(bits) <= u64::BITS.into();
        (fits && !field.int.big_endian).then(|| Self {
            shift: shift as u32,
            mask: u64::MAX >> (u64::BITS - bits),
        })
    }

    #[inline]
    fn of(self, word: u64) -> u64 {
        (word >> self.shift) & self.mask
    }
}

impl Short {
    fn new(first: &Run, tag: IntAt, choice: &Choice<'_>) -> Option<Self> {
        let [time] = *choice.times else { return None };
        // Its front is the begin of a byte, and what follows is as far from it everywhere.
        if !first.align.is_multiple_of(8) || first.align < choice.run.align {
            return None;
        }
        let begin = aligned(first.bits, choice.run.align);
        let at = |field: IntAt| Bits::new(field, if field.base == 0 { 0 } else { begin });
        Some(Self {
            tag: at(tag)?,
            low: choice.low,
            high: choice.high,
            id: at(choice.id)?,
            time: at(time)?,
            time_at: time,
            begin,
            end: begin + choice.run.bits,
            base: choice.run.base as usize,
        })
    }
}

/// What follows the first run where the tag lies between two numbers, both included.
#[derive(Debug)]
struct Choice<'t> {
    low: u64,
    high: u64,
    run: &'t Run,
    id: IntAt,
    times: Vec<IntAt>,
}

impl<'t> Quick<'t> {
    /// The header of a stream, if it is of this kind.
    fn new(plan: &'t StreamPlan) -> Option<Self> {
        let [first] = plan.header.as_slice() else {
            return None;
        };
        let Then::Variant {
            tag,
            ranges,
            options,
            ..
        } = &first.then
        else {
            return None;
        };
        // Every option is chosen by some tag: then none is left whose base would have to be taken back.
        let reached = (0..options.len()).all(|at| ranges.iter().any(|range| range.2 == at));
        let whole = first.base == 0 && tag.base == 0 && !tag.int.signed && reached;
        let choices = ranges.iter().map(|&(low, high, option)| {
            let [run] = options.get(option)?.as_slice() else {
                return None;
            };
            let here = |field: &&IntAt| field.base == 0 || field.base == run.base;
            Some(Choice {
                low: u64::try_from(low).ok()?,
                high: u64::try_from(high).ok()?,
                run: matches!(run.then, Then::Nothing).then_some(run)?,
                id: plan.ids.iter().rfind(here).copied()?,
                times: plan.times.iter().filter(here).copied().collect(),
            })
        });
        let options: Vec<Choice<'_>> = choices.collect::<Option<_>>().filter(|_| whole)?;
        let mut short = options
            .iter()
            .filter_map(|choice| Short::new(first, *tag, choice));
        Some(Self {
            first,
            tag: *tag,
            short: short.next(),
            options,
        })
    }

    /// As [`Header::read`]; `None` where something is wrong: then `at` and the clock are as before.
    #[inline]
    fn read(
        &self,
        frame: Frame<'_>,
        at: &mut u64,
        bases: &mut [u64],
        clock: &mut u64,
    ) -> Option<u64> {
        let start = aligned(*at, self.first.align);
        *bases.first_mut()? = start;
        let short = self.short.as_ref();
        if let Some(id) = short.and_then(|short| self.read_short(short, frame, at, bases, clock)) {
            return Some(id);
        }
        let tag = self.tag.raw(frame.data, bases)?;
        let mut options = self.options.iter();
        let option = options.find(|option| option.low <= tag && tag <= option.high)?;
        let begin = aligned(start + self.first.bits, option.run.align);
        let end = begin + option.run.bits;
        if end > frame.end {
            return None;
        }
        for other in &self.options {
            *bases.get_mut(other.run.base as usize)? = UNSET;
        }
        *bases.get_mut(option.run.base as usize)? = begin;
        let id = option.id.raw(frame.data, bases)?;
        let mut now = *clock;
        for time in &option.times {
            now = update(now, *time, time.raw(frame.data, bases)?);
        }
        *clock = now;
        *at = end;
        Some(id)
    }

    /// As [`Quick::read`]; `None` also where this header is not the short one, or it lies at the end of the packet. The base
    /// of the first run is noted.
    #[inline]
    fn read_short(
        &self,
        short: &Short,
        frame: Frame<'_>,
        at: &mut u64,
        bases: &mut [u64],
        clock: &mut u64,
    ) -> Option<u64> {
        let start = bases[0];
        let bytes = frame.data.get(usize::try_from(start / 8).ok()?..)?;
        let word = u64::from_le_bytes(*bytes.first_chunk()?);
        let tag = short.tag.of(word);
        let end = start + short.end;
        if tag < short.low || short.high < tag || frame.end < end {
            return None;
        }
        for other in &self.options {
            *bases.get_mut(other.run.base as usize)? = UNSET;
        }
        *bases.get_mut(short.base)? = start + short.begin;
        *clock = update(*clock, short.time_at, short.time.of(word));
        *at = end;
        Some(short.id.of(word))
    }
}

#[inline]
fn aligned(at: u64, align: u32) -> u64 {
    let mask = u64::from(align) - 1;
    (at + mask) & !mask
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::metadata::Metadata;

    /// The two headers of LTTng, with a tag of so many bits and a short time of so many.
    fn metadata(tag_bits: u32, time_bits: u32, align: u32, order: &str) -> Metadata {
        let (last, extended) = ((1_u32 << tag_bits) - 2, (1_u32 << tag_bits) - 1);
        let text = format!(
            "/* CTF 1.8 */
            trace {{ major = 1; minor = 8; byte_order = {order}; }};
            stream {{ event.header := struct {{
                enum : integer {{ size = {tag_bits}; align = {align}; }}
                    {{ compact = 0 ... {last}, extended = {extended} }} id;
                variant <id> {{
                    struct {{ integer {{ size = {time_bits}; align = {align}; }} timestamp; }} compact;
                    struct {{
                        integer {{ size = 32; align = 8; }} id;
                        integer {{ size = 64; align = 8; }} timestamp;
                    }} extended;
                }} v;
            }} align(8); }};
            event {{ name = e; id = 0; stream_id = 0; fields := struct {{ integer {{ size = 8; }} x; }}; }};"
        );
        Metadata::parse(text.as_bytes()).unwrap()
    }

    type Read = (Result<u64, Fault>, u64, u64, Vec<u64>);

    fn read(header: &Header<'_>, data: &[u8], end: u64, mut at: u64, mut clock: u64) -> Read {
        let mut bases = vec![7; header.plan.bases];
        let frame = Frame { data, end };
        let id = header.read(frame, &mut at, &mut bases, &mut clock);
        // Of what is behind the header nothing is known yet, and of one that is broken nothing at all.
        bases.truncate(if id.is_ok() { 3 } else { 0 });
        (id, at, clock, bases)
    }

    #[test]
    fn headers_of_lttng_are_read_in_one_step() {
        // 5 bits id = 3, 27 bits time; then id = 31, which another follows.
        let metadata = metadata(5, 27, 1, "le");
        let header = Header::new(&metadata.plan.streams[0]);
        let quick = header.quick.as_ref().unwrap();
        let mut data = (3 | (0x0123_4567_u32 << 5)).to_le_bytes().to_vec();
        data.extend([31, 9, 0, 0, 0, 1, 2, 0, 0, 0, 0, 0, 0]);
        let frame = Frame {
            data: &data,
            end: data.len() as u64 * 8,
        };
        let (mut at, mut clock, mut bases) = (0, 0, vec![0; 4]);
        assert_eq!(quick.read(frame, &mut at, &mut bases, &mut clock), Some(3));
        assert_eq!((at, clock, bases[0], bases[2]), (32, 0x0123_4567, 0, UNSET));
        assert_eq!(quick.read(frame, &mut at, &mut bases, &mut clock), Some(9));
        assert_eq!((at, clock, bases[0], bases[1]), (136, 0x201, 32, UNSET));
        assert_eq!(quick.read(frame, &mut at, &mut bases, &mut clock), None);
        assert_eq!((at, clock), (136, 0x201));
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn the_step_reads_what_a_walk_reads(
            large: bool,
            big_endian: bool,
            data in prop::collection::vec(prop_oneof![Just(0xff_u8), any::<u8>()], 0..40),
            cut in 0_u64..64,
            at in 0_u64..64,
            clock: u64,
        ) {
            let order = if big_endian { "be" } else { "le" };
            let metadata = if large {
                metadata(16, 32, 8, order)
            } else {
                metadata(5, 27, 1, order)
            };
            let quick = Header::new(&metadata.plan.streams[0]);
            let walked = Header { plan: quick.plan, quick: None };
            prop_assert!(quick.quick.is_some());
            let end = (data.len() as u64 * 8).saturating_sub(cut);
            prop_assert_eq!(read(&quick, &data, end, at, clock), read(&walked, &data, end, at, clock));
        }
    }
}
