//! The inner loops (SIMD kernels) of the vector scan, one per instruction set. SIMD instructions need
//! `unsafe`. `searcher` and `row_table` decide which rows are scanned.

use half::bf16;

/// The length of a row in bytes is rounded up to a multiple of this, so that no two rows share a cache line and loads
/// are aligned.
pub const CACHE_LINE_BYTES: usize = 64;

/// Number of rows between the row that is scanned and the row that is prefetched into the cache. The hardware cannot
/// predict which rows of a sparse set come next. Sixteen rows of 192 bytes are 48 cache lines, about as many as one
/// core can load at the same time.
const PREFETCH_ROWS: usize = 16;

/// Number of rows per block of memory. It is a constant, because the scan divides by it for every row. At 384
/// dimensions a block has 6 MB of 4-bit vectors.
pub const BLOCK_ROWS: usize = 16_384;

/// Collects the rows with the highest scores in a scan. It uses memory in proportion to `limit`.
#[derive(Debug)]
pub struct TopRows {
    limit: usize,
    /// Rows whose score is not above this are rejected.
    threshold: i32,
    /// Pairs (score, row), in no particular order.
    rows: Vec<(i32, u32)>,
}

impl TopRows {
    /// Creates a collector of the `limit` best rows.
    pub fn new(limit: usize) -> Self {
        TopRows { limit, threshold: i32::MIN, rows: Vec::with_capacity(limit * 2) }
    }

    /// Adds a row, unless its score is too low.
    #[inline]
    fn offer(&mut self, score: i32, row: u32) {
        if score > self.threshold {
            self.rows.push((score, row));
            if self.rows.len() == self.limit * 2 {
                self.shrink();
            }
        }
    }

    #[cold]
    fn shrink(&mut self) {
        if self.rows.len() > self.limit {
            // Among rows with equal scores, those with the lower numbers are kept.
            self.rows.select_nth_unstable_by(self.limit - 1, |a, b| b.0.cmp(&a.0).then(a.1.cmp(&b.1)));
            self.rows.truncate(self.limit);
            self.threshold = self.rows[self.limit - 1].0;
        }
    }

    /// The best `limit` rows of several collectors.
    pub fn merged(collectors: Vec<TopRows>, limit: usize) -> TopRows {
        let rows = collectors.into_iter().flat_map(|collector| collector.rows).collect();
        TopRows { limit, threshold: i32::MIN, rows }
    }

    /// Returns the best rows, in no particular order.
    pub fn into_rows(mut self) -> Vec<u32> {
        self.shrink();
        self.rows.into_iter().map(|(_, row)| row).collect()
    }
}

/// Number of components of 4-bit vectors per cache line.
pub const LINE_COMPONENTS: usize = 2 * CACHE_LINE_BYTES;

/// Rows of bytes in memory, as `RowBlocks` stores them. `Int4Matrix` describes rows of 4-bit vectors, and `BinaryCodes`
/// rows of binary codes.
#[derive(Debug, Clone, Copy)]
pub struct RowLayout<'rows> {
    /// Blocks of `BLOCK_ROWS` rows each.
    pub blocks: &'rows [&'rows [u8]],
    /// Bytes from one row to the next.
    pub row_bytes: usize,
}

impl<'rows> RowLayout<'rows> {
    /// The row with the given number.
    #[inline(always)]
    pub fn row(&self, row: u32) -> &'rows [u8] {
        let (block, within) = (row as usize / BLOCK_ROWS, row as usize % BLOCK_ROWS);
        &self.blocks[block][within * self.row_bytes..][..self.row_bytes]
    }
}

/// Computes the dot product of a query with each of `rows`, which are 4-bit vectors, and offers the rows to `top`.
/// `query` has two components for every byte of a row. The components of a row are taken as the unsigned numbers 0 to
/// 15, which adds the same constant to all scores of a query and does not affect comparisons.
pub fn scan(layout: RowLayout<'_>, rows: &[u32], query: &[i8], top: &mut TopRows) {
    assert!(query.len() == 2 * layout.row_bytes, "a query must be as long as a padded row");
    assert!(query.len().is_multiple_of(LINE_COMPONENTS), "rows must be padded to whole cache lines");
    #[cfg(target_arch = "x86_64")]
    {
        if is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512bw")
            && is_x86_feature_detected!("avx512vnni")
        {
            // SAFETY: the processor has the features that the function is compiled for.
            return unsafe { x86::scan_avx512(layout, rows, query, top) };
        }
        if is_x86_feature_detected!("avx2") {
            // SAFETY: the processor has the features that the function is compiled for.
            return unsafe { x86::scan_avx2(layout, rows, query, top) };
        }
    }
    scan_portable(layout, rows, query, top);
}

