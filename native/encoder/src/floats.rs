//! Vectors of eight floats with AVX2: loads and stores, sums, GELU, `e^x`. `wide_floats` has vectors of 16.

use std::arch::x86_64::*;

/// Number of floats of a vector.
pub const LANES: usize = 8;

/// Bound of `x` for the polynomial of GELU.
pub const GELU_REACH: f32 = 4.25;
/// Factors of the polynomial of GELU.
pub const GELU_FACTORS: [f32; 9] = [
    4.568_356e-11,
    -4.533_049e-9,
    1.992_350_3e-7,
    -5.159_225_7e-6,
    8.861_914e-5,
    -1.079_932_8e-3,
    9.721_966e-3,
    -6.619_626e-2,
    3.988_233_5e-1,
];

/// Computes GELU, `x Φ(x)`, with an error below 6e-5 + 1e-5 |x|, which is a fortieth of the smallest quantisation step.
/// For `|x| <= GELU_REACH`, `Φ - 1/2` is approximated by an odd polynomial. Its factors were fitted so that the error
/// of the product `x Φ(x)` is small.
#[inline]
#[target_feature(enable = "avx2,fma")]
pub fn gelu(x: __m256) -> __m256 {
    // If one operand is NaN, the instruction returns the second operand. With `x` in this place, NaN is not lost.
    let x = _mm256_max_ps(_mm256_set1_ps(-GELU_REACH), x);
    let near = _mm256_min_ps(_mm256_set1_ps(GELU_REACH), x);
    let square = _mm256_mul_ps(near, near);
    let odd = polynomial(square, &GELU_FACTORS);
    let share = _mm256_fmadd_ps(odd, near, _mm256_set1_ps(0.5));
    let share = _mm256_max_ps(_mm256_setzero_ps(), _mm256_min_ps(_mm256_set1_ps(1.0), share));
    _mm256_mul_ps(share, x)
}

/// Least `x` for which `e^x` is a normal 32-bit float. Smaller values are raised to it.
pub const EXP_LEAST: f32 = -86.0;
/// If this number is added to a small number, the lowest bits of the sum are the nearest integer.
pub const EXP_ROUNDING: f32 = 12_582_912.0;
/// Factors of a polynomial for `e^x` within ±ln 2 / 2, fitted to the smallest relative error.
pub const EXP_FACTORS: [f32; 5] = [0.041_454_38, 0.167_934_06, 0.500_045_4, 0.999_961_9, 0.999_999_2];

/// Computes `e^x` for `x <= 0` with a relative error of 6e-6; the result is never below 1e-38. It is a power of two
/// times a polynomial of the rest, which is within ±ln 2 / 2.
#[inline]
#[target_feature(enable = "avx2,fma")]
pub fn exp_of_negative(x: __m256) -> __m256 {
    let x = _mm256_max_ps(_mm256_set1_ps(EXP_LEAST), x);
    let rounding = _mm256_set1_ps(EXP_ROUNDING);
    let shifted = _mm256_fmadd_ps(x, _mm256_set1_ps(std::f32::consts::LOG2_E), rounding);
    let power = _mm256_sub_ps(shifted, rounding);
    let rest = _mm256_fnmadd_ps(power, _mm256_set1_ps(std::f32::consts::LN_2), x);
    let exponent = _mm256_slli_epi32::<23>(_mm256_castps_si256(shifted));
    _mm256_castsi256_ps(_mm256_add_epi32(_mm256_castps_si256(polynomial(rest, &EXP_FACTORS)), exponent))
}

/// Computes a polynomial. `factors` begins with the factor of the highest power.
#[inline]
#[target_feature(enable = "avx2,fma")]
fn polynomial<const N: usize>(x: __m256, factors: &[f32; N]) -> __m256 {
    let mut sum = _mm256_set1_ps(factors[0]);
    for factor in &factors[1..] {
        sum = _mm256_fmadd_ps(sum, x, _mm256_set1_ps(*factor));
    }
    sum
}

#[inline]
#[target_feature(enable = "avx2,fma")]
pub fn maximum(lanes: __m256) -> f32 {
    floats(lanes).into_iter().fold(f32::NEG_INFINITY, f32::max)
}

#[inline]
#[target_feature(enable = "avx2,fma")]
pub fn total(lanes: __m256) -> f32 {
    floats(lanes).into_iter().sum()
}

#[inline]
#[target_feature(enable = "avx2,fma")]
fn floats(lanes: __m256) -> [f32; LANES] {
    let mut floats = [0f32; LANES];
    store(&mut floats, lanes);
    floats
}

#[inline]
#[target_feature(enable = "avx2,fma")]
pub fn load(from: &[f32]) -> __m256 {
    let from = &from[..LANES];
    // SAFETY: eight floats are readable.
    unsafe { _mm256_loadu_ps(from.as_ptr()) }
}

#[inline]
#[target_feature(enable = "avx2,fma")]
pub fn store(to: &mut [f32], lanes: __m256) {
    let to = &mut to[..LANES];
    // SAFETY: eight floats are writable.
    unsafe { _mm256_storeu_ps(to.as_mut_ptr(), lanes) }
}
