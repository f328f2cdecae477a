//! Self-attention of one head, in 32-bit floats. `network` passes the heads of a layer one after the other.

use std::arch::x86_64::*;

use crate::floats::{LANES, exp_of_negative, load, maximum, store, total};
use crate::instructions::has_vnni;
use crate::wide_floats::{self, WIDE_LANES, WIDE_ROWS, two_tiles};

/// Number of rows of floats that are computed together. With two vectors of columns per row, their sums fill the vector
/// registers.
const FLOAT_ROWS: usize = 6;
/// Number of columns of floats that are computed together.
const FLOAT_COLUMNS: usize = 2 * LANES;

/// Maximum number of rows that are computed together.
const ROWS_MAX: usize = if WIDE_ROWS > FLOAT_ROWS { WIDE_ROWS } else { FLOAT_ROWS };

/// Number of components of one attention head.
pub const HEAD_WIDTH: usize = 2 * FLOAT_COLUMNS;

/// Keys and values of one attention head, packed for `attend`.
pub struct AttentionHead {
    /// Whether `wide_floats` (AVX-512) computes attention.
    is_wide: bool,
    tokens: usize,
    /// Keys in tiles of `FLOAT_COLUMNS` tokens, each tile `[HEAD_WIDTH, FLOAT_COLUMNS]`. The last tile is padded with
    /// zeros. `wide_floats` multiplies two tiles at once and needs an even number of them.
    keys: Vec<[f32; FLOAT_COLUMNS]>,
    /// First and second half of the components of the values, `[tokens, FLOAT_COLUMNS]` each.
    values: [Vec<[f32; FLOAT_COLUMNS]>; 2],
    /// Buffer for attention weights, `[ROWS_MAX, padded tokens]`.
    weights: Vec<f32>,
}

impl Default for AttentionHead {
    fn default() -> Self {
        AttentionHead::new(has_vnni())
    }
}

impl AttentionHead {
    fn new(is_wide: bool) -> Self {
        AttentionHead { is_wide, tokens: 0, keys: vec![], values: Default::default(), weights: vec![] }
    }

    /// Copies the head's keys and values from `projected`, whose parts are `[tokens, stride]`. Keys are the
    /// `HEAD_WIDTH` columns from `key_column` on, values those from `value_column` on.
    #[target_feature(enable = "avx2,fma")]
    pub fn pack(&mut self, projected: &[&[f32]], stride: usize, key_column: usize, value_column: usize) {
        let scale = 1.0 / (HEAD_WIDTH as f32).sqrt();
        self.tokens = projected.iter().map(|part| part.len() / stride).sum();
        let tiles = self.tokens.div_ceil(FLOAT_COLUMNS).next_multiple_of(if self.is_wide { 2 } else { 1 });
        self.keys.clear();
        self.keys.resize(tiles * HEAD_WIDTH, [0.0; FLOAT_COLUMNS]);
        self.weights.resize(ROWS_MAX * tiles * FLOAT_COLUMNS, 0.0);
        self.values.iter_mut().for_each(Vec::clear);
        for (token, row) in projected.iter().flat_map(|part| part.chunks_exact(stride)).enumerate() {
            let tile = &mut self.keys[token / FLOAT_COLUMNS * HEAD_WIDTH..][..HEAD_WIDTH];
            let key = &row[key_column..][..HEAD_WIDTH];
            tile.iter_mut().zip(key).for_each(|(tile, key)| tile[token % FLOAT_COLUMNS] = key * scale);
            let (halves, _) = row[value_column..][..HEAD_WIDTH].as_chunks::<FLOAT_COLUMNS>();
            self.values.iter_mut().zip(halves).for_each(|(values, half)| values.push(*half));
        }
    }

