//! Finds a segment's best chunks without scoring all of them, and finds exactly those (MaxScore; Turtle and Flood 1995).
//!
//! Parts of a query come heaviest first. Once `limit` hits are known, the lightest parts together may not lift a
//! document over the worst of them: then only documents of the other, essential parts can enter, and the light parts,
//! whose postings are the longest, are only looked up for those that still may. Documents go by in windows that fit the
//! processor's first cache, so that the bar rises while a segment is searched.

use crate::filters::memory_set::MemorySet;
use crate::hit::{BestHits, Hit};
use crate::text::bm25::{PartScorer, WINDOW, Window};
use crate::text::view::Segment;

/// Scores are sums of at most 128 rounded terms in 0..1, their bounds other sums; they differ by less than this.
const ROUNDING: f32 = 2e-5;

/// A set with fewer memories than this part of all chunks may be cheaper to search by its documents than by postings.
pub(crate) const SMALL_SET_DIVISOR: u64 = 8;

/// What looking up one document in a part's postings costs, in postings that are walked through.
const LOOK_UP_POSTINGS: u64 = 16;

/// Buffers of one search, used again for every window.
#[derive(Default)]
pub(crate) struct Scratch {
    window: Window,
    candidates: Vec<Candidate>,
}

/// A document that may be among the best, by the parts that were added so far.
#[derive(Clone, Copy)]
struct Candidate {
    doc: u32,
    score: f32,
}

/// More than the parts from each one on add together to a live document; one entry more than there are parts.
struct Bounds {
    with_context: Vec<f32>,
    without_context: Vec<f32>,
}

impl Bounds {
    fn new(parts: &[PartScorer<'_>], segment: &Segment) -> Bounds {
        let (some_without, all_without) =
            (segment.chunks_without_context > 0, segment.chunks_without_context == segment.chunks);
        let mut bounds =
            Bounds { with_context: vec![ROUNDING; parts.len() + 1], without_context: vec![ROUNDING; parts.len() + 1] };
        for (number, part) in parts.iter().enumerate().rev() {
            let (with_context, without_context) = part.bounds();
            let of_class = |bound, is_there| if is_there { bound } else { 0.0 };
            bounds.with_context[number] = bounds.with_context[number + 1] + of_class(with_context, !all_without);
            bounds.without_context[number] =
                bounds.without_context[number + 1] + of_class(without_context, some_without);
        }
        bounds
    }

    /// For whichever document.
    fn of_any(&self, part: usize) -> f32 {
        self.with_context[part].max(self.without_context[part])
    }

    #[inline]
    fn of(&self, part: usize, has_context: bool) -> f32 {
        if has_context { self.with_context[part] } else { self.without_context[part] }
    }
}

/// Offers a segment's live chunks of the set to `best`, all but those that cannot enter. `parts` stand at their first
/// postings.
pub(crate) fn collect_best(
    segment: &Segment,
    parts: &mut [PartScorer<'_>],
    set: &MemorySet,
    is_small: bool,
    best: &mut BestHits,
    scratch: &mut Scratch,
) {
    let mut search =
        SegmentSearch { segment, bounds: Bounds::new(parts, segment), parts, set, best, reached: 1, admitted: 1 };
    if is_small {
        let admitted = search.documents();
        let postings: u64 = search.parts.iter().map(|part| part.postings).sum();
        if admitted.len() as u64 * search.parts.len() as u64 * LOOK_UP_POSTINGS < postings {
            return search.by_documents(&admitted, scratch);
        }
    }
    search.by_postings(scratch);
}

struct SegmentSearch<'search, 'query> {
    segment: &'search Segment,
    parts: &'search mut [PartScorer<'query>],
    bounds: Bounds,
    set: &'search MemorySet,
    best: &'search mut BestHits,
    /// Documents that were good enough, and how many of them were alive and in the set.
    reached: u64,
    admitted: u64,
}

impl SegmentSearch<'_, '_> {
    fn by_documents(&mut self, admitted: &[u32], scratch: &mut Scratch) {
        for docs in admitted.chunks(WINDOW) {
            scratch.candidates.clear();
            scratch.candidates.extend(docs.iter().map(|doc| Candidate { doc: *doc, score: 0.0 }));
            self.complete(0, &mut scratch.candidates);
        }
    }

    fn by_postings(&mut self, scratch: &mut Scratch) {
        let documents = self.segment.reader.max_doc();
        for base in (0..documents).step_by(WINDOW) {
            let floor = self.best.floor();
            let essential = (0..self.parts.len()).position(|part| self.bounds.of_any(part) < floor);
            let essential = essential.unwrap_or(self.parts.len());
            if essential == 0 {
                return;
            }
            scratch.window.begin(base, self.parts);
            let mut added = 0;
            while added < essential || self.is_walk_cheaper(added, floor, &scratch.window.scores) {
                self.parts[added].add_window(&mut scratch.window);
                added += 1;
            }
            let bar = floor - self.bounds.of_any(added);
            scratch.candidates.clear();
            for (doc, score) in (base..).zip(scratch.window.scores.iter_mut()) {
                let reached = std::mem::take(score);
                if reached > 0.0 && reached >= bar {
                    self.reached += 1;
                    if self.is_admitted(doc) {
                        scratch.candidates.push(Candidate { doc, score: reached });
                    }
                }
            }
            self.admitted += scratch.candidates.len() as u64;
            self.complete(added, &mut scratch.candidates);
        }
    }

