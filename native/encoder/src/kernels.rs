//! The inner loops of the encoder for processors with AVX2 and FMA: integer products, GELU, normalisation.
//! `network` combines them into layers.
//!
//! All tensors are stored row by row. Widths are multiples of `HEAD_WIDTH`; `network` checks that when it reads a
//! model.

use std::arch::x86_64::*;

use crate::byte_rows::ByteRows;
use crate::floats::{LANES, gelu, load, maximum, store, total};
use crate::instructions::has_vnni;
use crate::weights::{COLUMNS, GROUP_STEPS, GroupPanels, Linear, Panel, Panels, WIDE_COLUMNS};
use crate::{amx, vnni, wide_floats};

/// Computes a part of the outputs of a linear layer, for every row: those with numbers in `columns`, whose bounds are
/// multiples of 32. They are written to `output` (`[rows, stride]`), to the columns with the same numbers.
#[target_feature(enable = "avx2,fma")]
pub fn multiply(
    rows: &ByteRows<'_>,
    linear: &Linear,
    columns: std::ops::Range<usize>,
    output: &mut [f32],
    stride: usize,
) {
    assert!(rows.width == linear.inputs() && rows.bytes.len() == rows.scales.len() * rows.width, "rows fit the layer");
    assert!(columns.start.is_multiple_of(WIDE_COLUMNS) && columns.end.is_multiple_of(WIDE_COLUMNS), "whole panels");
    let wide_numbers = columns.start / WIDE_COLUMNS..columns.end / WIDE_COLUMNS;
    match linear.panels() {
        Panels::Groups(panels) => {
            multiply_groups(rows, panels, columns.start / COLUMNS..columns.end / COLUMNS, output, stride);
        }
        Panels::Steps(panels) => {
            for number in wide_numbers {
                // SAFETY: layers are packed like this only if the processor has the instructions.
                unsafe { vnni::multiply(rows, &panels.panel(number), output, stride, number * WIDE_COLUMNS) };
            }
        }
        Panels::Tiles(panels) => {
            // SAFETY: layers are packed like this only if the process may use tiles.
            unsafe { amx::multiply(rows, panels, wide_numbers, output, stride) };
        }
    }
}

#[target_feature(enable = "avx2,fma")]
fn multiply_groups(
    rows: &ByteRows<'_>,
    panels: GroupPanels<'_>,
    numbers: std::ops::Range<usize>,
    output: &mut [f32],
    stride: usize,
) {
    for number in numbers {
        let panel = panels.panel(number);
        let mut output = Columns { cells: output, stride, first: number * COLUMNS };
        let mut row = 0;
        while row < rows.scales.len() {
            // SAFETY: all steps of the layer are within its inputs, and a row has as many bytes as the layer has
            // inputs.
            row += unsafe {
                match rows.scales.len() - row {
                    8.. => multiply_8_rows(rows, row, &panel, &mut output),
                    4.. => multiply_4_rows(rows, row, &panel, &mut output),
                    _ => multiply_1_row(rows, row, &panel, &mut output),
                }
            };
        }
    }
}

/// The columns to which a panel's outputs are written.
struct Columns<'a> {
    cells: &'a mut [f32],
    stride: usize,
    first: usize,
}

/// Assembly that multiplies a row's inputs by the weights of a group and adds the products to the row's sum. Within the
/// group, products are added in 16 bits; the result is added to the sum in 32 bits. `$row` is the address offset of
/// this row from the first row.
macro_rules! add_products {
    ($sum:literal, $row:literal) => {
        concat!(
            "vpbroadcastd {a}, dword ptr [{p0}",
            $row,
            "]\n",
            "vpbroadcastd {b}, dword ptr [{p1}",
            $row,
            "]\n",
            "vpmaddubsw {a}, {a}, {w0}\n",
            "vpmaddubsw {b}, {b}, {w1}\n",
            "vpaddw {a}, {a}, {b}\n",
            "vpbroadcastd {b}, dword ptr [{p2}",
            $row,
            "]\n",
            "vpmaddubsw {b}, {b}, {w2}\n",
            "vpaddw {a}, {a}, {b}\n",
            "vpbroadcastd {b}, dword ptr [{p3}",
            $row,
            "]\n",
            "vpmaddubsw {b}, {b}, {w3}\n",
            "vpaddw {a}, {a}, {b}\n",
            "vpmaddwd {a}, {a}, {ones}\n",
            "vpaddd {",
            $sum,
            "}, {",
            $sum,
            "}, {a}",
        )
    };
}

