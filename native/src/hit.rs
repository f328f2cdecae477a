//! Hits of a search and their order.

use std::cmp::Ordering;

/// One chunk that a search found.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Hit {
    /// Key of the chunk.
    pub chunk_key: u64,
    /// Ordinal of its memory, from `filters::memory_table`.
    pub ordinal: u32,
    /// Score of the chunk; higher is better. Comparable only with other hits of the same search.
    pub score: f32,
}

/// One chunk that a hybrid search found, with both scores.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct HybridHit {
    /// Key of the chunk.
    pub chunk_key: u64,
    /// Key of its memory.
    pub memory_key: u64,
    /// Cosine similarity to the query; NaN if the chunk does not exist, or if its vector is damaged.
    pub cosine: f32,
    /// BM25 score; 0 if no word matches.
    pub text_score: f32,
}

/// Sorts hits, the best first, and keeps `limit` of them. Hits with equal scores are ordered by chunk key, so that
/// results do not depend on the order of segments and rows.
pub fn keep_best(hits: &mut Vec<Hit>, limit: usize) {
    if limit > 0 && hits.len() > limit {
        hits.select_nth_unstable_by(limit - 1, by_rank);
    }
    hits.truncate(limit);
    hits.sort_unstable_by(by_rank);
}

fn by_rank(a: &Hit, b: &Hit) -> Ordering {
    b.score.total_cmp(&a.score).then(a.chunk_key.cmp(&b.chunk_key))
}

/// Collects hits and keeps only the best. It needs memory in proportion to the limit.
#[derive(Debug)]
pub struct BestHits {
    limit: usize,
    /// A hit with a score below this one cannot be among the best.
    floor: f32,
    hits: Vec<Hit>,
    /// Number of hits that were left after the last pruning. Hits added since then follow them.
    kept: usize,
}

impl BestHits {
    /// Creates a collector that keeps the best `limit` hits.
    pub fn new(limit: usize) -> Self {
        BestHits { limit, floor: f32::NEG_INFINITY, hits: Vec::new(), kept: 0 }
    }

    /// Adds a hit, unless its score is too low.
    #[inline]
    pub fn offer(&mut self, hit: Hit) {
        if hit.score < self.floor {
            return;
        }
        self.hits.push(hit);
        // Prunes once per many hits; without the minimum of 512, a small limit would prune all the time.
        if self.hits.len() >= self.limit * 2 + 512 {
            self.prune();
        }
    }

    /// Returns the lowest score that can still be among the best. Hits with a lower score need not be added.
    pub fn floor(&mut self) -> f32 {
        if self.hits.len() > self.kept {
            self.prune();
        }
        self.floor
    }

    fn prune(&mut self) {
        if self.limit == 0 {
            self.hits.clear();
            self.floor = f32::INFINITY;
        } else if self.hits.len() >= self.limit {
            let (_, worst, _) = self.hits.select_nth_unstable_by(self.limit - 1, by_rank);
            self.floor = worst.score;
            self.hits.truncate(self.limit);
        }
        self.kept = self.hits.len();
    }

    /// Returns the best hits, the best first.
    pub fn into_sorted(mut self) -> Vec<Hit> {
        keep_best(&mut self.hits, self.limit);
        self.hits
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mneme_testing::Chance;

    #[test]
    fn hits_are_ordered_by_score_then_key() {
        let hit = |chunk_key, score| Hit { chunk_key, ordinal: 0, score };
        let mut hits = vec![hit(4, 0.5), hit(3, 0.9), hit(2, 0.5), hit(1, 0.1)];
        keep_best(&mut hits, 3);
        assert_eq!(hits, [hit(3, 0.9), hit(2, 0.5), hit(4, 0.5)]);
        keep_best(&mut hits, 0);
        assert!(hits.is_empty());
    }

    #[test]
    fn collected_hits_equal_a_full_sort() {
        let mut chance = Chance::new();
        for limit in [0, 1, 7, 600] {
            let hits: Vec<Hit> =
                (0..5_000).map(|chunk_key| Hit { chunk_key, ordinal: 0, score: chance.below(40) as f32 }).collect();
            let mut best = BestHits::new(limit);
            hits.iter().for_each(|hit| best.offer(*hit));
            let mut expected = hits;
            keep_best(&mut expected, limit);
            assert_eq!(best.into_sorted(), expected);
        }
    }
}
