//! Finds exactly the best chunks of a segment without scoring all of them (MaxScore; Turtle and Flood 1995).
//!
//! A clause is one query word in one field. Clauses are sorted by weight, heaviest first. Once `limit` hits are known,
//! a document can only become a hit if it scores at least as high as the worst of them (`floor`). A document that
//! occurs only in the lightest clauses may be unable to reach the floor. Then only documents of the other clauses, the
//! essential ones, can become hits. The light clauses have the longest posting lists; they are looked up only for
//! documents that can still become hits.
//!
//! Documents are processed in windows, so that the floor rises during the search of a segment. The scores of a window
//! fit the processor's first-level cache. Times: docs/measurements.md, "Finding the best chunks without scoring all of
//! them".

use crate::filters::memory_set::MemorySet;
use crate::hit::{BestHits, Hit};
use crate::text::bm25::{ClauseScorer, WINDOW_DOCS, Window};
use crate::text::snapshot::Segment;

/// Safety margin that is added to upper bounds of scores. A score is a sum of rounded numbers, two for each word of the
/// query, that add up to at most 1; its bound is another such sum. For up to 80 words, rounding changes the difference
/// of the two by less than this margin.
const ROUNDING_ERROR_MAX: f32 = 2e-5;

/// A set is small if it has fewer memories than the number of chunks divided by this. For a small set, looking up its
/// documents one by one may be faster than reading the posting lists.
pub(crate) const SMALL_SET_DIVISOR: u64 = 8;

/// Cost of looking up one document in a posting list, as the number of postings that could be read in sequence in the
/// same time.
const LOOK_UP_COST_POSTINGS: u64 = 16;

/// Number of scores that are compared at once; a divisor of `WINDOW_DOCS`.
const SCORES_AT_ONCE: usize = 16;

/// Buffers of one search, reused for every window.
#[derive(Default)]
pub(crate) struct Scratch {
    window: Window,
    candidates: Vec<Candidate>,
}

/// A document that may be among the best.
#[derive(Clone, Copy)]
struct Candidate {
    doc: u32,
    /// Sum of the scores of the clauses that were added so far.
    score: f32,
}

/// Upper bounds for the sum of the remaining clauses. Entry n is the most that the clauses from number n on can add
/// together to the score of a live document. The last entry, after all clauses, has only the rounding margin.
struct RemainingBounds {
    with_context: Vec<f32>,
    without_context: Vec<f32>,
}