    /// Whether a part's postings in a window are better walked through than looked into, given the scores of the parts
    /// before it, among which the essential ones are.
    fn is_walk_cheaper(&self, part: usize, floor: f32, scores: &[f32; WINDOW]) -> bool {
        let Some(next) = self.parts.get(part) else { return false };
        let bar = floor - self.bounds.of_any(part);
        let candidates: u32 = scores.iter().map(|score| u32::from(*score >= bar)).sum();
        let postings = next.postings * WINDOW as u64 / u64::from(self.segment.reader.max_doc());
        u64::from(candidates) * self.admitted / self.reached * LOOK_UP_POSTINGS > postings
    }

    /// Adds the parts from `first` on to the candidates, drops those that cannot enter any more, offers the others.
    fn complete(&mut self, first: usize, candidates: &mut Vec<Candidate>) {
        let floor = self.best.floor();
        for number in first..self.parts.len() {
            candidates.retain_mut(|candidate| {
                candidate.score += self.parts[number].of_document(candidate.doc);
                let has_context = self.segment.columns.has_context(candidate.doc);
                candidate.score + self.bounds.of(number + 1, has_context) >= floor
            });
        }
        for Candidate { doc, score } in candidates.iter().copied().filter(|candidate| candidate.score > 0.0) {
            let columns = &self.segment.columns;
            let (chunk_key, ordinal) = (columns.chunk_keys[doc as usize], columns.ordinals[doc as usize]);
            self.best.offer(Hit { chunk_key, ordinal, score });
        }
    }

    #[inline]
    fn is_admitted(&self, doc: u32) -> bool {
        self.set.contains(self.segment.columns.ordinals[doc as usize]) && self.segment.is_live(doc)
    }

    /// The segment's live documents of the set, ascending.
    fn documents(&self) -> Vec<u32> {
        (0..self.segment.reader.max_doc()).filter(|doc| self.is_admitted(*doc)).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use crate::filters::candidates::{Candidates, NEVER, Showing};
    use crate::hit::{Hit, keep_best};
    use crate::text::index::TextIndex;
    use crate::text::schema::TextChunk;
    use mneme_testing::{Chance, TempDir};

    use super::WINDOW;

    const VOCABULARY: usize = 400;

    /// A word that is the rarer the larger its number is: letters only, and far from all others.
    fn word(number: usize) -> String {
        let letter = |n: usize| char::from(b'a' + (n % 20) as u8);
        [letter(number), letter(number / 20), letter(number), letter(number / 20), 'x', letter(number / 20)]
            .iter()
            .collect()
    }

    fn text(chance: &mut Chance, words_max: usize) -> String {
        // The third power favours the first words, as real words are unevenly frequent.
        let mut draw = || {
            let unit = chance.below(1_000_000) as f64 / 1e6;
            word((unit * unit * unit * VOCABULARY as f64) as usize)
        };
        let words: Vec<String> = (0..words_max).map(|_| draw()).collect();
        words[..1 + chance.below(words_max)].join(" ")
    }

    struct Collection {
        candidates: Arc<Candidates>,
        index: TextIndex,
        memories: u64,
    }

    /// Segments of more than a window and of a few documents; some chunks of each with a context, and some of them dead.
    fn collection(directory: &TempDir, chance: &mut Chance, with_context: impl Fn(u64) -> bool) -> Collection {
        let candidates = Arc::new(Candidates::default());
        let (index, _) = TextIndex::open(directory.path(), Arc::clone(&candidates)).expect("opened");
        let mut memories = 0;
        for size in [WINDOW as u64 * 2 + 300, 700, 1] {
            // Many texts are alike, so that scores are.
            let texts: Vec<(String, String)> =
                (0..size / 2 + 1).map(|_| (text(chance, 12), text(chance, 30))).collect();
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
                    names: &[],
                })
                .collect();
            index.publish(&keys, &chunks).expect("published");
            let showing = |key: &u64| Showing { memory_key: *key, user_key: 1, expires_at_ms: NEVER };
            candidates.show(&keys.iter().map(showing).collect::<Vec<_>>());
            memories += size;
        }
        index.remove(&(1..=memories).filter(|key| key % 5 == 0).collect::<Vec<_>>()).expect("removed");
        Collection { candidates, index, memories }
    }

    /// The best of all chunks' scores, each made by itself.
    fn truth(collection: &Collection, query: &str, is_in: impl Fn(u64) -> bool) -> Vec<Hit> {
        let chunks = collection.index.chunks();
        let keys: Vec<u64> = chunks.iter().map(|(key, _)| *key).collect();
        let memory_keys = collection.candidates.memory_keys(chunks.iter().map(|(_, ordinal)| *ordinal));
        let scores = collection.index.score(query, &keys).expect("scored");
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
    fn the_best_are_exactly_those_of_scoring_every_chunk() {
        let mut chance = Chance::new();
        type OfMemory = fn(u64) -> bool;
        let contexts: [(&str, OfMemory); 3] = [("none", |_| false), ("some", |key| key % 3 != 0), ("all", |_| true)];
        for (name, with_context) in contexts {
            let directory = TempDir::new("pruning");
            let collection = collection(&directory, &mut chance, with_context);
            for every in [1, 2, 10, 100, 3_000, u64::MAX] {
                let is_in = |memory: u64| memory % every == 1 % every;
                let showing =
                    |key| Showing { memory_key: key, user_key: 1 + u64::from(!is_in(key)), expires_at_ms: NEVER };
                collection.candidates.show(&(1..=collection.memories).map(showing).collect::<Vec<_>>());
                let set = collection.candidates.admit(Some(1), 0);
                for words_max in [1, 3, 6, 15, 40] {
                    let query = text(&mut chance, words_max);
                    let expected = truth(&collection, &query, is_in);
                    for limit in [1, 10, 200, 2_000, 20_000] {
                        let hits = collection.index.search(&query, &set, limit).expect("searched");
                        assert_eq!(hits, expected[..limit.min(expected.len())], "{name} 1/{every} {limit}: {query}");
                    }
                }
            }
        }
    }
}
