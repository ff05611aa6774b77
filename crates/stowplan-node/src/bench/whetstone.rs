//! Whetstone: floating-point operations, after H. J. Curnow and B. A. Wichmann, "A synthetic benchmark", The Computer
//! Journal 19 (1), 1976, in double precision.
//!
//! The modules, their weights and the constants are those of the paper. Module 10 has weight 0 there, as module 1 has.
//! One loop of weight 1 is 100,000 Whetstone instructions.

use std::hint::black_box;

use super::measure::for_about;
use super::{BenchArgs, Found, failed};
use crate::error::NodeError;

const T: f64 = 0.499_975;
const T1: f64 = 0.500_25;
const T2: f64 = 2.0;

/// Millions of Whetstone instructions in one loop.
const MWI: f64 = 0.1;

/// Loops of the run that is checked.
const CHECKED: u64 = 10;

/// What every module leaves: three counters and four numbers, as the original prints them.
type Left = ([i64; 3], [f64; 4]);

/// What the original prints of a run of ten loops, to five digits.
const EXPECTED: [Left; 8] = [
    ([120, 140, 120], [-0.068_342, -0.462_64, -0.729_72, -1.1240]),
    ([140, 120, 120], [-0.055_336, -0.447_44, -0.710_97, -1.1031]),
    ([3450, 1, 1], [1.0, -1.0, -1.0, -1.0]),
    ([2100, 1, 2], [6.0, 6.0, -0.710_97, -1.1031]),
    ([320, 1, 2], [0.490_41, 0.490_41, 0.490_39, 0.490_39]),
    ([8990, 1, 2], [1.0, 1.0, 0.999_94, 0.999_94]),
    ([6160, 1, 2], [3.0, 2.0, 3.0, -1.1031]),
    ([930, 2, 3], [0.834_67, 0.834_67, 0.834_67, 0.834_67]),
];

pub(super) fn run(args: &BenchArgs) -> Result<Found, NodeError> {
    check(&whetstone(CHECKED))?;
    let timed = for_about(args.time, |loops| {
        black_box(whetstone(black_box(loops)));
    });
    Ok(Found::of(vec![timed.rate("whetstone", "MWIPS", MWI)])
        .with("precision", "double")
        .with("self-check", "as the original prints after 10 loops"))
}

/// Compares with what the original prints, in its digits.
fn check(left: &[Left; 8]) -> Result<(), NodeError> {
    for (module, (own, expected)) in left.iter().zip(&EXPECTED).enumerate() {
        let near = |(a, b): (&f64, &f64)| (a - b).abs() <= 6e-5 * b.abs();
        if own.0 != expected.0 || !own.1.iter().zip(&expected.1).all(near) {
            let what = format!("check {module} gave {own:?} instead of {expected:?}");
            return Err(failed("whetstone", what));
        }
    }
    Ok(())
}

/// So many loops; what each module leaves.
#[inline(never)]
fn whetstone(loops: u64) -> [Left; 8] {
    let weight = |weight: u64| (weight * loops).cast_signed();
    let [n2, n3, n4] = [12, 14, 345].map(weight);
    let [n6, n7, n8, n9, n11] = [210, 32, 899, 616, 93].map(weight);
    let mut e1 = [1.0, -1.0, -1.0, -1.0];
    array_elements(&mut e1, n2);
    let after_2 = ([n2, n3, n2], e1);
    for _ in 0..n3 {
        array_as_parameter(&mut e1);
    }
    let after_3 = ([n3, n2, n2], e1);
    let j = conditional_jumps(n4);
    let after_4 = ([n4, j, j], [1.0, -1.0, -1.0, -1.0]);
    let [j, k, _] = integers(&mut e1, n6);
    let after_6 = ([n6, j, k], e1);
    let (x, y) = trigonometry(n7);
    let after_7 = ([n7, j, k], [x, x, y, y]);
    let (x, y, z) = procedure_calls(n8);
    let after_8 = ([n8, j, k], [x, y, z, z]);
    array_references(&mut e1, n9);
    let after_9 = ([n9, j, k], e1);
    let x = standard_functions(n11);
    let after_11 = ([n11, 2, 3], [x, x, x, x]);
    [
        after_2, after_3, after_4, after_6, after_7, after_8, after_9, after_11,
    ]
}