/// Defines a function that multiplies `$count` rows by the weights of a group and adds the products to the rows' sums.
/// The rows are `stride` bytes apart. The function is written in assembly, because the compiler would load the inputs
/// of many rows in advance and for that move half of its registers to memory.
macro_rules! define_add_group {
    ($name:ident, $count:literal, [$(($sum:ident $text:literal $at:literal $row:literal)),+], [$(($offset:ident $times:literal)),*]) => {
        /// # Safety
        /// Four bytes must be readable at each offset of each row.
        #[inline]
        #[target_feature(enable = "avx2,fma")]
        unsafe fn $name(
            sums: &mut [__m256i; $count],
            first: *const u8,
            stride: usize,
            offsets: &[u32; GROUP_STEPS],
            weights: &[__m256i; GROUP_STEPS],
            ones: __m256i,
        ) {
            debug_assert!(offsets.iter().all(|offset| (*offset as usize) < stride), "steps lie within a row");
            // SAFETY: the code reads only bytes that the caller guarantees to be readable, and writes only registers.
            unsafe {
                std::arch::asm!(
                    $(add_products!($text, $row),)+
                    $($sum = inout(ymm_reg) sums[$at],)+
                    $($offset = in(reg) stride * $times,)*
                    p0 = in(reg) first.add(offsets[0] as usize),
                    p1 = in(reg) first.add(offsets[1] as usize),
                    p2 = in(reg) first.add(offsets[2] as usize),
                    p3 = in(reg) first.add(offsets[3] as usize),
                    w0 = in(ymm_reg) weights[0],
                    w1 = in(ymm_reg) weights[1],
                    w2 = in(ymm_reg) weights[2],
                    w3 = in(ymm_reg) weights[3],
                    ones = in(ymm_reg) ones,
                    a = out(ymm_reg) _,
                    b = out(ymm_reg) _,
                    options(pure, readonly, nostack, preserves_flags),
                );
            }
        }
    };
}

define_add_group!(
    add_group_to_8,
    8,
    [
        (s0 "s0" 0 ""), (s1 "s1" 1 " + {r1}"), (s2 "s2" 2 " + 2 * {r1}"), (s3 "s3" 3 " + {r3}"),
        (s4 "s4" 4 " + 4 * {r1}"), (s5 "s5" 5 " + {r5}"), (s6 "s6" 6 " + 2 * {r3}"), (s7 "s7" 7 " + {r7}")
    ],
    [(r1 1), (r3 3), (r5 5), (r7 7)]
);
define_add_group!(
    add_group_to_4,
    4,
    [(s0 "s0" 0 ""), (s1 "s1" 1 " + {r1}"), (s2 "s2" 2 " + 2 * {r1}"), (s3 "s3" 3 " + {r3}")],
    [(r1 1), (r3 3)]
);
define_add_group!(add_group_to_1, 1, [(s0 "s0" 0 "")], []);