/// Stores the dot product of a query with each of `rows`, which are 4-bit vectors, in `scores`, in their order. See
/// `scan`, which does not keep the products.
pub fn score_rows(layout: RowLayout<'_>, rows: &[u32], query: &[i8], scores: &mut Vec<i32>) {
    assert!(query.len() == 2 * layout.row_bytes, "a query must be as long as a padded row");
    assert!(query.len().is_multiple_of(LINE_COMPONENTS), "rows must be padded to whole cache lines");
    scores.clear();
    #[cfg(target_arch = "x86_64")]
    {
        if is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512bw")
            && is_x86_feature_detected!("avx512vnni")
        {
            // SAFETY: the processor has the features that the function is compiled for.
            return unsafe { x86::score_rows_avx512(layout, rows, query, scores) };
        }
        if is_x86_feature_detected!("avx2") {
            // SAFETY: the processor has the features that the function is compiled for.
            return unsafe { x86::score_rows_avx2(layout, rows, query, scores) };
        }
    }
    scores.extend(rows.iter().map(|row| dot_product_portable(layout.row(*row), query)));
}

/// Number of rows in a group. The binary codes of a group are interleaved, so that one instruction looks up the entries
/// of all its rows in a table.
pub const GROUP_ROWS: usize = 32;

/// A lookup table: what four bits of a binary code add to the score of a row. The index is the value of the four bits.
/// An entry is at most 31, so that the sum of eight entries fits one byte.
pub type CodeTable = [u8; 16];

/// Number of tables for one 64-bit word of a code. Each half of a register adds the entries of eight tables, whose sum
/// fits one byte per row.
const WORD_TABLES: usize = 16;

/// Number of bytes that a group has for each table: four bits of every row. In byte n, the lower four bits belong to
/// row n, and the upper four bits to row n + 16.
pub const TABLE_BYTES: usize = GROUP_ROWS / 2;

/// Whether this processor can look up the binary codes of many rows at once. Looking them up one at a time takes longer
/// than the scan of 4-bit vectors that it would save.
pub fn has_fast_code_lookup() -> bool {
    #[cfg(target_arch = "x86_64")]
    {
        is_x86_feature_detected!("avx2")
    }
    #[cfg(not(target_arch = "x86_64"))]
    false
}

/// Stores the scores of the rows of each group in `scores`, which is as long as `groups`. The score of a row is the sum
/// of its entries in `tables`, which has one table for every four bits of the code. One row of `layout` has the codes
/// of a whole group. A code has at most 4,096 bits, so that sums fit 16 bits.
pub fn score_binary_codes(
    layout: RowLayout<'_>,
    groups: &[u32],
    tables: &[CodeTable],
    scores: &mut [[u16; GROUP_ROWS]],
) {
    assert!(scores.len() == groups.len(), "there must be scores for every group");
    assert!(tables.len() * TABLE_BYTES == layout.row_bytes, "there must be one table for every four bits");
    assert!(tables.len().is_multiple_of(WORD_TABLES), "codes must be padded to whole words");
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx2") {
        // SAFETY: the processor has the features that the function is compiled for.
        return unsafe { x86::score_binary_codes_avx2(layout, groups, tables, scores) };
    }
    score_binary_codes_portable(layout, groups, tables, scores);
}

/// A mask of those rows of a group whose score is at least `floor`. Bit n is set for row n.
#[inline]
pub fn mask_at_least(scores: &[u16; GROUP_ROWS], floor: u16) -> u32 {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx2") {
        // SAFETY: the processor has the features that the function is compiled for.
        return unsafe { x86::mask_at_least_avx2(scores, floor) };
    }
    mask_at_least_portable(scores, floor)
}

fn mask_at_least_portable(scores: &[u16; GROUP_ROWS], floor: u16) -> u32 {
    let rows = scores.iter().enumerate();
    rows.fold(0, |mask, (row, score)| mask | u32::from(*score >= floor) << row)
}

fn score_binary_codes_portable(
    layout: RowLayout<'_>,
    groups: &[u32],
    tables: &[CodeTable],
    scores: &mut [[u16; GROUP_ROWS]],
) {
    for (group, sums) in groups.iter().zip(scores) {
        *sums = [0; GROUP_ROWS];
        let (lower, upper) = sums.split_at_mut(TABLE_BYTES);
        for (bytes, table) in layout.row(*group).as_chunks::<TABLE_BYTES>().0.iter().zip(tables) {
            for (row, byte) in bytes.iter().enumerate() {
                lower[row] += u16::from(table[usize::from(byte & 15)]);
                upper[row] += u16::from(table[usize::from(byte >> 4)]);
            }
        }
    }
}

fn scan_portable(layout: RowLayout<'_>, rows: &[u32], query: &[i8], top: &mut TopRows) {
    for row in rows {
        top.offer(dot_product_portable(layout.row(*row), query), *row);
    }
}

