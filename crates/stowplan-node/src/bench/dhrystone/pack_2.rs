//! Procedures 6 to 8 and the functions, which the original compiles apart.

use super::{Globals, Ident, Text};

#[inline(never)]
pub(super) fn proc_6(globals: &Globals, value: Ident, result: &mut Ident) {
    *result = value;
    if !func_3(value) {
        *result = Ident::Four;
    }
    match value {
        Ident::One => *result = Ident::One,
        Ident::Two if globals.integer > 100 => *result = Ident::One,
        Ident::Two => *result = Ident::Four,
        Ident::Three => *result = Ident::Two,
        Ident::Four => {}
        Ident::Five => *result = Ident::Three,
    }
}

#[inline(never)]
pub(super) fn proc_7(a: i32, b: i32, result: &mut i32) {
    let local = a + 2;
    *result = b + local;
}

#[inline(never)]
pub(super) fn proc_8(globals: &mut Globals, a: i32, b: i32) {
    let local = a + 5;
    let at = usize::try_from(local).unwrap_or(0);
    let (array_1, array_2) = (&mut globals.array_1, &mut globals.array_2);
    array_1[at] = b;
    array_1[at + 1] = array_1[at];
    array_1[at + 30] = local;
    for element in &mut array_2[at][at..=at + 1] {
        *element = local;
    }
    array_2[at][at - 1] = array_2[at][at - 1].wrapping_add(1);
    array_2[at + 20][at] = array_1[at];
    globals.integer = 5;
}

#[inline(never)]
pub(super) fn func_1(globals: &mut Globals, a: u8, b: u8) -> Ident {
    let local_1 = a;
    let local_2 = local_1;
    if local_2 == b {
        globals.ch_1 = local_1;
        Ident::Two
    } else {
        Ident::One
    }
}

#[inline(never)]
pub(super) fn func_2(globals: &mut Globals, a: &Text, b: &Text) -> bool {
    let mut integer = 2;
    let mut ch = 0;
    while integer <= 2 {
        let at = usize::try_from(integer).unwrap_or(0);
        if func_1(globals, a[at], b[at + 1]) == Ident::One {
            ch = b'A';
            integer += 1;
        }
    }
    if (b'W'..b'Z').contains(&ch) {
        integer = 7;
    }
    if ch == b'R' {
        return true;
    }
    let is_greater = a > b;
    if is_greater {
        integer += 7;
        globals.integer = integer;
    }
    is_greater
}

#[inline(never)]
fn func_3(value: Ident) -> bool {
    value == Ident::Three
}
