//! Finds the exact nearest of many vectors, from their f32 components and without an index. `mneme bench scale`
//! compares the results of searches with them.

use std::cmp::Ordering;
use std::num::NonZero;

use crate::error::{Error, Result};
use crate::vectors::kernels;

/// Number of rows whose products with all queries are computed before the next rows are read. They stay in the
/// processor's cache meanwhile: 96 KB for 384 dimensions.
const BLOCK_ROWS: usize = 64;

/// A row and its dot product with a query.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Neighbour {
    /// Number of the row.
    pub row: u32,
    /// Dot product; the cosine similarity of unit vectors.
    pub score: f32,
}

/// The `limit` rows with the highest dot products for each query, best first; of equal ones the first. `queries` and
/// `rows` are row-major with `dimensions` components each. Uses all processors: each takes a part of the queries and
/// reads all rows once. Fails with `Invalid` if a length is not a multiple of `dimensions`.
pub fn nearest(queries: &[f32], rows: &[f32], dimensions: usize, limit: usize) -> Result<Vec<Vec<Neighbour>>> {
    let is_whole = |values: &[f32]| dimensions > 0 && values.len().is_multiple_of(dimensions);
    if !is_whole(queries) || !is_whole(rows) || u32::try_from(rows.len() / dimensions).is_err() {
        return Err(Error::invalid(format!(
            "{} and {} components are no vectors of {dimensions} dimensions",
            queries.len(),
            rows.len()
        )));
    }
    let threads = std::thread::available_parallelism().map_or(1, NonZero::get);
    let part = (queries.len() / dimensions).div_ceil(threads).max(1) * dimensions;
    Ok(std::thread::scope(|scope| {
        let parts = queries.chunks(part);
        let running: Vec<_> =
            parts.map(|part| scope.spawn(move || nearest_of_part(part, rows, dimensions, limit))).collect();
        let finished =
            running.into_iter().map(|thread| thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        finished.flatten().collect()
    }))
}

fn nearest_of_part(queries: &[f32], rows: &[f32], dimensions: usize, limit: usize) -> Vec<Vec<Neighbour>> {
    let mut best: Vec<Vec<Neighbour>> = vec![Vec::with_capacity(limit + 1); queries.len() / dimensions];
    let mut products = Vec::new();
    for (block, vectors) in rows.chunks(BLOCK_ROWS * dimensions).enumerate() {
        kernels::products_with(queries, vectors, dimensions, &mut products);
        let block_rows = vectors.len() / dimensions;
        for (best, products) in best.iter_mut().zip(products.chunks_exact(block_rows)) {
            for (row, score) in products.iter().enumerate() {
                keep(best, Neighbour { row: (block * BLOCK_ROWS + row) as u32, score: *score }, limit);
            }
        }
    }
    best
}

/// Inserts a row after those with the same score or a higher one. If there are then more than `limit`, drops the last.
fn keep(best: &mut Vec<Neighbour>, found: Neighbour, limit: usize) {
    if best.len() >= limit && best.last().is_none_or(|worst| found.score <= worst.score) {
        return;
    }
    let place = best.partition_point(|other| other.score.total_cmp(&found.score) != Ordering::Less);
    best.insert(place, found);
    best.truncate(limit);
}

#[cfg(test)]
mod tests {
    use super::*;
    use mneme_testing::Chance;

    #[test]
    fn the_nearest_are_those_of_sorting_all_products() {
        let mut chance = Chance::new();
        for (dimensions, rows, queries, limit) in [(1, 1, 1, 1), (7, 200, 9, 10), (24, 130, 3, 500), (16, 64, 5, 0)] {
            let mut draw =
                |count: usize| -> Vec<f32> { (0..count).flat_map(|_| chance.unit_vector(dimensions)).collect() };
            let (asked, mut stored) = (draw(queries), draw(rows));
            // A copy comes behind its original.
            let last = stored.len() - dimensions;
            stored.copy_within(..dimensions, last);
            let found = nearest(&asked, &stored, dimensions, limit).expect("whole vectors");
            assert_eq!(found.len(), queries);
            for (query, found) in asked.chunks_exact(dimensions).zip(found) {
                let product =
                    |row: &[f32]| query.iter().zip(row).map(|(left, right)| f64::from(left * right)).sum::<f64>();
                let mut truth: Vec<(f64, u32)> = stored.chunks_exact(dimensions).map(product).zip(0..).collect();
                truth.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
                truth.truncate(limit);
                assert_eq!(found.len(), truth.len());
                for (found, truth) in found.iter().zip(&truth) {
                    assert!((f64::from(found.score) - truth.0).abs() < 1e-5, "{found:?}, not {truth:?}");
                }
                let copies: Vec<u32> =
                    found.iter().map(|found| found.row).filter(|row| [0, rows as u32 - 1].contains(row)).collect();
                assert!(copies.is_sorted(), "{copies:?}");
            }
        }
    }

    #[test]
    fn vectors_that_are_cut_off_are_refused() {
        for (queries, rows, dimensions) in [(3, 4, 2), (4, 3, 2), (4, 4, 0)] {
            let refused = nearest(&vec![0.0; queries], &vec![0.0; rows], dimensions, 1);
            assert_eq!(refused.expect_err("refused").code(), "invalid");
        }
        assert!(nearest(&[], &[1.0], 1, 1).expect("no queries").is_empty());
        assert_eq!(nearest(&[1.0], &[], 1, 1).expect("no rows"), [vec![]]);
    }
}