fn dot_product_portable(row: &[u8], query: &[i8]) -> i32 {
    let lines = row.chunks_exact(CACHE_LINE_BYTES).zip(query.chunks_exact(LINE_COMPONENTS));
    let sums = lines.map(|(line, query)| {
        let (lower, upper) = query.split_at(CACHE_LINE_BYTES);
        let lower = line.iter().zip(lower).map(|(byte, component)| i32::from(byte & 15) * i32::from(*component));
        let upper = line.iter().zip(upper).map(|(byte, component)| i32::from(byte >> 4) * i32::from(*component));
        lower.sum::<i32>() + upper.sum::<i32>()
    });
    sums.sum()
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::{
        CACHE_LINE_BYTES, CodeTable, GROUP_ROWS, LINE_COMPONENTS, PREFETCH_ROWS, RowLayout, SUMS, TABLE_BYTES, TopRows,
        WORD_TABLES, bf16, cosine_of_sums, dot_products_portable, products_with_portable,
    };
    use std::arch::x86_64::*;

    /// Number of rows that are scanned together. The processor computes their sums in parallel, and one comparison
    /// checks all of them.
    const ROWS_AT_ONCE: usize = 4;

    /// Prefetches the row that is scanned `PREFETCH_ROWS` positions after `index`.
    #[inline(always)]
    fn prefetch(layout: &RowLayout<'_>, rows: &[u32], index: usize) {
        if let Some(row) = rows.get(index + PREFETCH_ROWS) {
            for line in layout.row(*row).chunks_exact(CACHE_LINE_BYTES) {
                prefetch_line(line.as_ptr().cast());
            }
        }
    }

    /// Adds up the eight partial sums of each row and offers the rows with these scores to `top`.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn offer_group(
        group: &[u32; ROWS_AT_ONCE],
        [first, second, third, fourth]: [__m256i; ROWS_AT_ONCE],
        top: &mut TopRows,
    ) {
        // After these horizontal additions there is one sum per row, in the order of the rows.
        let pairs = _mm256_hadd_epi32(_mm256_hadd_epi32(first, second), _mm256_hadd_epi32(third, fourth));
        let totals = _mm_add_epi32(_mm256_castsi256_si128(pairs), _mm256_extracti128_si256::<1>(pairs));
        let better = _mm_cmpgt_epi32(totals, _mm_set1_epi32(top.threshold));
        if _mm_movemask_epi8(better) != 0 {
            let mut scores = [0i32; ROWS_AT_ONCE];
            // SAFETY: sixteen writable bytes.
            unsafe { _mm_storeu_si128(scores.as_mut_ptr().cast(), totals) };
            group.iter().zip(scores).for_each(|(row, score)| top.offer(score, *row));
        }
    }

    #[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
    pub fn scan_avx512(layout: RowLayout<'_>, rows: &[u32], query: &[i8], top: &mut TopRows) {
        let (groups, rest) = rows.as_chunks::<ROWS_AT_ONCE>();
        for (index, group) in groups.iter().enumerate() {
            for offset in 0..ROWS_AT_ONCE {
                prefetch(&layout, rows, index * ROWS_AT_ONCE + offset);
            }
            let sums = dot_products(group.map(|row| layout.row(row)), query);
            let sums =
                sums.map(|sum| _mm256_add_epi32(_mm512_castsi512_si256(sum), _mm512_extracti64x4_epi64::<1>(sum)));
            offer_group(group, sums, top);
        }
        for row in rest {
            let [sum] = dot_products([layout.row(*row)], query);
            top.offer(_mm512_reduce_add_epi32(sum), *row);
        }
    }

    #[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
    pub fn score_rows_avx512(layout: RowLayout<'_>, rows: &[u32], query: &[i8], scores: &mut Vec<i32>) {
        prefetch_rows(&layout, rows);
        let (groups, rest) = rows.as_chunks::<ROWS_AT_ONCE>();
        for group in groups {
            let sums = dot_products(group.map(|row| layout.row(row)), query);
            scores.extend(sums.map(|sum| _mm512_reduce_add_epi32(sum)));
        }
        for row in rest {
            let [sum] = dot_products([layout.row(*row)], query);
            scores.push(_mm512_reduce_add_epi32(sum));
        }
    }

    #[target_feature(enable = "avx2")]
    pub fn score_rows_avx2(layout: RowLayout<'_>, rows: &[u32], query: &[i8], scores: &mut Vec<i32>) {
        prefetch_rows(&layout, rows);
        for row in rows {
            let [sum] = small_dot_products([layout.row(*row)], query);
            scores.push(total(sum));
        }
    }

    /// Prefetches all cache lines of the given rows.
    #[inline(always)]
    fn prefetch_rows(layout: &RowLayout<'_>, rows: &[u32]) {
        for row in rows {
            for line in layout.row(*row).chunks_exact(CACHE_LINE_BYTES) {
                prefetch_line(line.as_ptr().cast());
            }
        }
    }

    /// The sum of eight numbers.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn total(sum: __m256i) -> i32 {
        let pairs = _mm256_hadd_epi32(sum, sum);
        let pairs = _mm256_hadd_epi32(pairs, pairs);
        let total = _mm_add_epi32(_mm256_castsi256_si128(pairs), _mm256_extracti128_si256::<1>(pairs));
        _mm_cvtsi128_si32(total)
    }

    /// Computes sixteen partial sums of the dot product of each row with the query.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
    fn dot_products<const ROWS: usize>(rows: [&[u8]; ROWS], query: &[i8]) -> [__m512i; ROWS] {
        let low_bits = _mm512_set1_epi8(0x0f);
        let mut sums = [_mm512_setzero_si512(); ROWS];
        for (index, part) in query.as_chunks::<LINE_COMPONENTS>().0.iter().enumerate() {
            // SAFETY: 64 readable bytes each.
            let (lower_query, upper_query) = unsafe {
                (_mm512_loadu_si512(part.as_ptr().cast()), _mm512_loadu_si512(part[CACHE_LINE_BYTES..].as_ptr().cast()))
            };
            for (sum, row) in sums.iter_mut().zip(rows) {
                let line = &row[index * CACHE_LINE_BYTES..][..CACHE_LINE_BYTES];
                // SAFETY: 64 readable bytes.
                let line = unsafe { _mm512_loadu_si512(line.as_ptr().cast()) };
                let lower = _mm512_and_si512(line, low_bits);
                let upper = _mm512_and_si512(_mm512_srli_epi16::<4>(line), low_bits);
                *sum = _mm512_dpbusd_epi32(*sum, lower, lower_query);
                *sum = _mm512_dpbusd_epi32(*sum, upper, upper_query);
            }
        }
        sums
    }

    /// Looks up four bits of 32 rows at once with the byte shuffle instruction (Andre et al., Cache locality is not
    /// enough, 2015).
    #[target_feature(enable = "avx2")]
    pub fn score_binary_codes_avx2(
        layout: RowLayout<'_>,
        groups: &[u32],
        tables: &[CodeTable],
        scores: &mut [[u16; GROUP_ROWS]],
    ) {
        /// Number of tables per step: one for each half of a register.
        const STEP: usize = 2;
        let low_bits = _mm256_set1_epi8(0x0f);
        for (group, rows) in groups.iter().zip(scores) {
            let (steps, _) = layout.row(*group).as_chunks::<{ STEP * TABLE_BYTES }>();
            let mut sums = [_mm256_setzero_si256(); 2];
            let words = steps.chunks_exact(WORD_TABLES / STEP).zip(tables.chunks_exact(WORD_TABLES));
            for (steps, tables) in words {
                let mut word_sums = [_mm256_setzero_si256(); 2];
                for (bytes, tables) in steps.iter().zip(tables.as_chunks::<STEP>().0) {
                    // SAFETY: 32 readable bytes each.
                    let (bytes, tables) = unsafe {
                        (_mm256_loadu_si256(bytes.as_ptr().cast()), _mm256_loadu_si256(tables.as_ptr().cast()))
                    };
                    let lower = _mm256_and_si256(bytes, low_bits);
                    let upper = _mm256_and_si256(_mm256_srli_epi16::<4>(bytes), low_bits);
                    word_sums[0] = _mm256_add_epi8(word_sums[0], _mm256_shuffle_epi8(tables, lower));
                    word_sums[1] = _mm256_add_epi8(word_sums[1], _mm256_shuffle_epi8(tables, upper));
                }
                for (sum, word) in sums.iter_mut().zip(word_sums) {
                    let even = _mm256_cvtepu8_epi16(_mm256_castsi256_si128(word));
                    let odd = _mm256_cvtepu8_epi16(_mm256_extracti128_si256::<1>(word));
                    *sum = _mm256_add_epi16(*sum, _mm256_add_epi16(even, odd));
                }
            }
            // SAFETY: 64 writable bytes.
            unsafe {
                _mm256_storeu_si256(rows.as_mut_ptr().cast(), sums[0]);
                _mm256_storeu_si256(rows[TABLE_BYTES..].as_mut_ptr().cast(), sums[1]);
            }
        }
    }

    #[target_feature(enable = "avx2")]
    pub fn mask_at_least_avx2(scores: &[u16; GROUP_ROWS], floor: u16) -> u32 {
        let floor = _mm256_set1_epi16(floor as i16);
        let [low, high] = [0, GROUP_ROWS / 2].map(|start| {
            // SAFETY: 32 readable bytes.
            let half = unsafe { _mm256_loadu_si256(scores[start..].as_ptr().cast()) };
            _mm256_cmpeq_epi16(_mm256_max_epu16(half, floor), half)
        });
        // The pack instruction works within halves of 128 bits, so the middle two quarters of the result must be
        // swapped.
        let packed = _mm256_permute4x64_epi64::<0b11_01_10_00>(_mm256_packs_epi16(low, high));
        _mm256_movemask_epi8(packed) as u32
    }

    #[target_feature(enable = "avx2")]
    pub fn cosine_avx2(query: &[f32], stored: &[bf16]) -> f32 {
        const HALF: usize = SUMS / 2;
        let (mut dots, mut squares) = ([_mm256_setzero_ps(); 2], [_mm256_setzero_ps(); 2]);
        let (query_chunks, query_rest) = query.as_chunks::<SUMS>();
        let (stored_chunks, stored_rest) = stored.as_chunks::<SUMS>();
        for (query_chunk, stored_chunk) in query_chunks.iter().zip(stored_chunks) {
            for half in 0..2 {
                let (of_query, of_stored) = (&query_chunk[half * HALF..][..HALF], &stored_chunk[half * HALF..][..HALF]);
                // SAFETY: both slices have `HALF` elements, which is what the loads read.
                let (query, bits) = unsafe {
                    (_mm256_loadu_ps(of_query.as_ptr()), _mm_loadu_si128(of_stored.as_ptr().cast::<__m128i>()))
                };
                let component = _mm256_castsi256_ps(_mm256_slli_epi32::<16>(_mm256_cvtepu16_epi32(bits)));
                dots[half] = _mm256_add_ps(dots[half], _mm256_mul_ps(query, component));
                squares[half] = _mm256_add_ps(squares[half], _mm256_mul_ps(component, component));
            }
        }
        cosine_of_sums(&sums(dots), &sums(squares), query_rest, stored_rest)
    }

    #[target_feature(enable = "avx2")]
    fn sums(halves: [__m256; 2]) -> [f32; SUMS] {
        let mut sums = [0f32; SUMS];
        // SAFETY: `sums` has room for the eight floats of each half.
        unsafe {
            _mm256_storeu_ps(sums.as_mut_ptr(), halves[0]);
            _mm256_storeu_ps(sums.as_mut_ptr().add(SUMS / 2), halves[1]);
        }
        sums
    }

    /// Prefetches the cache line at an address.
    #[inline(always)]
    pub fn prefetch_line(address: *const i8) {
        // SAFETY: a prefetch does not change memory, and ignores addresses that do not exist.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(address) };
    }

    #[target_feature(enable = "avx2")]
    pub fn dot_products_avx2(vectors: &[f32], dimensions: usize) -> Vec<f32> {
        dot_products_portable(vectors, dimensions)
    }

    #[target_feature(enable = "avx2")]
    pub fn products_with_avx2(queries: &[f32], rows: &[f32], dimensions: usize, products: &mut Vec<f32>) {
        products_with_portable(queries, rows, dimensions, products);
    }

    #[target_feature(enable = "avx2")]
    pub fn scan_avx2(layout: RowLayout<'_>, rows: &[u32], query: &[i8], top: &mut TopRows) {
        let (groups, rest) = rows.as_chunks::<ROWS_AT_ONCE>();
        for (index, group) in groups.iter().enumerate() {
            for offset in 0..ROWS_AT_ONCE {
                prefetch(&layout, rows, index * ROWS_AT_ONCE + offset);
            }
            let sums = small_dot_products(group.map(|row| layout.row(row)), query);
            offer_group(group, sums, top);
        }
        for row in rest {
            let [sum] = small_dot_products([layout.row(*row)], query);
            top.offer(total(sum), *row);
        }
    }

    /// Eight partial sums of the dot product of each row with the query. The 8-bit multiply-add instruction adds two
    /// products of at most 15 × 127; four of these sums fit 16 bits.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn small_dot_products<const ROWS: usize>(rows: [&[u8]; ROWS], query: &[i8]) -> [__m256i; ROWS] {
        const STEP: usize = CACHE_LINE_BYTES / 2;
        let (low_bits, ones) = (_mm256_set1_epi8(0x0f), _mm256_set1_epi16(1));
        let mut sums = [_mm256_setzero_si256(); ROWS];
        for (index, part) in query.as_chunks::<LINE_COMPONENTS>().0.iter().enumerate() {
            // SAFETY: 32 readable bytes each.
            let query_parts: [__m256i; LINE_COMPONENTS / STEP] =
                std::array::from_fn(|at| unsafe { _mm256_loadu_si256(part[at * STEP..][..STEP].as_ptr().cast()) });
            for (sum, row) in sums.iter_mut().zip(rows) {
                let line = &row[index * CACHE_LINE_BYTES..][..CACHE_LINE_BYTES];
                // SAFETY: 32 readable bytes each.
                let [first, second] =
                    [0, STEP].map(|start| unsafe { _mm256_loadu_si256(line[start..][..STEP].as_ptr().cast()) });
                let upper = |bytes| _mm256_and_si256(_mm256_srli_epi16::<4>(bytes), low_bits);
                let pairs = [
                    _mm256_maddubs_epi16(_mm256_and_si256(first, low_bits), query_parts[0]),
                    _mm256_maddubs_epi16(_mm256_and_si256(second, low_bits), query_parts[1]),
                    _mm256_maddubs_epi16(upper(first), query_parts[2]),
                    _mm256_maddubs_epi16(upper(second), query_parts[3]),
                ];
                let pairs =
                    _mm256_add_epi16(_mm256_add_epi16(pairs[0], pairs[1]), _mm256_add_epi16(pairs[2], pairs[3]));
                *sum = _mm256_add_epi32(*sum, _mm256_madd_epi16(pairs, ones));
            }
        }
        sums
    }
}