    /// Computes attention for the queries in `rows`. Row `r` begins at `r * query_stride` in `queries` and at
    /// `r * output_stride` in `output`. In both, the head's `HEAD_WIDTH` values begin at `column` of the row.
    #[target_feature(enable = "avx2,fma")]
    pub fn attend(
        &mut self,
        queries: &[f32],
        query_stride: usize,
        rows: std::ops::Range<usize>,
        column: usize,
        output: &mut [f32],
        output_stride: usize,
    ) {
        let mut row = rows.start;
        while row < rows.end {
            let query = |at: usize| &queries[(row + at) * query_stride + column..][..HEAD_WIDTH];
            let place = &mut output[row * output_stride + column..];
            row += if self.is_wide {
                // SAFETY: `is_wide` is true only if the processor has AVX-512.
                unsafe {
                    match rows.end - row {
                        WIDE_ROWS.. => self.attend_wide::<WIDE_ROWS>(std::array::from_fn(query), place, output_stride),
                        4.. => self.attend_wide::<4>(std::array::from_fn(query), place, output_stride),
                        2.. => self.attend_wide::<2>(std::array::from_fn(query), place, output_stride),
                        _ => self.attend_wide::<1>([query(0)], place, output_stride),
                    }
                }
            } else {
                match rows.end - row {
                    FLOAT_ROWS.. => self.attend_rows::<FLOAT_ROWS>(std::array::from_fn(query), place, output_stride),
                    2.. => self.attend_rows::<2>(std::array::from_fn(query), place, output_stride),
                    _ => self.attend_rows::<1>([query(0)], place, output_stride),
                }
            };
        }
    }

    /// Like `attend_rows`, with AVX-512.
    #[inline]
    #[target_feature(enable = "avx512f,avx512dq")]
    fn attend_wide<const N: usize>(&mut self, queries: [&[f32]; N], output: &mut [f32], stride: usize) -> usize {
        let AttentionHead { tokens, keys, values, weights, .. } = self;
        let padded = keys.len() / HEAD_WIDTH * FLOAT_COLUMNS;
        for (pair, keys) in keys.chunks_exact(2 * HEAD_WIDTH).enumerate() {
            let (first, second) = keys.split_at(HEAD_WIDTH);
            for (row, sums) in two_tiles(queries, [first, second]).into_iter().enumerate() {
                let place = &mut weights[row * padded + pair * 2 * FLOAT_COLUMNS..][..2 * FLOAT_COLUMNS];
                sums.into_iter()
                    .enumerate()
                    .for_each(|(half, sum)| wide_floats::store(&mut place[half * WIDE_LANES..], sum));
            }
        }
        let mut inverses = [0f32; N];
        for (inverse, weights) in inverses.iter_mut().zip(weights.chunks_exact_mut(padded)) {
            *inverse = 1.0 / wide_floats::exponentiate(weights, *tokens);
        }
        let rows: [&[f32]; N] = std::array::from_fn(|row| &weights[row * padded..][..*tokens]);
        for (row, sums) in two_tiles(rows, values.each_ref().map(Vec::as_slice)).into_iter().enumerate() {
            let place = &mut output[row * stride..][..HEAD_WIDTH];
            let inverse = _mm512_set1_ps(inverses[row]);
            for (half, sum) in sums.into_iter().enumerate() {
                wide_floats::store(&mut place[half * WIDE_LANES..], _mm512_mul_ps(sum, inverse));
            }
        }
        N
    }

    /// Computes attention for `N` queries. Their results begin at the multiples of `stride` in `output`. Returns `N`.
    #[inline]
    #[target_feature(enable = "avx2,fma")]
    fn attend_rows<const N: usize>(&mut self, queries: [&[f32]; N], output: &mut [f32], stride: usize) -> usize {
        let AttentionHead { tokens, keys, values, weights, .. } = self;
        let padded = keys.len() / HEAD_WIDTH * FLOAT_COLUMNS;
        for (tile, keys) in keys.chunks_exact(HEAD_WIDTH).enumerate() {
            for (row, sums) in float_tile(queries, keys).into_iter().enumerate() {
                let place = &mut weights[row * padded + tile * FLOAT_COLUMNS..][..FLOAT_COLUMNS];
                sums.into_iter().enumerate().for_each(|(half, sum)| store(&mut place[half * LANES..], sum));
            }
        }
        let mut inverses = [0f32; N];
        for (inverse, weights) in inverses.iter_mut().zip(weights.chunks_exact_mut(padded)) {
            *inverse = 1.0 / exponentiate(weights, *tokens);
        }
        let rows: [&[f32]; N] = std::array::from_fn(|row| &weights[row * padded..][..*tokens]);
        for (half, values) in values.iter().enumerate() {
            for (row, sums) in float_tile(rows, values).into_iter().enumerate() {
                let place = &mut output[row * stride + half * FLOAT_COLUMNS..][..FLOAT_COLUMNS];
                let inverse = _mm256_set1_ps(inverses[row]);
                for (at, sum) in sums.into_iter().enumerate() {
                    store(&mut place[at * LANES..], _mm256_mul_ps(sum, inverse));
                }
            }
        }
        N
    }
}