/// Defines a function that computes a panel's outputs for `$count` rows, beginning at `row`. It returns `$count`.
macro_rules! define_multiply_rows {
    ($name:ident, $count:literal, $add_group:ident) => {
        /// # Safety
        /// All steps of the panel must be within the rows.
        #[target_feature(enable = "avx2,fma")]
        unsafe fn $name(rows: &ByteRows<'_>, row: usize, panel: &Panel<'_>, output: &mut Columns<'_>) -> usize {
            let inputs = rows.bytes[row * rows.width..][..$count * rows.width].as_ptr();
            let ones = _mm256_set1_epi16(1);
            // SAFETY: `panel.sums` has eight integers.
            let weight_sums = unsafe { _mm256_loadu_si256(panel.sums.as_ptr().cast()) };
            let mut sums = [_mm256_mullo_epi32(weight_sums, _mm256_set1_epi32(-i32::from(rows.zero))); $count];
            for (group, offsets) in panel.groups.iter().zip(panel.offsets) {
                // SAFETY: a step has 32 bytes and is aligned to 32 bytes.
                let weights = group.steps.each_ref().map(|step| unsafe { _mm256_load_si256(step.0.as_ptr().cast()) });
                // SAFETY: `inputs` has `$count` rows, see above; the caller guarantees that the steps are within a row.
                unsafe { $add_group(&mut sums, inputs, rows.width, offsets, &weights, ones) };
            }
            for (at, sum) in sums.into_iter().enumerate() {
                let scaled = _mm256_mul_ps(_mm256_cvtepi32_ps(sum), load(panel.scales));
                let result = _mm256_fmadd_ps(scaled, _mm256_set1_ps(rows.scales[row + at]), load(panel.bias));
                store(&mut output.cells[(row + at) * output.stride + output.first..], result);
            }
            $count
        }
    };
}

define_multiply_rows!(multiply_8_rows, 8, add_group_to_8);
define_multiply_rows!(multiply_4_rows, 4, add_group_to_4);
define_multiply_rows!(multiply_1_row, 1, add_group_to_1);

/// The byte that represents 0 in rows with values of either sign.
pub const SIGNED_ZERO: u8 = 128;
/// Distance of the byte of the largest magnitude from `SIGNED_ZERO`.
pub const SIGNED_MAX: f32 = 127.0;
/// Minimum quantisation scale. It prevents a division by 0.
pub const SCALE_MIN: f32 = 1e-8;
/// The byte that represents 0 in rows of GELU results, which are never far below 0.
pub const GELU_ZERO: u8 = 64;

/// Multiplies rows (`[rows, width]`) by `smoothing` (`[width]`) and quantises them. Bytes and scales are written to the
/// beginning of `bytes` and `scales`.
#[target_feature(enable = "avx2,fma")]
pub fn quantise<'a>(
    rows: &[f32],
    width: usize,
    smoothing: Option<&[f32]>,
    bytes: &'a mut [u8],
    scales: &'a mut [f32],
) -> ByteRows<'a> {
    let (bytes, scales) = (&mut bytes[..rows.len()], &mut scales[..rows.len() / width]);
    for (row, (bytes, scale)) in rows.chunks_exact(width).zip(bytes.chunks_exact_mut(width).zip(scales.iter_mut())) {
        *scale = quantise_signed(row, smoothing, bytes);
    }
    ByteRows { bytes, width, scales, zero: SIGNED_ZERO }
}

/// Applies GELU to the rows in place, and quantises the result like `quantise`.
#[target_feature(enable = "avx2,fma")]
pub fn quantise_activated<'a>(
    rows: &mut [f32],
    width: usize,
    bytes: &'a mut [u8],
    scales: &'a mut [f32],
) -> ByteRows<'a> {
    let (bytes, scales) = (&mut bytes[..rows.len()], &mut scales[..rows.len() / width]);
    for (row, (bytes, scale)) in rows.chunks_exact_mut(width).zip(bytes.chunks_exact_mut(width).zip(scales.iter_mut()))
    {
        *scale = quantise_gelu(row, bytes);
    }
    ByteRows { bytes, width, scales, zero: GELU_ZERO }
}

/// Quantises one row. Returns the scale.
#[inline]
#[target_feature(enable = "avx2,fma")]
fn quantise_signed(row: &[f32], smoothing: Option<&[f32]>, bytes: &mut [u8]) -> f32 {
    let value = |at: usize| match smoothing {
        Some(factors) => _mm256_mul_ps(load(&row[at..]), load(&factors[at..])),
        None => load(&row[at..]),
    };
    let sign = _mm256_set1_ps(-0.0);
    let mut largest = _mm256_setzero_ps();
    for at in (0..row.len()).step_by(LANES) {
        largest = _mm256_max_ps(largest, _mm256_andnot_ps(sign, value(at)));
    }
    let scale = (maximum(largest) * (1.0 / SIGNED_MAX)).max(SCALE_MIN);
    write_bytes(row.len(), scale, SIGNED_ZERO, bytes, value);
    scale
}

