//! Dhrystone 2.1, after R. P. Weicker, "Dhrystone benchmark: rationale for version 2 and measurement rules", SIGPLAN
//! Notices 23 (8), 1988.
//!
//! By its rules: the two packages are apart, and no procedure is inlined into another. Every run checks the values that the
//! original prints at its end. What differs from the C original: variables that are global there are one structure here, and
//! pointers to the two records are their numbers.

mod pack_1;
mod pack_2;

use std::hint::black_box;

use super::measure::for_about;
use super::{BenchArgs, Found, failed};
use crate::error::NodeError;

/// Dhrystones in a second of the VAX 11/780, which is a machine of one MIPS by convention.
const VAX: f64 = 1757.0;

/// Room for a text of 30 characters and its end.
type Text = [u8; 31];

const SOME: Text = *b"DHRYSTONE PROGRAM, SOME STRING\0";
const FIRST: Text = *b"DHRYSTONE PROGRAM, 1'ST STRING\0";
const SECOND: Text = *b"DHRYSTONE PROGRAM, 2'ND STRING\0";
const THIRD: Text = *b"DHRYSTONE PROGRAM, 3'RD STRING\0";

/// `Enumeration`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ident {
    One,
    Two,
    Three,
    Four,
    #[cfg_attr(
        not(test),
        expect(dead_code, reason = "the original has it and never makes one")
    )]
    Five,
}

/// `Rec_Type`, of which only the first variant is ever used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Record {
    /// `Ptr_Comp`: number of a record.
    next: usize,
    discr: Ident,
    enumeration: Ident,
    integer: i32,
    text: Text,
}

/// What is global in the original.
#[derive(Debug, Clone)]
struct Globals {
    records: [Record; 2],
    /// `Ptr_Glob`.
    ptr: usize,
    integer: i32,
    boolean: bool,
    ch_1: u8,
    ch_2: u8,
    array_1: [i32; 50],
    array_2: [[i32; 50]; 50],
}

/// What is left at the end beside the globals.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Locals {
    integers: [i32; 3],
    enumeration: Ident,
    texts: [Text; 2],
}

pub(super) fn run(args: &BenchArgs) -> Result<Found, NodeError> {
    let mut globals = Box::new(pack_1::globals());
    let mut wrong = None;
    let timed = for_about(args.time, |runs| {
        *globals = pack_1::globals();
        let runs = i32::try_from(runs).unwrap_or(i32::MAX);
        let locals = pack_1::main(black_box(&mut globals), black_box(runs));
        wrong = wrong.take().or_else(|| check(&globals, &locals, runs));
    });
    if let Some(what) = wrong {
        return Err(failed("dhrystone", what));
    }
    let dmips = timed.rate("dhrystone", "DMIPS", 1.0 / VAX);
    Ok(Found::of(vec![dmips])
        .with("version", "2.1")
        .with("inlined", "no procedure")
        .with("self-check", "the values at the end of every run"))
}

/// The first value that is not as the original says it should be.
fn check(globals: &Globals, locals: &Locals, runs: i32) -> Option<String> {
    let (own, next) = (&globals.records[1], &globals.records[0]);
    let values = [
        ("Int_Glob", globals.integer, 5),
        ("Bool_Glob", i32::from(globals.boolean), 1),
        ("Ch_1_Glob", i32::from(globals.ch_1), i32::from(b'A')),
        ("Ch_2_Glob", i32::from(globals.ch_2), i32::from(b'B')),
        ("Arr_1_Glob[8]", globals.array_1[8], 7),
        (
            "Arr_2_Glob[8][7]",
            globals.array_2[8][7],
            runs.wrapping_add(10),
        ),
        ("Ptr_Glob->Discr", own.discr as i32, 0),
        ("Ptr_Glob->Enum_Comp", own.enumeration as i32, 2),
        ("Ptr_Glob->Int_Comp", own.integer, 17),
        ("Ptr_Glob->Str_Comp", i32::from(own.text == SOME), 1),
        ("Next_Ptr_Glob->Discr", next.discr as i32, 0),
        ("Next_Ptr_Glob->Enum_Comp", next.enumeration as i32, 1),
        ("Next_Ptr_Glob->Int_Comp", next.integer, 18),
        ("Next_Ptr_Glob->Str_Comp", i32::from(next.text == SOME), 1),
        ("Int_1_Loc", locals.integers[0], 5),
        ("Int_2_Loc", locals.integers[1], 13),
        ("Int_3_Loc", locals.integers[2], 7),
        ("Enum_Loc", locals.enumeration as i32, 1),
        ("Str_1_Loc", i32::from(locals.texts[0] == FIRST), 1),
        ("Str_2_Loc", i32::from(locals.texts[1] == SECOND), 1),
    ];
    let mut wrong = values.iter().filter(|(_, own, expected)| own != expected);
    wrong
        .next()
        .map(|(name, own, expected)| format!("{name} is {own} and should be {expected}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_is_as_the_original_says_it_should_be() {
        for runs in [1, 2, 1000] {
            let mut globals = pack_1::globals();
            let locals = pack_1::main(&mut globals, runs);
            assert_eq!(check(&globals, &locals, runs), None, "{runs} runs");
        }
    }

    #[test]
    fn a_run_too_few_is_noticed() {
        let mut globals = pack_1::globals();
        let locals = pack_1::main(&mut globals, 9);
        let wrong = check(&globals, &locals, 10).unwrap();
        assert_eq!(wrong, "Arr_2_Glob[8][7] is 19 and should be 20");
    }

    #[test]
    fn what_no_run_reaches_does_as_the_original() {
        let mut globals = pack_1::globals();
        let mut enumeration = Ident::One;
        for (value, integer, expected) in [
            (Ident::Two, 101, Ident::One),
            (Ident::Two, 100, Ident::Four),
            (Ident::Four, 0, Ident::Four),
            (Ident::Five, 0, Ident::Three),
        ] {
            globals.integer = integer;
            pack_2::proc_6(&globals, value, &mut enumeration);
            assert_eq!(enumeration, expected, "{value:?}");
        }
        assert!(pack_2::func_2(&mut globals, &SECOND, &FIRST));
        assert_eq!(globals.integer, 10);
    }
}