/// The cosine similarity of a unit query and a stored vector, both `[dimensions]`. The dot product is divided by the
/// length of the stored vector, because rounding to bf16 changes that length by up to a thousandth. All instruction
/// sets compute the same sums in the same order, so the result is the same on every processor.
pub fn cosine(query: &[f32], stored: &[bf16]) -> f32 {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx2") {
        // SAFETY: the processor has the feature that the function is compiled for.
        return unsafe { x86::cosine_avx2(query, stored) };
    }
    cosine_portable(query, stored)
}

/// Number of partial sums of `cosine` and `dot`.
const SUMS: usize = 16;

fn cosine_portable(query: &[f32], stored: &[bf16]) -> f32 {
    let (mut dots, mut squares) = ([0f32; SUMS], [0f32; SUMS]);
    let (query_chunks, query_rest) = query.as_chunks::<SUMS>();
    let (stored_chunks, stored_rest) = stored.as_chunks::<SUMS>();
    for (query_chunk, stored_chunk) in query_chunks.iter().zip(stored_chunks) {
        for lane in 0..SUMS {
            let component = bf16_to_f32(stored_chunk[lane]);
            dots[lane] += query_chunk[lane] * component;
            squares[lane] += component * component;
        }
    }
    cosine_of_sums(&dots, &squares, query_rest, stored_rest)
}