/// Lower bound of GELU.
pub const GELU_MIN: f32 = -0.17;

/// Applies GELU to a row in place and quantises the result. Returns the scale.
#[inline]
#[target_feature(enable = "avx2,fma")]
fn quantise_gelu(row: &mut [f32], bytes: &mut [u8]) -> f32 {
    // SAFETY: the processor has AVX-512 if it has VNNI.
    let largest = if has_vnni() { unsafe { wide_floats::apply_gelu(row) } } else { apply_gelu(row) };
    let scale = (maximum(largest) * (1.0 / f32::from(255 - GELU_ZERO))).max(-GELU_MIN / f32::from(GELU_ZERO));
    write_bytes(row.len(), scale, GELU_ZERO, bytes, |at| load(&row[at..]));
    scale
}

/// Applies GELU to a row in place. Returns eight maxima: lane `i` is the largest of 0 and the results at `i`, `i + 8`,
/// `i + 16` and so on.
#[inline]
#[target_feature(enable = "avx2,fma")]
fn apply_gelu(row: &mut [f32]) -> __m256 {
    let mut largest = _mm256_setzero_ps();
    for at in (0..row.len()).step_by(LANES) {
        let value = gelu(load(&row[at..]));
        largest = _mm256_max_ps(largest, value);
        store(&mut row[at..], value);
    }
    largest
}

/// Writes values as bytes: `value / scale + zero`, rounded half to even and clamped to 0..255.
#[inline]
#[target_feature(enable = "avx2,fma")]
fn write_bytes(width: usize, scale: f32, zero: u8, bytes: &mut [u8], value: impl Fn(usize) -> __m256) {
    const GROUP: usize = 4 * LANES;
    let (inverse, zero) = (_mm256_set1_ps(1.0 / scale), _mm256_set1_epi32(i32::from(zero)));
    // The packing below works within 128-bit lanes; this permutation restores the order of four-byte groups.
    let order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
    let integers = |at: usize| _mm256_add_epi32(_mm256_cvtps_epi32(_mm256_mul_ps(value(at), inverse)), zero);
    for at in (0..width).step_by(GROUP) {
        let low = _mm256_packs_epi32(integers(at), integers(at + LANES));
        let high = _mm256_packs_epi32(integers(at + 2 * LANES), integers(at + 3 * LANES));
        let packed = _mm256_permutevar8x32_epi32(_mm256_packus_epi16(low, high), order);
        let place = &mut bytes[at..][..GROUP];
        // SAFETY: `place` has 32 bytes.
        unsafe { _mm256_storeu_si256(place.as_mut_ptr().cast(), packed) };
    }
}