impl RemainingBounds {
    fn new(clauses: &[ClauseScorer<'_>], segment: &Segment) -> RemainingBounds {
        let some_lack_context = segment.chunks_without_context > 0;
        let all_lack_context = segment.chunks_without_context == segment.chunks;
        let mut bounds = RemainingBounds {
            with_context: vec![ROUNDING_ERROR_MAX; clauses.len() + 1],
            without_context: vec![ROUNDING_ERROR_MAX; clauses.len() + 1],
        };
        for (number, clause) in clauses.iter().enumerate().rev() {
            let (with_context, without_context) = clause.score_bounds();
            let bound_if = |exists, bound| if exists { bound } else { 0.0 };
            bounds.with_context[number] = bounds.with_context[number + 1] + bound_if(!all_lack_context, with_context);
            bounds.without_context[number] =
                bounds.without_context[number + 1] + bound_if(some_lack_context, without_context);
        }
        bounds
    }

    /// Upper bound for the sum of the clauses from number `clause` on, for any document.
    fn of_any_document(&self, clause: usize) -> f32 {
        self.with_context[clause].max(self.without_context[clause])
    }

    /// Upper bound for the sum of the clauses from number `clause` on, for documents with or without a context text.
    #[inline]
    fn of_document(&self, clause: usize, has_context: bool) -> f32 {
        if has_context { self.with_context[clause] } else { self.without_context[clause] }
    }
}

/// Offers the live chunks of the segment that are in the set to `best`, except those that cannot become hits. The
/// cursors of `clauses` must be at their first postings. `is_small` says whether the set is small
/// (`SMALL_SET_DIVISOR`).
pub(crate) fn collect_best(
    segment: &Segment,
    clauses: &mut [ClauseScorer<'_>],
    set: &MemorySet,
    is_small: bool,
    best: &mut BestHits,
    scratch: &mut Scratch,
) {
    let bounds = RemainingBounds::new(clauses, segment);
    let mut search = SegmentSearch { segment, bounds, clauses, set, best, docs_above_bar: 1, docs_admissible: 1 };
    if is_small {
        let admissible = search.admissible_documents();
        let postings: u64 = search.clauses.iter().map(|clause| clause.postings).sum();
        if admissible.len() as u64 * search.clauses.len() as u64 * LOOK_UP_COST_POSTINGS < postings {
            return search.score_documents(&admissible, scratch);
        }
    }
    search.score_windows(scratch);
}

struct SegmentSearch<'search, 'query> {
    segment: &'search Segment,
    clauses: &'search mut [ClauseScorer<'query>],
    bounds: RemainingBounds,
    set: &'search MemorySet,
    best: &'search mut BestHits,
    /// Number of documents so far whose score was high enough for a candidate, whether or not they were admissible.
    /// Starts at 1 to avoid a division by zero.
    docs_above_bar: u64,
    /// Number of those documents that were live and in the set. The ratio of both numbers predicts how many look-ups a
    /// clause will need.
    docs_admissible: u64,
}

impl SegmentSearch<'_, '_> {
    /// Scores these documents by looking up each one in all clauses.
    fn score_documents(&mut self, admissible: &[u32], scratch: &mut Scratch) {
        for docs in admissible.chunks(WINDOW_DOCS) {
            scratch.candidates.clear();
            scratch.candidates.extend(docs.iter().map(|doc| Candidate { doc: *doc, score: 0.0 }));
            self.complete_candidates(0, &mut scratch.candidates);
        }
    }

    /// Reads the posting lists window by window.
    fn score_windows(&mut self, scratch: &mut Scratch) {
        let documents = self.segment.reader.max_doc();
        for base in (0..documents).step_by(WINDOW_DOCS) {
            let floor = self.best.floor();
            let essential = (0..self.clauses.len()).position(|clause| self.bounds.of_any_document(clause) < floor);
            let essential = essential.unwrap_or(self.clauses.len());
            if essential == 0 {
                return;
            }
            scratch.window.move_to(base, self.clauses);
            let mut added = 0;
            while added < essential || self.is_walk_cheaper(added, floor, &scratch.window.scores) {
                self.clauses[added].score_window(&mut scratch.window);
                added += 1;
            }
            let bar = floor - self.bounds.of_any_document(added);
            self.collect_candidates(base, bar, scratch);
            self.complete_candidates(added, &mut scratch.candidates);
        }
    }

    /// Adds the admissible documents of the window whose score is at least `bar` to the candidates. Resets all scores
    /// to zero.
    fn collect_candidates(&mut self, base: u32, bar: f32, scratch: &mut Scratch) {
        scratch.candidates.clear();
        let is_above_bar = |score: f32| score > 0.0 && score >= bar;
        let (blocks, _) = scratch.window.scores.as_chunks_mut::<SCORES_AT_ONCE>();
        for (first, scores) in (base..).step_by(SCORES_AT_ONCE).zip(blocks) {
            // Few documents are above the bar, so a whole block is checked first, without branches.
            if scores.iter().fold(false, |any, score| any | is_above_bar(*score)) {
                for (doc, score) in (first..).zip(*scores).filter(|(_, score)| is_above_bar(*score)) {
                    self.docs_above_bar += 1;
                    if self.is_admissible(doc) {
                        scratch.candidates.push(Candidate { doc, score });
                    }
                }
            }
            *scores = [0.0; SCORES_AT_ONCE];
        }
        self.docs_admissible += scratch.candidates.len() as u64;
    }