/// The cosine similarity from the partial sums of products and of squares, and from the remaining components, which
/// these sums lack.
#[inline(always)]
fn cosine_of_sums(dots: &[f32; SUMS], squares: &[f32; SUMS], query_rest: &[f32], stored_rest: &[bf16]) -> f32 {
    let (mut dot, mut square) = (dots.iter().sum::<f32>(), squares.iter().sum::<f32>());
    for (query_component, stored) in query_rest.iter().zip(stored_rest) {
        dot += query_component * bf16_to_f32(*stored);
        square += bf16_to_f32(*stored) * bf16_to_f32(*stored);
    }
    dot / square.sqrt()
}

/// Prefetches a stored vector into the cache.
pub fn prefetch_vector(stored: &[bf16]) {
    #[cfg(target_arch = "x86_64")]
    for line in stored.chunks(CACHE_LINE_BYTES / size_of::<bf16>()) {
        x86::prefetch_line(line.as_ptr().cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = stored;
}

/// Converts a stored vector to a unit vector of the same number of components.
pub fn to_unit(stored: &[bf16], unit: &mut [f32]) {
    for (component, stored_component) in unit.iter_mut().zip(stored) {
        *component = bf16_to_f32(*stored_component);
    }
    let length = unit.iter().map(|component| component * component).sum::<f32>().sqrt();
    unit.iter_mut().for_each(|component| *component /= length);
}

/// The dot products of all pairs of vectors, row-major `[vectors, vectors]`. `vectors` is row-major
/// `[vectors, dimensions]`; on the diagonal, the result is 1 for a vector without NaN.
pub fn dot_products(vectors: &[f32], dimensions: usize) -> Vec<f32> {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx2") {
        // SAFETY: the processor has the feature that the function is compiled for.
        return unsafe { x86::dot_products_avx2(vectors, dimensions) };
    }
    dot_products_portable(vectors, dimensions)
}

#[inline(always)]
fn dot_products_portable(vectors: &[f32], dimensions: usize) -> Vec<f32> {
    let rows: Vec<&[f32]> = vectors.chunks_exact(dimensions).collect();
    let mut products = vec![0.0; rows.len() * rows.len()];
    for (at, row) in rows.iter().enumerate() {
        products[at * rows.len() + at] = if row[0].is_nan() { f32::NAN } else { 1.0 };
        for (other_at, other) in rows.iter().enumerate().skip(at + 1) {
            let product = dot(row, other);
            products[at * rows.len() + other_at] = product;
            products[other_at * rows.len() + at] = product;
        }
    }
    products
}

/// Stores the dot products of each query with each row in `products`, row-major `[queries, rows]`. `queries` and `rows`
/// are row-major with `dimensions` components each.
pub fn products_with(queries: &[f32], rows: &[f32], dimensions: usize, products: &mut Vec<f32>) {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx2") {
        // SAFETY: the processor has the feature that the function is compiled for.
        return unsafe { x86::products_with_avx2(queries, rows, dimensions, products) };
    }
    products_with_portable(queries, rows, dimensions, products);
}

