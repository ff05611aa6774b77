//! The main program and procedures 1 to 5.

use std::hint::black_box;

use super::pack_2::{func_1, func_2, proc_6, proc_7, proc_8};
use super::{FIRST, Globals, Ident, Locals, Record, SECOND, SOME, THIRD};

/// What everything is before the loop.
pub(super) fn globals() -> Globals {
    let record = Record {
        next: 0,
        discr: Ident::One,
        enumeration: Ident::Three,
        integer: 40,
        text: SOME,
    };
    let mut array_2 = [[0; 50]; 50];
    array_2[8][7] = 10;
    Globals {
        records: [record, record],
        ptr: 1,
        integer: 0,
        boolean: false,
        ch_1: 0,
        ch_2: 0,
        array_1: [0; 50],
        array_2,
    }
}

/// The loop, so many times.
#[inline(never)]
pub(super) fn main(globals: &mut Globals, runs: i32) -> Locals {
    let text_1 = black_box(FIRST);
    let mut text_2 = SECOND;
    let [mut int_1, mut int_2, mut int_3] = [0; 3];
    let mut enumeration = Ident::Two;
    for run in 1..=runs {
        proc_5(globals);
        proc_4(globals);
        int_1 = 2;
        int_2 = 3;
        text_2 = *black_box(&SECOND);
        enumeration = Ident::Two;
        globals.boolean = !func_2(globals, &text_1, &text_2);
        while int_1 < int_2 {
            int_3 = 5 * int_1 - int_2;
            proc_7(int_1, int_2, &mut int_3);
            int_1 += 1;
        }
        proc_8(globals, int_1, int_3);
        proc_1(globals, globals.ptr);
        let mut ch = b'A';
        while ch <= globals.ch_2 {
            if enumeration == func_1(globals, ch, b'C') {
                proc_6(globals, Ident::One, &mut enumeration);
                text_2 = *black_box(&THIRD);
                int_2 = run;
                globals.integer = run;
            }
            ch += 1;
        }
        int_2 *= int_1;
        int_1 = int_2 / int_3;
        int_2 = 7 * (int_2 - int_3) - int_1;
        proc_2(globals, &mut int_1);
        black_box(&mut *globals);
    }
    Locals {
        integers: [int_1, int_2, int_3],
        enumeration,
        texts: [text_1, text_2],
    }
}

#[inline(never)]
fn proc_1(globals: &mut Globals, own: usize) {
    let next = globals.records[own].next;
    globals.records[next] = globals.records[globals.ptr];
    globals.records[own].integer = 5;
    globals.records[next].integer = globals.records[own].integer;
    globals.records[next].next = globals.records[own].next;
    let mut pointer = globals.records[next].next;
    proc_3(globals, &mut pointer);
    globals.records[next].next = pointer;
    if globals.records[next].discr == Ident::One {
        globals.records[next].integer = 6;
        let mut enumeration = globals.records[next].enumeration;
        proc_6(globals, globals.records[own].enumeration, &mut enumeration);
        globals.records[next].enumeration = enumeration;
        globals.records[next].next = globals.records[globals.ptr].next;
        let integer = globals.records[next].integer;
        proc_7(integer, 10, &mut globals.records[next].integer);
    } else {
        globals.records[own] = globals.records[globals.records[own].next];
    }
}

#[inline(never)]
fn proc_2(globals: &Globals, integer: &mut i32) {
    let mut local = *integer + 10;
    loop {
        if globals.ch_1 == b'A' {
            local -= 1;
            *integer = local - globals.integer;
            break;
        }
    }
}

#[inline(never)]
fn proc_3(globals: &mut Globals, pointer: &mut usize) {
    // The original asks whether there is a record at all.
    if globals.ptr < globals.records.len() {
        *pointer = globals.records[globals.ptr].next;
    }
    proc_7(
        10,
        globals.integer,
        &mut globals.records[globals.ptr].integer,
    );
}

#[inline(never)]
fn proc_4(globals: &mut Globals) {
    let local = globals.ch_1 == b'A';
    globals.boolean |= local;
    globals.ch_2 = b'B';
}

#[inline(never)]
fn proc_5(globals: &mut Globals) {
    globals.ch_1 = b'A';
    globals.boolean = false;
}