/// Multiplies `N` rows by a tile of columns. The result is `[N, FLOAT_COLUMNS]`, as two vectors per row.
#[inline]
#[target_feature(enable = "avx2,fma")]
fn float_tile<const N: usize>(rows: [&[f32]; N], panel: &[[f32; FLOAT_COLUMNS]]) -> [[__m256; 2]; N] {
    let rows = rows.map(|row| &row[..panel.len()]);
    let mut sums = [[_mm256_setzero_ps(); 2]; N];
    for (at, columns) in panel.iter().enumerate() {
        let halves = [load(columns), load(&columns[LANES..])];
        for (sums, row) in sums.iter_mut().zip(rows) {
            // SAFETY: each row was cut to the length of `panel`.
            let factor = _mm256_set1_ps(unsafe { *row.get_unchecked(at) });
            for (sum, half) in sums.iter_mut().zip(halves) {
                *sum = _mm256_fmadd_ps(factor, half, *sum);
            }
        }
    }
    sums
}

/// Replaces the first `count` values of a row by `e^(value - maximum)`, and the rest by zeros. Returns the sum of the
/// row, which is at least 1 apart from rounding errors.
#[inline]
#[target_feature(enable = "avx2,fma")]
fn exponentiate(row: &mut [f32], count: usize) -> f32 {
    row[count..].fill(f32::NEG_INFINITY);
    let mut largest = _mm256_set1_ps(f32::NEG_INFINITY);
    for at in (0..row.len()).step_by(LANES) {
        largest = _mm256_max_ps(largest, load(&row[at..]));
    }
    let largest = _mm256_set1_ps(maximum(largest));
    let mut sum = _mm256_setzero_ps();
    for at in (0..row.len()).step_by(LANES) {
        let weight = exp_of_negative(_mm256_sub_ps(load(&row[at..]), largest));
        sum = _mm256_add_ps(sum, weight);
        store(&mut row[at..], weight);
    }
    row[count..].fill(0.0);
    total(sum)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::encoder::is_supported;
    use crate::kernels::tests::{between, near};
    use mneme_testing::Chance;

    #[test]
    fn attention_follows_the_definition_to_the_last_bit_with_either_kernel() {
        if !is_supported() {
            return println!("skipped: this processor has no AVX2");
        }
        let mut chance = Chance::new();
        let stride = 3 * HEAD_WIDTH + LANES;
        // reused as in `network`: earlier contents must not matter
        let mut heads: Vec<AttentionHead> = [false, has_vnni()].map(AttentionHead::new).into();
        for (tokens, wanted) in [(40, 40), (1, 1), (5, 3), (16, 16), (17, 1), (130, 9)] {
            let projected: Vec<f32> = (0..tokens * stride).map(|_| between(&mut chance, -4.0, 4.0)).collect();
            let at = |token: usize, column: usize| f64::from(projected[token * stride + column]);
            let outputs = heads.iter_mut().map(|head| {
                let mut output = vec![f32::NAN; wanted * HEAD_WIDTH];
                // SAFETY: the processor has the instructions.
                unsafe {
                    head.pack(&[&projected], stride, HEAD_WIDTH, 2 * HEAD_WIDTH);
                    head.attend(&projected, stride, 0..wanted, 0, &mut output, HEAD_WIDTH);
                }
                output
            });
            let [output, wide] = &outputs.collect::<Vec<_>>()[..] else { unreachable!("two heads") };
            assert_eq!(output, wide, "{tokens} tokens, with AVX-512");
            for query in 0..wanted {
                let score = |token: usize| -> f64 {
                    let products = (0..HEAD_WIDTH).map(|column| at(query, column) * at(token, HEAD_WIDTH + column));
                    products.sum::<f64>() / (HEAD_WIDTH as f64).sqrt()
                };
                let largest = (0..tokens).map(score).fold(f64::MIN, f64::max);
                let weights: Vec<f64> = (0..tokens).map(|token| (score(token) - largest).exp()).collect();
                for column in 0..HEAD_WIDTH {
                    let weighted =
                        weights.iter().enumerate().map(|(token, weight)| weight * at(token, 2 * HEAD_WIDTH + column));
                    let expected = weighted.sum::<f64>() / weights.iter().sum::<f64>();
                    near(output[query * HEAD_WIDTH + column], expected, 1e-4, &format!("{tokens} tokens"));
                }
            }
        }
    }
}