/// Layer normalisation: `row = normalised(row + added) * gain + shift`, where `normalised` has mean 0 and variance 1.
/// `epsilon` is added to the variance and prevents a division by 0.
#[target_feature(enable = "avx2,fma")]
pub fn add_and_normalise(row: &mut [f32], added: &[f32], gain: &[f32], shift: &[f32], epsilon: f32) {
    let width = row.len();
    let mut sum = _mm256_setzero_ps();
    for at in (0..width).step_by(LANES) {
        let value = _mm256_add_ps(load(&row[at..]), load(&added[at..]));
        store(&mut row[at..], value);
        sum = _mm256_add_ps(sum, value);
    }
    let mean = _mm256_set1_ps(total(sum) / width as f32);
    let mut squares = _mm256_setzero_ps();
    for at in (0..width).step_by(LANES) {
        let centred = _mm256_sub_ps(load(&row[at..]), mean);
        squares = _mm256_fmadd_ps(centred, centred, squares);
    }
    let inverse = _mm256_set1_ps(1.0 / (total(squares) / width as f32 + epsilon).sqrt());
    for at in (0..width).step_by(LANES) {
        let normal = _mm256_mul_ps(_mm256_sub_ps(load(&row[at..]), mean), inverse);
        store(&mut row[at..], _mm256_fmadd_ps(normal, load(&gain[at..]), load(&shift[at..])));
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::instructions::{self, Instructions};
    use mneme_testing::Chance;

    fn unit(chance: &mut Chance) -> f32 {
        (chance.bits() >> 40) as f32 / (1u64 << 24) as f32
    }

    pub(crate) fn between(chance: &mut Chance, low: f32, high: f32) -> f32 {
        low + (high - low) * unit(chance)
    }

    pub(crate) fn near(found: f32, expected: f64, tolerance: f64, what: &str) {
        assert!((f64::from(found) - expected).abs() <= tolerance, "{what}: {found}, not {expected}");
    }

    fn is_skipped() -> bool {
        let is_there = is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma");
        if !is_there {
            println!("skipped: this processor has no AVX2");
        }
        !is_there
    }

    /// The instructions that this processor has.
    pub(crate) fn available() -> Vec<Instructions> {
        let all = [
            (Instructions::Avx2, true),
            (Instructions::Vnni, has_vnni()),
            (Instructions::Amx, instructions::has_amx()),
        ];
        for (missing, _) in all.iter().filter(|(_, is_there)| !is_there) {
            println!("skipped: this processor has no {missing:?}");
        }
        all.into_iter().filter(|(_, is_there)| *is_there).map(|(instructions, _)| instructions).collect()
    }

    #[test]
    fn products_of_bytes_are_exact_at_their_extremes() {
        if is_skipped() {
            return;
        }
        let mut chance = Chance::new();
        let outputs = 3 * WIDE_COLUMNS;
        let all =
            [(1, 0..3), (2, 0..3), (4, 0..1), (7, 1..3), (8, 2..3), (16, 0..1), (17, 0..3), (31, 0..2), (65, 1..2)];
        let cases = all.into_iter().flat_map(|case| [64, 96, 192].map(|inputs| (inputs, case.clone())));
        for (instructions, (inputs, (rows, panels))) in
            available().into_iter().flat_map(|found| cases.clone().map(move |case| (found, case)))
        {
            let columns = panels.start * WIDE_COLUMNS..panels.end * WIDE_COLUMNS;
            let draw = |chance: &mut Chance| [-64, 64, chance.below(129) as i32 - 64][chance.below(3)] as i8;
            let weights: Vec<i8> = (0..inputs * outputs).map(|_| draw(&mut chance)).collect();
            let column_scales: Vec<f32> = (0..outputs).map(|_| between(&mut chance, 0.01, 1.0)).collect();
            let bias: Vec<f32> = (0..outputs).map(|_| between(&mut chance, -1.0, 1.0)).collect();
            let linear = Linear::pack(&weights, inputs, column_scales.clone(), bias.clone(), instructions);
            let linear = linear.expect("weights of 7 bits");
            let bytes: Vec<u8> =
                (0..rows * inputs).map(|_| [0, 255, chance.below(256) as u8][chance.below(3)]).collect();
            let scales: Vec<f32> = (0..rows).map(|_| between(&mut chance, 0.01, 1.0)).collect();
            let mut output = vec![f32::NAN; rows * outputs];
            let mut with_avx2 = output.clone();
            let byte_rows = ByteRows { bytes: &bytes, width: inputs, scales: &scales, zero: 64 };
            // SAFETY: the processor has the instructions.
            unsafe { multiply(&byte_rows, &linear, columns.clone(), &mut output, outputs) };
            let narrow = Linear::pack(&weights, inputs, column_scales.clone(), bias.clone(), Instructions::Avx2);
            let narrow = narrow.expect("weights of 7 bits");
            // SAFETY: the processor has the instructions.
            unsafe { multiply(&byte_rows, &narrow, columns.clone(), &mut with_avx2, outputs) };
            let bits = |row: &[f32]| row.iter().map(|value| value.to_bits()).collect::<Vec<_>>();
            assert_eq!(bits(&output), bits(&with_avx2), "{instructions:?}, {inputs} inputs, {rows} rows");
            for (at, found) in output.iter().enumerate() {
                let (row, column) = (at / outputs, at % outputs);
                if !columns.contains(&column) {
                    assert!(found.is_nan(), "another column was written");
                    continue;
                }
                let weights = weights[column..].iter().step_by(outputs);
                let products = bytes[row * inputs..][..inputs].iter().zip(weights);
                let sum: i32 = products.map(|(byte, weight)| (i32::from(*byte) - 64) * i32::from(*weight)).sum();
                let expected = f64::from(sum) * f64::from(scales[row]) * f64::from(column_scales[column]);
                let expected = expected + f64::from(bias[column]);
                near(*found, expected, expected.abs().max(1.0) * 1e-6, "a product");
            }
        }
    }

    #[test]
    fn bytes_are_within_half_a_step_of_the_values() {
        if is_skipped() {
            return;
        }
        let mut chance = Chance::new();
        for magnitude in [0.0, 1e-6, 1.0, 1e6] {
            let row: Vec<f32> = (0..64).map(|_| between(&mut chance, -magnitude, magnitude)).collect();
            let smoothing: Vec<f32> = (0..64).map(|_| between(&mut chance, 0.5, 2.0)).collect();
            let mut bytes = [0u8; 64];
            for smoothing in [None, Some(smoothing.as_slice())] {
                // SAFETY: the processor has the instructions.
                let scale = unsafe { quantise_signed(&row, smoothing, &mut bytes) };
                for (at, byte) in bytes.iter().enumerate() {
                    let value = f64::from(row[at]) * smoothing.map_or(1.0, |factors| f64::from(factors[at]));
                    near((f32::from(*byte) - 128.0) * scale, value, f64::from(scale) * 0.501, "a signed byte");
                }
            }
            let mut inner = row.clone();
            // SAFETY: as above.
            let scale = unsafe { quantise_gelu(&mut inner, &mut bytes) };
            let mut narrow = row.clone();
            // SAFETY: as above.
            let largest = unsafe { maximum(apply_gelu(&mut narrow)) };
            assert_eq!(narrow, inner, "with AVX-512");
            assert_eq!(largest, narrow.iter().copied().fold(0.0, f32::max));
            for (at, byte) in bytes.iter().enumerate() {
                let value = true_gelu(f64::from(row[at]));
                near(inner[at], value, 6e-5 + value.abs() * 1e-5, "gelu");
                near((f32::from(*byte) - 64.0) * scale, value, f64::from(scale) * 0.501 + 6e-5, "a byte of gelu");
            }
        }
    }

    #[test]
    fn normalisation_follows_the_definition() {
        if is_skipped() {
            return;
        }
        let mut chance = Chance::new();
        let mut draw = || -> Vec<f32> { (0..96).map(|_| between(&mut chance, -3.0, 3.0)).collect() };
        let (mut row, added, gain, shift) = (draw(), draw(), draw(), draw());
        let sums: Vec<f64> = row.iter().zip(&added).map(|(a, b)| f64::from(*a) + f64::from(*b)).collect();
        let mean = sums.iter().sum::<f64>() / 96.0;
        let deviation = (sums.iter().map(|sum| (sum - mean).powi(2)).sum::<f64>() / 96.0).sqrt();
        // SAFETY: the processor has the instructions.
        unsafe { add_and_normalise(&mut row, &added, &gain, &shift, 1e-12) };
        for (at, found) in row.iter().enumerate() {
            let expected = (sums[at] - mean) / deviation * f64::from(gain[at]) + f64::from(shift[at]);
            near(*found, expected, 1e-5, "a component");
        }
    }

    /// Reference GELU in 64 bits. It computes the complementary error function as a continued fraction or as a series.
    fn true_gelu(x: f64) -> f64 {
        let z = x.abs() / std::f64::consts::SQRT_2;
        let complement = if z < 3.0 {
            let mut term = z;
            let mut sum = z;
            for n in 1..200 {
                term *= -z * z / f64::from(n);
                sum += term / f64::from(2 * n + 1);
            }
            1.0 - sum * 2.0 / std::f64::consts::PI.sqrt()
        } else {
            let fraction = (1..60).rev().fold(z, |rest, n| z + f64::from(n) / 2.0 / rest);
            (-z * z).exp() / fraction / std::f64::consts::PI.sqrt()
        };
        if x > 0.0 { x - 0.5 * x * complement } else { 0.5 * x * complement }
    }
}
