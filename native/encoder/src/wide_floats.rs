//! Attention weights, attention and GELU on processors with AVX-512: 16 floats at once instead of 8. Each output is
//! computed by the same operations in the same order as in `attention` and `floats`, so results are the same to the
//! last bit.

use std::arch::x86_64::*;

use crate::floats::{EXP_FACTORS, EXP_LEAST, EXP_ROUNDING, GELU_FACTORS, GELU_REACH, maximum, total};

/// Number of floats of a vector register.
pub const WIDE_LANES: usize = 16;
/// Number of rows that are computed together. With two tiles, their sums take 16 of 32 vector registers.
pub const WIDE_ROWS: usize = 8;

/// Multiplies `N` rows by two tiles of columns, `[row length, WIDE_LANES]` each. The result has two vectors per row.
#[inline]
#[target_feature(enable = "avx512f,avx512dq")]
pub fn two_tiles<const N: usize>(rows: [&[f32]; N], tiles: [&[[f32; WIDE_LANES]]; 2]) -> [[__m512; 2]; N] {
    let length = tiles[0].len();
    let rows = rows.map(|row| &row[..length]);
    let second = &tiles[1][..length];
    let mut sums = [[_mm512_setzero_ps(); 2]; N];
    for (at, first) in tiles[0].iter().enumerate() {
        // SAFETY: a tile's row has 16 floats; all rows and tiles were cut to the same length.
        let columns = unsafe { [_mm512_loadu_ps(first.as_ptr()), _mm512_loadu_ps(second.get_unchecked(at).as_ptr())] };
        for (sums, row) in sums.iter_mut().zip(rows) {
            // SAFETY: as above.
            let factor = _mm512_set1_ps(unsafe { *row.get_unchecked(at) });
            sums[0] = _mm512_fmadd_ps(factor, columns[0], sums[0]);
            sums[1] = _mm512_fmadd_ps(factor, columns[1], sums[1]);
        }
    }
    sums
}

/// Replaces the first `count` values of a row by `e^(value - maximum)`, and the rest by zeros. The length of the row is
/// a multiple of `WIDE_LANES`. Returns the sum of the row.
#[inline]
#[target_feature(enable = "avx512f,avx512dq")]
pub fn exponentiate(row: &mut [f32], count: usize) -> f32 {
    row[count..].fill(f32::NEG_INFINITY);
    let mut largest = _mm512_set1_ps(f32::NEG_INFINITY);
    for at in (0..row.len()).step_by(WIDE_LANES) {
        largest = _mm512_max_ps(largest, load(&row[at..]));
    }
    let largest = _mm512_set1_ps(maximum(larger_halves(largest)));
    let mut sums = _mm256_setzero_ps();
    for at in (0..row.len()).step_by(WIDE_LANES) {
        let weights = exp_of_negative(_mm512_sub_ps(load(&row[at..]), largest));
        sums = _mm256_add_ps(sums, _mm512_castps512_ps256(weights));
        sums = _mm256_add_ps(sums, _mm512_extractf32x8_ps::<1>(weights));
        store(&mut row[at..], weights);
    }
    row[count..].fill(0.0);
    total(sums)
}

/// Applies GELU to a row in place. Returns eight maxima: lane `i` is the largest of 0 and the results at `i`, `i + 8`,
/// `i + 16` and so on.
#[target_feature(enable = "avx512f,avx512dq")]
pub fn apply_gelu(row: &mut [f32]) -> __m256 {
    let mut largest = _mm512_setzero_ps();
    for at in (0..row.len()).step_by(WIDE_LANES) {
        let value = gelu(load(&row[at..]));
        largest = _mm512_max_ps(largest, value);
        store(&mut row[at..], value);
    }
    larger_halves(largest)
}

#[inline]
#[target_feature(enable = "avx512f,avx512dq")]
fn larger_halves(lanes: __m512) -> __m256 {
    _mm256_max_ps(_mm512_castps512_ps256(lanes), _mm512_extractf32x8_ps::<1>(lanes))
}

#[inline]
#[target_feature(enable = "avx512f,avx512dq")]
fn gelu(x: __m512) -> __m512 {
    let x = _mm512_max_ps(_mm512_set1_ps(-GELU_REACH), x);
    let near = _mm512_min_ps(_mm512_set1_ps(GELU_REACH), x);
    let odd = polynomial(_mm512_mul_ps(near, near), &GELU_FACTORS);
    let share = _mm512_fmadd_ps(odd, near, _mm512_set1_ps(0.5));
    let share = _mm512_max_ps(_mm512_setzero_ps(), _mm512_min_ps(_mm512_set1_ps(1.0), share));
    _mm512_mul_ps(share, x)
}

#[inline]
#[target_feature(enable = "avx512f,avx512dq")]
fn exp_of_negative(x: __m512) -> __m512 {
    let x = _mm512_max_ps(_mm512_set1_ps(EXP_LEAST), x);
    let rounding = _mm512_set1_ps(EXP_ROUNDING);
    let shifted = _mm512_fmadd_ps(x, _mm512_set1_ps(std::f32::consts::LOG2_E), rounding);
    let power = _mm512_sub_ps(shifted, rounding);
    let rest = _mm512_fnmadd_ps(power, _mm512_set1_ps(std::f32::consts::LN_2), x);
    let exponent = _mm512_slli_epi32::<23>(_mm512_castps_si512(shifted));
    _mm512_castsi512_ps(_mm512_add_epi32(_mm512_castps_si512(polynomial(rest, &EXP_FACTORS)), exponent))
}

#[inline]
#[target_feature(enable = "avx512f,avx512dq")]
fn polynomial<const N: usize>(x: __m512, factors: &[f32; N]) -> __m512 {
    let mut sum = _mm512_set1_ps(factors[0]);
    for factor in &factors[1..] {
        sum = _mm512_fmadd_ps(sum, x, _mm512_set1_ps(*factor));
    }
    sum
}

#[inline]
#[target_feature(enable = "avx512f,avx512dq")]
fn load(from: &[f32]) -> __m512 {
    let from = &from[..WIDE_LANES];
    // SAFETY: 16 floats are readable.
    unsafe { _mm512_loadu_ps(from.as_ptr()) }
}

#[inline]
#[target_feature(enable = "avx512f,avx512dq")]
pub fn store(to: &mut [f32], lanes: __m512) {
    let to = &mut to[..WIDE_LANES];
    // SAFETY: 16 floats are writable.
    unsafe { _mm512_storeu_ps(to.as_mut_ptr(), lanes) }
}