    /// Whether reading a clause's postings in this window is cheaper than looking up the candidates. `scores` has, for
    /// each document, the sum of the earlier clauses, which include all essential ones.
    fn is_walk_cheaper(&self, clause: usize, floor: f32, scores: &[f32; WINDOW_DOCS]) -> bool {
        let Some(next) = self.clauses.get(clause) else { return false };
        let bar = floor - self.bounds.of_any_document(clause);
        let candidates: u32 = scores.iter().map(|score| u32::from(*score >= bar)).sum();
        let postings = next.postings * WINDOW_DOCS as u64 / u64::from(self.segment.reader.max_doc());
        u64::from(candidates) * self.docs_admissible / self.docs_above_bar * LOOK_UP_COST_POSTINGS > postings
    }

    /// Adds the scores of the clauses from number `first` on to the candidates. Drops candidates that can no longer
    /// become hits, and offers the others to `best`.
    fn complete_candidates(&mut self, first: usize, candidates: &mut Vec<Candidate>) {
        let floor = self.best.floor();
        for number in first..self.clauses.len() {
            candidates.retain_mut(|candidate| {
                candidate.score += self.clauses[number].score_document(candidate.doc);
                let has_context = self.segment.columns.has_context(candidate.doc);
                candidate.score + self.bounds.of_document(number + 1, has_context) >= floor
            });
        }
        for Candidate { doc, score } in candidates.iter().copied().filter(|candidate| candidate.score > 0.0) {
            let columns = &self.segment.columns;
            let (chunk_key, ordinal) = (columns.chunk_keys[doc as usize], columns.ordinals[doc as usize]);
            self.best.offer(Hit { chunk_key, ordinal, score });
        }
    }

    #[inline]
    fn is_admissible(&self, doc: u32) -> bool {
        self.set.contains(self.segment.columns.ordinals[doc as usize]) && self.segment.is_live(doc)
    }