#[inline(always)]
fn products_with_portable(queries: &[f32], rows: &[f32], dimensions: usize, products: &mut Vec<f32>) {
    products.clear();
    for query in queries.chunks_exact(dimensions) {
        products.extend(rows.chunks_exact(dimensions).map(|row| dot(query, row)));
    }
}

/// The dot product of two vectors of the same number of components, in lanes, so that the compiler vectorises the loop.
#[inline(always)]
fn dot(left: &[f32], right: &[f32]) -> f32 {
    let mut sums = [0f32; SUMS];
    let ((left_chunks, left_rest), (right_chunks, right_rest)) = (left.as_chunks::<SUMS>(), right.as_chunks::<SUMS>());
    let rest: f32 = left_rest.iter().zip(right_rest).map(|(left, right)| left * right).sum();
    for (left_chunk, right_chunk) in left_chunks.iter().zip(right_chunks) {
        for lane in 0..SUMS {
            sums[lane] += left_chunk[lane] * right_chunk[lane];
        }
    }
    sums.iter().sum::<f32>() + rest
}

/// `bf16::to_f32` without its branch for NaN, which would slow down the loops.
#[inline(always)]
fn bf16_to_f32(component: bf16) -> f32 {
    f32::from_bits(u32::from(component.to_bits()) << 16)
}