/// Module 2.
#[inline(never)]
fn array_elements(e: &mut [f64; 4], n: i64) {
    for _ in 0..n {
        e[0] = (e[0] + e[1] + e[2] - e[3]) * T;
        e[1] = (e[0] + e[1] - e[2] + e[3]) * T;
        e[2] = (e[0] - e[1] + e[2] + e[3]) * T;
        e[3] = (-e[0] + e[1] + e[2] + e[3]) * T;
        black_box(&mut *e);
    }
}

/// Procedure PA of module 3.
#[inline(never)]
fn array_as_parameter(e: &mut [f64; 4]) {
    for _ in 0..6 {
        e[0] = (e[0] + e[1] + e[2] - e[3]) * T;
        e[1] = (e[0] + e[1] - e[2] + e[3]) * T;
        e[2] = (e[0] - e[1] + e[2] + e[3]) * T;
        e[3] = (-e[0] + e[1] + e[2] + e[3]) / T2;
        black_box(&mut *e);
    }
}

/// Module 4.
#[inline(never)]
fn conditional_jumps(n: i64) -> i64 {
    let mut j = 1;
    for _ in 0..n {
        j = if black_box(j) == 1 { 2 } else { 3 };
        j = if black_box(j) > 2 { 0 } else { 1 };
        j = i64::from(black_box(j) < 1);
    }
    j
}

/// Module 6.
#[inline(never)]
fn integers(e: &mut [f64; 4], n: i64) -> [i64; 3] {
    let [mut j, mut k, mut l] = black_box([1_i64, 2, 3]);
    for _ in 0..n {
        j = j * (k - j) * (l - k);
        k = l * k - (l - j) * k;
        l = (l - k) * (k + j);
        e[usize::try_from(l - 2).unwrap_or(0)] = (j + k + l) as f64;
        e[usize::try_from(k - 2).unwrap_or(0)] = (j * k * l) as f64;
        [j, k, l] = black_box([j, k, l]);
    }
    [j, k, l]
}

/// Module 7.
#[inline(never)]
fn trigonometry(n: i64) -> (f64, f64) {
    let (mut x, mut y) = (0.5_f64, 0.5_f64);
    for _ in 0..n {
        x = T * (T2 * x.sin() * x.cos() / ((x + y).cos() + (x - y).cos() - 1.0)).atan();
        y = T * (T2 * y.sin() * y.cos() / ((x + y).cos() + (x - y).cos() - 1.0)).atan();
    }
    (x, y)
}

/// Module 8.
#[inline(never)]
fn procedure_calls(n: i64) -> (f64, f64, f64) {
    let (x, y, mut z) = (1.0, 1.0, 1.0);
    for _ in 0..n {
        procedure_3(black_box(x), black_box(y), &mut z);
    }
    (x, y, z)
}

/// Procedure P3.
#[inline(never)]
fn procedure_3(x: f64, y: f64, z: &mut f64) {
    let x1 = T * (x + y);
    let y1 = T * (x1 + y);
    *z = (x1 + y1) / T2;
}

/// Module 9.
#[inline(never)]
fn array_references(e: &mut [f64; 4], n: i64) {
    e[..3].copy_from_slice(&[1.0, 2.0, 3.0]);
    for _ in 0..n {
        procedure_0(e, black_box([0, 1, 2]));
    }
}

/// Procedure P0, whose indices are global in the original.
#[inline(never)]
fn procedure_0(e: &mut [f64; 4], [j, k, l]: [usize; 3]) {
    e[j] = e[k];
    e[k] = e[l];
    e[l] = e[j];
    black_box(e);
}

/// Module 11.
#[inline(never)]
fn standard_functions(n: i64) -> f64 {
    let mut x = 0.75_f64;
    for _ in 0..n {
        x = (x.ln() / T1).exp().sqrt();
    }
    x
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ten_loops_leave_what_the_original_prints() {
        check(&whetstone(CHECKED)).unwrap();
    }

    #[test]
    fn a_wrong_answer_is_no_figure() {
        let mut left = whetstone(CHECKED);
        left[4].1[0] += 0.001;
        let error = check(&left).unwrap_err().to_string();
        assert!(error.contains("check 4"), "{error}");
    }
}