    /// The live documents of the segment that are in the set, ascending.
    fn admissible_documents(&self) -> Vec<u32> {
        (0..self.segment.reader.max_doc()).filter(|doc| self.is_admissible(*doc)).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use crate::filters::memory_table::{MemoryTable, NEVER, VisibleMemory};
    use crate::hit::{Hit, keep_best};
    use crate::text::index::TextIndex;
    use crate::text::schema::TextChunk;
    use mneme_testing::{Chance, TempDir};

    use super::WINDOW_DOCS;

    const VOCABULARY: usize = 400;

    /// The test word with this number. It consists of letters and differs from all other test words by several edits.
    /// `random_text` draws high numbers less often.
    fn word(number: usize) -> String {
        let letter = |n: usize| char::from(b'a' + (n % 20) as u8);
        [letter(number), letter(number / 20), letter(number), letter(number / 20), 'x', letter(number / 20)]
            .iter()
            .collect()
    }

    fn random_text(chance: &mut Chance, words_max: usize) -> String {
        // The third power makes low numbers frequent, because word frequencies are uneven in real text.
        let mut draw = || {
            let unit = chance.below(1_000_000) as f64 / 1e6;
            word((unit * unit * unit * VOCABULARY as f64) as usize)
        };
        let words: Vec<String> = (0..words_max).map(|_| draw()).collect();
        words[..1 + chance.below(words_max)].join(" ")
    }

    struct Collection {
        memory_table: Arc<MemoryTable>,
        index: TextIndex,
        memories: u64,
    }

    /// Creates an index with three segments: one of more than two windows, a smaller one, and one of a single document.
    /// `with_context` says which memories have a context text. Every fifth memory is deleted.
    fn collection(directory: &TempDir, chance: &mut Chance, with_context: impl Fn(u64) -> bool) -> Collection {
        let memory_table = Arc::new(MemoryTable::default());
        let (index, _) = TextIndex::open(directory.path(), Arc::clone(&memory_table)).expect("opened");
        let mut memories = 0;
        for size in [WINDOW_DOCS as u64 * 2 + 300, 700, 1] {
            // Texts repeat, so that many scores are equal.
            let texts: Vec<(String, String)> =
                (0..size / 2 + 1).map(|_| (random_text(chance, 12), random_text(chance, 30))).collect();
            let keys: Vec<u64> = (memories + 1..=memories + size).collect();
            let chunks: Vec<TextChunk<'_>> = keys
                .iter()
                .zip(texts.iter().cycle())
                .map(|(key, (own, context))| TextChunk {
                    chunk_key: key * 7_919 % 1_000_003,
                    memory_key: *key,
                    own,
                    context: with_context(*key).then_some(context.as_str()),
                    language: "und",
                    passage: "",
                    place: "",
                    entity_record: &[],
                })
                .collect();
            index.publish(&keys, &chunks).expect("published");
            let visible_memory = |key: &u64| VisibleMemory { memory_key: *key, user_key: 1, expires_at_ms: NEVER };
            memory_table.show(&keys.iter().map(visible_memory).collect::<Vec<_>>());
            memories += size;
        }
        index.remove(&(1..=memories).filter(|key| key % 5 == 0).collect::<Vec<_>>()).expect("removed");
        Collection { memory_table, index, memories }
    }

    /// The hits with scores above 0, best first, found by scoring every chunk of the index without pruning.
    fn expected_hits(collection: &Collection, query: &str, is_in: impl Fn(u64) -> bool) -> Vec<Hit> {
        let chunks = collection.index.chunks();
        let keys: Vec<u64> = chunks.iter().map(|(key, _)| *key).collect();
        let memory_keys = collection.memory_table.memory_keys(chunks.iter().map(|(_, ordinal)| *ordinal));
        let scores = collection.index.score_chunks(query, &keys).expect("scored");
        let scored =
            chunks.iter().zip(memory_keys).zip(scores).filter(|((_, memory), score)| *score > 0.0 && is_in(*memory));
        let mut hits: Vec<Hit> = scored
            .map(|(((chunk_key, ordinal), _), score)| Hit { chunk_key: *chunk_key, ordinal: *ordinal, score })
            .collect();
        let all = hits.len();
        keep_best(&mut hits, all);
        hits
    }

    #[test]
    fn pruned_search_returns_the_same_hits_as_scoring_every_chunk() {
        let mut chance = Chance::new();
        type MemoryPredicate = fn(u64) -> bool;
        let contexts: [(&str, MemoryPredicate); 3] =
            [("none", |_| false), ("some", |key| key % 3 != 0), ("all", |_| true)];
        for (name, with_context) in contexts {
            let directory = TempDir::new("pruning");
            let collection = collection(&directory, &mut chance, with_context);
            for every in [1, 2, 10, 100, 3_000, u64::MAX] {
                let is_in = |memory: u64| memory % every == 1 % every;
                let visible_memory =
                    |key| VisibleMemory { memory_key: key, user_key: 1 + u64::from(!is_in(key)), expires_at_ms: NEVER };
                collection.memory_table.show(&(1..=collection.memories).map(visible_memory).collect::<Vec<_>>());
                let set = collection.memory_table.admit(Some(1), 0);
                for words_max in [1, 3, 6, 15, 40] {
                    let query = random_text(&mut chance, words_max);
                    let expected = expected_hits(&collection, &query, is_in);
                    for limit in [1, 10, 200, 2_000, 20_000] {
                        let hits = collection.index.search(&query, &set, limit).expect("searched");
                        assert_eq!(hits, expected[..limit.min(expected.len())], "{name} 1/{every} {limit}: {query}");
                    }
                }
            }
        }
    }
}