#[cfg(test)]
mod tests {
    use super::*;
    use mneme_testing::Chance;

    type Scan = unsafe fn(RowLayout<'_>, &[u32], &[i8], &mut TopRows);

    #[test]
    fn every_instruction_set_finds_the_same_rows_as_plain_arithmetic() {
        let mut chance = Chance::new();
        let (row_bytes, rows) = (3 * CACHE_LINE_BYTES, BLOCK_ROWS as u32 + 100);
        let extreme = |chance: &mut Chance| [0u8, 15, 255, chance.bits() as u8][chance.below(4)];
        let blocks: Vec<Vec<u8>> =
            (0..2).map(|_| (0..BLOCK_ROWS * row_bytes).map(|_| extreme(&mut chance)).collect()).collect();
        let blocks: Vec<&[u8]> = blocks.iter().map(Vec::as_slice).collect();
        let layout = RowLayout { blocks: &blocks, row_bytes };
        let query: Vec<i8> =
            (0..2 * row_bytes).map(|_| [-127, 127, chance.bits() as i8 / 2][chance.below(3)]).collect();
        let subset: Vec<u32> = (0..rows).filter(|_| chance.below(3) > 0).collect();

        let component = |row: &[u8], at: usize| {
            let byte = row[at / LINE_COMPONENTS * CACHE_LINE_BYTES + at % CACHE_LINE_BYTES];
            i32::from(if at % LINE_COMPONENTS < CACHE_LINE_BYTES { byte & 15 } else { byte >> 4 })
        };
        let mut expected: Vec<(i32, u32)> = subset
            .iter()
            .map(|row| {
                let products = query.iter().enumerate().map(|(at, x)| component(layout.row(*row), at) * i32::from(*x));
                (products.sum(), *row)
            })
            .collect();
        expected.sort_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(&b.1)));
        let mut expected: Vec<u32> = expected.into_iter().take(10).map(|(_, row)| row).collect();
        expected.sort_unstable();

