//! What a search finds, and in which order it is given.

use std::cmp::Ordering;

/// One chunk that a search found.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Hit {
    /// The chunk.
    pub chunk_key: u64,
    /// Its memory, as `filters::candidates` numbers them.
    pub ordinal: u32,
    /// The engine's score; higher is better, comparable only within one engine.
    pub score: f32,
}

/// Sorts best first and keeps `limit`. Equal scores go by chunk key, so that the same question has the same answer
/// whatever order segments and rows are in.
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

/// Collects hits and keeps only the best, in memory of the order of the limit.
#[derive(Debug)]
pub struct BestHits {
    limit: usize,
    /// The worst score that can still be among the best.
    floor: f32,
    hits: Vec<Hit>,
    /// How many of the hits are the best of all so far.
    kept: usize,
}

impl BestHits {
    /// Room for the `limit` best.
    pub fn new(limit: usize) -> Self {
        BestHits { limit, floor: f32::NEG_INFINITY, hits: Vec::new(), kept: 0 }
    }

    /// Takes a hit into account.
    #[inline]
    pub fn offer(&mut self, hit: Hit) {
        if hit.score < self.floor {
            return;
        }
        self.hits.push(hit);
        // Sorting once per many offers; 512 keeps small limits from sorting all the time.
        if self.hits.len() >= self.limit * 2 + 512 {
            self.keep();
        }
    }

    /// The worst score that can still be among the best, given all hits so far: who scores less need not be offered.
    pub fn floor(&mut self) -> f32 {
        if self.hits.len() > self.kept {
            self.keep();
        }
        self.floor
    }

    fn keep(&mut self) {
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

    /// The best, best first.
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
    fn the_best_come_first_and_equals_by_key() {
        let hit = |chunk_key, score| Hit { chunk_key, ordinal: 0, score };
        let mut hits = vec![hit(4, 0.5), hit(3, 0.9), hit(2, 0.5), hit(1, 0.1)];
        keep_best(&mut hits, 3);
        assert_eq!(hits, [hit(3, 0.9), hit(2, 0.5), hit(4, 0.5)]);
        keep_best(&mut hits, 0);
        assert!(hits.is_empty());
    }

    #[test]
    fn the_best_of_many_are_those_of_a_full_sort() {
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
