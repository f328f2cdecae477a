//! Integer products on processors with AVX-512 VNNI, which multiply and add bytes in one step. `kernels` has those for
//! other processors, with the same results to the last bit.

use std::arch::x86_64::*;

use crate::byte_rows::ByteRows;
use crate::weights::{STEP_INPUTS, WIDE_COLUMNS, WidePanel};

/// Number of lanes of a vector register: outputs whose sums are in one register.
const LANES: usize = WIDE_COLUMNS / 2;

/// Computes the panel's outputs for all rows. Row `r` is written to `output[r * stride + first..]`.
#[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
pub fn multiply(rows: &ByteRows<'_>, panel: &WidePanel<'_>, output: &mut [f32], stride: usize, first: usize) {
    assert!(rows.bytes.len() == rows.scales.len() * rows.width, "rows have a scale each");
    assert!(panel.steps.len() * STEP_INPUTS == rows.width, "rows fit the layer");
    let mut row = 0;
    while row < rows.scales.len() {
        let place = &mut output[row * stride + first..];
        row += match rows.scales.len() - row {
            ROWS.. => multiply_rows::<ROWS>(rows, row, panel, place, stride),
            4.. => multiply_rows::<4>(rows, row, panel, place, stride),
            2.. => multiply_rows::<2>(rows, row, panel, place, stride),
            _ => multiply_rows::<1>(rows, row, panel, place, stride),
        };
    }
}

/// Number of rows that are computed together. Their sums take 16 of 32 vector registers.
const ROWS: usize = 8;

/// Computes the panel's outputs for `N` rows, beginning at `row`. Returns `N`.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
fn multiply_rows<const N: usize>(
    rows: &ByteRows<'_>,
    row: usize,
    panel: &WidePanel<'_>,
    output: &mut [f32],
    stride: usize,
) -> usize {
    let inputs: [&[[u8; STEP_INPUTS]]; N] = std::array::from_fn(|at| {
        let (steps, _) = rows.bytes[(row + at) * rows.width..][..rows.width].as_chunks();
        &steps[..panel.steps.len()]
    });
    let zero = _mm512_set1_epi32(-i32::from(rows.zero));
    let start = [0, LANES].map(|lane| {
        // SAFETY: `sums` has `WIDE_COLUMNS` integers, so 16 are readable in each half.
        let sums = unsafe { _mm512_loadu_si512(panel.sums[lane..][..LANES].as_ptr().cast()) };
        _mm512_mullo_epi32(sums, zero)
    });
    let mut sums = [start; N];
    for (at, step) in panel.steps.iter().enumerate() {
        let (halves, _) = step.0.as_chunks::<64>();
        // SAFETY: a step has two halves of 64 bytes and is aligned to 64 bytes.
        let weights = [0, 1].map(|half| unsafe { _mm512_load_si512(halves[half].as_ptr().cast()) });
        for (sums, inputs) in sums.iter_mut().zip(inputs) {
            // SAFETY: each row was cut to the number of steps.
            let input = _mm512_set1_epi32(i32::from_le_bytes(unsafe { *inputs.get_unchecked(at) }));
            sums[0] = _mm512_dpbusd_epi32(sums[0], input, weights[0]);
            sums[1] = _mm512_dpbusd_epi32(sums[1], input, weights[1]);
        }
    }
    for (at, sums) in sums.into_iter().enumerate() {
        let row_scale = _mm512_set1_ps(rows.scales[row + at]);
        let place = &mut output[at * stride..][..WIDE_COLUMNS];
        for (half, sum) in sums.into_iter().enumerate() {
            let lanes = half * LANES..(half + 1) * LANES;
            // SAFETY: all three have `WIDE_COLUMNS` floats, so 16 are there in each half.
            unsafe {
                let scales = _mm512_loadu_ps(panel.scales[lanes.clone()].as_ptr());
                let bias = _mm512_loadu_ps(panel.bias[lanes.clone()].as_ptr());
                let scaled = _mm512_mul_ps(_mm512_cvtepi32_ps(sum), scales);
                _mm512_storeu_ps(place[lanes].as_mut_ptr(), _mm512_fmadd_ps(scaled, row_scale, bias));
            }
        }
    }
    N
}