        let mut scans: Vec<(&str, Scan)> = vec![("portable", scan_portable), ("chosen", scan)];
        #[cfg(target_arch = "x86_64")]
        {
            if is_x86_feature_detected!("avx2") {
                scans.push(("avx2", x86::scan_avx2));
            }
            if is_x86_feature_detected!("avx512vnni") {
                scans.push(("avx512", x86::scan_avx512));
            }
        }
        for (name, scan) in scans {
            let mut top = TopRows::new(10);
            // SAFETY: only instruction sets that the processor has were listed.
            unsafe { scan(layout, &subset, &query, &mut top) };
            let mut found = top.into_rows();
            found.sort_unstable();
            assert_eq!(found, expected, "{name}");
        }
    }

    type ScoreRows = unsafe fn(RowLayout<'_>, &[u32], &[i8], &mut Vec<i32>);

    #[test]
    fn every_instruction_set_scores_single_rows_like_plain_arithmetic() {
        let mut chance = Chance::new();
        let (row_bytes, rows) = (2 * CACHE_LINE_BYTES, 40u32);
        let block: Vec<u8> = (0..rows as usize * row_bytes).map(|_| chance.bits() as u8).collect();
        let layout = RowLayout { blocks: &[&block], row_bytes };
        let query: Vec<i8> =
            (0..2 * row_bytes).map(|_| [-127, 127, chance.bits() as i8 / 2][chance.below(3)]).collect();
        let mut ways: Vec<(&str, ScoreRows)> = vec![("chosen", score_rows)];
        #[cfg(target_arch = "x86_64")]
        {
            if is_x86_feature_detected!("avx2") {
                ways.push(("avx2", x86::score_rows_avx2));
            }
            if is_x86_feature_detected!("avx512vnni") {
                ways.push(("avx512", x86::score_rows_avx512));
            }
        }
        for count in [0, 1, 3, 4, 5, 32] {
            let subset: Vec<u32> = (0..count).map(|_| chance.below(rows as usize) as u32).collect();
            let expected: Vec<i32> = subset.iter().map(|row| dot_product_portable(layout.row(*row), &query)).collect();
            for (name, way) in &ways {
                let mut scores = Vec::new();
                // SAFETY: only instruction sets that the processor has were listed.
                unsafe { way(layout, &subset, &query, &mut scores) };
                assert_eq!(scores, expected, "{name}");
            }
        }
    }

    type CodeScan = unsafe fn(RowLayout<'_>, &[u32], &[CodeTable], &mut [[u16; GROUP_ROWS]]);

    #[test]
    fn every_instruction_set_scores_binary_codes_like_plain_arithmetic() {
        let mut chance = Chance::new();
        let mut scans: Vec<(&str, CodeScan)> =
            vec![("portable", score_binary_codes_portable), ("chosen", score_binary_codes)];
        #[cfg(target_arch = "x86_64")]
        if is_x86_feature_detected!("avx2") {
            scans.push(("avx2", x86::score_binary_codes_avx2));
        }
        for words in [1, 6, 64] {
            let tables: Vec<CodeTable> = (0..words * WORD_TABLES)
                .map(|_| std::array::from_fn(|_| [31, chance.below(32) as u8][chance.below(2)]))
                .collect();
            let row_bytes = tables.len() * TABLE_BYTES;
            let block = |groups: usize, chance: &mut Chance| -> Vec<u8> {
                (0..groups * row_bytes).map(|_| [255, chance.bits() as u8][chance.below(2)]).collect()
            };
            let full = if words == 1 { BLOCK_ROWS } else { 30 };
            let (first, second) = (block(full, &mut chance), block(20, &mut chance));
            let blocks = [&first[..], &second[..]];
            let layout = RowLayout { blocks: &blocks, row_bytes };
            let mut groups = vec![full as u32 - 1, 3, 4, 29];
            if full == BLOCK_ROWS {
                groups.extend([full as u32, full as u32 + 19]);
            }
            let plain = |group: u32, row: usize| -> u16 {
                let bytes = layout.row(group).chunks_exact(TABLE_BYTES).map(|bytes| bytes[row % TABLE_BYTES]);
                let bits = bytes.map(|byte| if row < TABLE_BYTES { byte & 15 } else { byte >> 4 });
                bits.zip(&tables).map(|(bits, table)| u16::from(table[usize::from(bits)])).sum()
            };
            let expected: Vec<[u16; GROUP_ROWS]> =
                groups.iter().map(|group| std::array::from_fn(|row| plain(*group, row))).collect();
            for (name, scan) in &scans {
                let mut scores = vec![[7; GROUP_ROWS]; groups.len()];
                // SAFETY: only instruction sets that the processor has were listed.
                unsafe { scan(layout, &groups, &tables, &mut scores) };
                assert_eq!(scores, expected, "{name}, {words} words");
            }
        }
    }

    #[test]
    fn the_mask_of_scores_at_least_a_floor_is_right_for_every_row() {
        let mut chance = Chance::new();
        for _ in 0..500 {
            let greatest = [3, 40_000, 65_536][chance.below(3)];
            let scores: [u16; GROUP_ROWS] = std::array::from_fn(|_| chance.below(greatest) as u16);
            for floor in [scores[chance.below(GROUP_ROWS)], chance.below(greatest) as u16, 0, u16::MAX] {
                let mask = mask_at_least(&scores, floor);
                assert_eq!(mask, mask_at_least_portable(&scores, floor));
                for (row, score) in scores.iter().enumerate() {
                    assert_eq!(mask >> row & 1 == 1, *score >= floor, "{score} of row {row}, floor {floor}");
                }
            }
        }
    }

    #[test]
    fn the_cosine_equals_the_definition() {
        let mut chance = Chance::new();
        for dimensions in [1, 3, 16, 17, 384] {
            let (query, stored) = (chance.unit_vector(dimensions), chance.unit_vector(dimensions));
            let rounded: Vec<bf16> = stored.iter().map(|x| bf16::from_f32(*x)).collect();
            let dot: f64 = query.iter().zip(&rounded).map(|(a, b)| f64::from(*a) * b.to_f64()).sum();
            let norm: f64 = rounded.iter().map(|x| x.to_f64() * x.to_f64()).sum::<f64>().sqrt();
            assert!((f64::from(cosine(&query, &rounded)) - dot / norm).abs() < 1e-5);
        }
    }

    #[test]
    fn every_instruction_set_computes_the_same_bits_of_cosines_and_dot_products() {
        let mut chance = Chance::new();
        for dimensions in [1, 17, 384, 1_000] {
            let (query, stored) = (chance.unit_vector(dimensions), chance.unit_vector(dimensions));
            let rounded: Vec<bf16> = stored.iter().map(|x| bf16::from_f32(*x)).collect();
            assert_eq!(cosine(&query, &rounded).to_bits(), cosine_portable(&query, &rounded).to_bits());
            let vectors = [query, stored].concat();
            assert_eq!(dot_products(&vectors, dimensions), dot_products_portable(&vectors, dimensions));
        }
    }
}
