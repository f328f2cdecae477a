//! How well chunks match a query's words: b in 0..1, comparable between queries.
//!
//! For each of the two fields, own words and context, BM25 is divided by its greatest possible value for this query,
//! `(k1 + 1) · Σ idf` over the query's known words, and multiplied by the query's breadth; b is the mean of both, and the
//! former alone for a chunk without context. k1 .9 and b .4 as for passages in Anserini, measured for this engine in
//! ARCHITECTURE.md, "Measured"; idf = ln(1 + (N − df + .5)/(df + .5)) over the whole project.
//!
//! Breadth, 0..1: the same share of a query that says much tells more of a passage than that of one that says little, since
//! nothing has all of many words. It is `(Σ idf / (20 · idf of a word that one chunk has))^.3`, at most 1.
//!
//! A word that no chunk contains stands for the terms that are nearest to it (`spelling`), where there are any: its
//! share of b counts with `GUESS_SHARE`. Known words are never touched. How the best are found without scoring every
//! chunk is `pruning`'s affair.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use tantivy::InvertedIndexReader;
use tantivy::postings::TermInfo;
use tantivy::schema::IndexRecordOption;

use crate::document_frequencies::document_frequencies;
use crate::error::{Error, Result};
use crate::hit::{BestHits, Hit};
use crate::memory_set::MemorySet;
use crate::postings_cursor::WordCursor;
use crate::pruning::{self, Scratch, WINDOW};
use crate::spelling;
use crate::text_view::{Columns, NO_CONTEXT, View};

/// How soon further occurrences of a word stop counting.
const K1: f32 = 0.9;
/// How much longer chunks are held back.
const B: f32 = 0.4;
/// So many rare words are a query of full breadth, and how breadth grows up to there.
const BROAD_RARE_WORDS: f64 = 20.0;
const BREADTH_EXPONENT: f64 = 0.3;
/// What a guessed word counts for, where a known one counts 1 (ARCHITECTURE.md, "Measured").
const GUESS_SHARE: f64 = 0.8;
/// Unknown words of a query that are guessed; each costs a search of the term dictionaries, a millisecond or so.
const GUESSES_MAX: usize = 3;

/// A query against one commit: its words' postings in each segment, and what each word is worth.
pub(crate) struct WeightedQuery<'view> {
    view: &'view View,
    words: Arc<[Word]>,
    /// What scores are summed up from, always in this order, so that a chunk's score is the same to the last bit
    /// whichever way it was found. Heaviest first, as pruning wants it.
    parts: Vec<Part>,
    norms: Norms,
}

/// One word of a query.
struct Word {
    /// Per segment.
    postings: Vec<WordPostings>,
    own_df: u64,
    context_df: u64,
    /// 1, or `GUESS_SHARE`.
    share: f64,
}

/// Where the variants of one word stand in a segment's two fields.
struct WordPostings {
    own: Vec<TermInfo>,
    context: Vec<TermInfo>,
}

/// One word in one field.
struct Part {
    word: usize,
    place: Place,
    /// `breadth · idf / Σ idf` of the field.
    weight: f32,
}

/// Which of the two fields.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Own,
    Context,
}

/// A part's postings in one segment, and what each is worth.
pub(crate) struct PartScorer<'query> {
    cursor: WordCursor,
    place: Place,
    weight: f32,
    norms: &'query Norms,
    columns: &'query Columns,
    /// Postings, dead documents included.
    pub(crate) postings: u64,
}

/// How the two fields count their lengths.
struct Norms {
    own: LengthNorm,
    context: LengthNorm,
}

/// `k1 · (1 − b + b · length / mean length)`, the part of BM25 that depends on a chunk's length only.
struct LengthNorm {
    base: f32,
    per_term: f32,
}

impl LengthNorm {
    fn new(terms: u64, chunks: u64) -> LengthNorm {
        let mean = terms.max(1) as f32 / chunks.max(1) as f32;
        LengthNorm { base: K1 * (1.0 - B), per_term: K1 * B / mean }
    }

    /// For a chunk of this length.
    #[inline(always)]
    fn of(&self, length: u32) -> f32 {
        self.base + self.per_term * length as f32
    }
}

impl<'view> WeightedQuery<'view> {
    /// Looks up the words (each a group of variants that counts as one term) and weighs them.
    pub(crate) fn new(view: &'view View, groups: &[Vec<String>]) -> Result<WeightedQuery<'view>> {
        let words = view.recent.words(groups, || look_up_all(view, groups))?;
        let own = weights(words.iter().map(|word| (word.own_df, word.share)), view.chunks);
        let context = weights(words.iter().map(|word| (word.context_df, word.share)), view.chunks);
        let part = |place| move |(word, weight)| Part { word, place, weight };
        let own = own.into_iter().enumerate().map(part(Place::Own));
        let context = context.into_iter().enumerate().map(part(Place::Context));
        let mut parts: Vec<Part> = own.chain(context).filter(|part| part.weight > 0.0).collect();
        parts.sort_by(|a, b| b.weight.total_cmp(&a.weight));
        Ok(WeightedQuery {
            view,
            words,
            parts,
            norms: Norms {
                own: LengthNorm::new(view.own_terms, view.chunks),
                context: LengthNorm::new(view.context_terms, view.chunks),
            },
        })
    }

    /// The best `limit` chunks of the set's memories with b > 0, best first, exactly those that scoring every chunk
    /// would give.
    pub(crate) fn best(&self, set: &MemorySet, limit: usize) -> Result<Vec<Hit>> {
        let mut best = BestHits::new(limit);
        let mut scratch = Scratch::default();
        let is_small = set.len() as u64 * pruning::SMALL_SET_DIVISOR < self.view.chunks;
        for (number, segment) in self.view.segments.iter().enumerate() {
            let mut parts = self.scorers(number)?;
            pruning::collect_best(segment, &mut parts, set, is_small, &mut best, &mut scratch);
        }
        Ok(best.into_sorted())
    }

    /// b of exactly the given chunks, in their order; 0 for a chunk that is not there or shares no word.
    pub(crate) fn of_chunks(&self, chunk_keys: &[u64]) -> Result<Vec<f32>> {
        let mut wanted: Vec<(u32, u32, usize)> = Vec::with_capacity(chunk_keys.len());
        for (position, key) in chunk_keys.iter().enumerate() {
            if let Some(address) = self.view.locate(*key) {
                wanted.push((address.segment_ord, address.doc_id, position));
            }
        }
        wanted.sort_unstable();
        let mut scores = vec![0f32; chunk_keys.len()];
        for of_segment in wanted.chunk_by(|a, b| a.0 == b.0) {
            for mut part in self.scorers(of_segment[0].0 as usize)? {
                for (_, doc, position) in of_segment {
                    scores[*position] += part.of_document(*doc);
                }
            }
        }
        Ok(scores)
    }

    /// The parts that occur in a segment, at their first postings, in the order of `parts`.
    fn scorers(&self, number: usize) -> Result<Vec<PartScorer<'_>>> {
        let columns = &*self.view.segments[number].columns;
        let mut scorers = Vec::with_capacity(self.parts.len());
        for part in &self.parts {
            let postings = &self.words[part.word].postings[number];
            let (reader, terms) = match part.place {
                Place::Own => (&columns.own, &postings.own),
                Place::Context => (&columns.context, &postings.context),
            };
            if terms.is_empty() {
                continue;
            }
            scorers.push(PartScorer {
                cursor: WordCursor::open(reader, terms)?,
                place: part.place,
                weight: part.weight,
                norms: &self.norms,
                columns,
                postings: terms.iter().map(|term| u64::from(term.doc_freq)).sum(),
            });
        }
        Ok(scorers)
    }
}

impl PartScorer<'_> {
    /// More than this part adds to any document (with a context, without one).
    pub(crate) fn bounds(&self) -> (f32, f32) {
        match self.place {
            Place::Own => (self.weight / 2.0, self.weight),
            Place::Context => (self.weight / 2.0, 0.0),
        }
    }

    /// What the part adds to a document's b; documents have to be asked for in ascending order.
    #[inline]
    pub(crate) fn of_document(&mut self, doc: u32) -> f32 {
        let frequency = self.cursor.frequency_in(doc);
        let (columns, doc) = (self.columns, doc as usize);
        let (own_length, context_length) = (columns.own_lengths[doc], columns.context_lengths[doc]);
        match self.place {
            _ if frequency == 0 => 0.0,
            Place::Own => share_of(self.weight, own_half(context_length), self.norms.own.of(own_length), frequency),
            Place::Context => share_of(self.weight, 0.5, self.norms.context.of(context_length), frequency),
        }
    }

    /// Adds the part to the scores of a window's documents; windows have to come in ascending order.
    pub(crate) fn add_window(&mut self, window: &mut Window) {
        let Window { base, end, scores, sums, own_halves, own_norms, context_norms } = window;
        let weight = self.weight;
        // The choice of the field outside of the loop over postings, which is the hottest there is.
        match self.place {
            Place::Own => self.cursor.visit_until(*base, *end, &mut **sums, |doc, frequency| {
                let at = doc as usize % WINDOW;
                scores[at] += share_of(weight, own_halves[at], own_norms[at], frequency);
            }),
            Place::Context => self.cursor.visit_until(*base, *end, &mut **sums, |doc, frequency| {
                let at = doc as usize % WINDOW;
                scores[at] += share_of(weight, 0.5, context_norms[at], frequency);
            }),
        }
    }
}

/// Documents that are scored together: `WINDOW` of them, from a multiple of it.
pub(crate) struct Window {
    base: u32,
    end: u32,
    /// b so far; zeros when a window begins.
    pub(crate) scores: Box<[f32; WINDOW]>,
    /// Zeros, for `WordCursor`.
    sums: Box<[u32; WINDOW]>,
    /// By document, what `own_half` and `LengthNorm::of` say of it.
    own_halves: Box<[f32; WINDOW]>,
    own_norms: Box<[f32; WINDOW]>,
    context_norms: Box<[f32; WINDOW]>,
}

impl Default for Window {
    fn default() -> Self {
        let zeros = || Box::new([0.0; WINDOW]);
        Window {
            base: 0,
            end: 0,
            scores: zeros(),
            sums: Box::new([0; WINDOW]),
            own_halves: zeros(),
            own_norms: zeros(),
            context_norms: zeros(),
        }
    }
}

impl Window {
    /// Goes to the documents from `base` on, as far as the segment of the parts, of which there is one, has any.
    pub(crate) fn begin(&mut self, base: u32, parts: &[PartScorer<'_>]) {
        let PartScorer { columns, norms, .. } = &parts[0];
        let docs = base as usize..columns.own_lengths.len().min(base as usize + WINDOW);
        (self.base, self.end) = (base, docs.end as u32);
        let (own, context) = (&columns.own_lengths[docs.clone()], &columns.context_lengths[docs]);
        if parts.iter().any(|part| part.place == Place::Own) {
            self.own_halves.iter_mut().zip(context).for_each(|(half, length)| *half = own_half(*length));
            self.own_norms.iter_mut().zip(own).for_each(|(norm, length)| *norm = norms.own.of(*length));
        }
        if parts.iter().any(|part| part.place == Place::Context) {
            self.context_norms.iter_mut().zip(context).for_each(|(norm, length)| *norm = norms.context.of(*length));
        }
    }
}

/// How much of b a chunk's own words make, by the length of its context: they stand in for one that it does not have.
#[inline(always)]
fn own_half(context_length: u32) -> f32 {
    if context_length == NO_CONTEXT { 1.0 } else { 0.5 }
}

/// What a word adds to b: the field's part of its weight, times BM25's tf part divided by that part's limit `k1 + 1`.
#[inline(always)]
fn share_of(weight: f32, half: f32, norm: f32, frequency: u32) -> f32 {
    let frequency = frequency as f32;
    weight * half * (frequency / (frequency + norm))
}

/// The words of a query, unknown ones as what they may stand for.
fn look_up_all(view: &View, groups: &[Vec<String>]) -> Result<Vec<Word>> {
    let mut guesses_left = GUESSES_MAX;
    let mut words = Vec::with_capacity(groups.len());
    for group in groups {
        let mut word = Word::look_up(view, group, 1.0)?;
        if word.is_unknown() && guesses_left > 0 && spelling::is_correctable(group) {
            guesses_left -= 1;
            let guess = spelling::nearest(view, group)?;
            // What the query says itself would count twice.
            if !groups.iter().flatten().any(|term| guess.contains(term)) {
                word = Word::look_up(view, &guess, GUESS_SHARE)?;
            }
        }
        words.push(word);
    }
    Ok(words)
}

/// Queries whose words are kept.
const RECENT_QUERIES_MAX: usize = 16;
/// Longer queries are not kept, for what they would hold in memory.
const RECENT_WORDS_MAX: usize = 64;

/// The words of the latest queries to one commit. The legs of a search need the same ones, and to guess what an unknown word
/// stands for takes longer than to score by it.
#[derive(Default)]
pub(crate) struct RecentWords(Mutex<VecDeque<RecentQuery>>);

struct RecentQuery {
    groups: Box<[Vec<String>]>,
    /// None: they are being looked up, or could not be.
    words: Arc<Mutex<Option<Arc<[Word]>>>>,
}

impl RecentWords {
    /// The words of a query. Who asks while another looks the same ones up waits for that.
    fn words(&self, groups: &[Vec<String>], look_up: impl FnOnce() -> Result<Vec<Word>>) -> Result<Arc<[Word]>> {
        if groups.len() > RECENT_WORDS_MAX {
            return Ok(look_up()?.into());
        }
        let kept = self.kept(groups);
        let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(words) = &*kept {
            return Ok(Arc::clone(words));
        }
        let words: Arc<[Word]> = look_up()?.into();
        *kept = Some(Arc::clone(&words));
        Ok(words)
    }

    /// The place of a query's words, which displaces the oldest one where it is new.
    fn kept(&self, groups: &[Vec<String>]) -> Arc<Mutex<Option<Arc<[Word]>>>> {
        let mut queries = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(query) = queries.iter().find(|query| *query.groups == *groups) {
            return Arc::clone(&query.words);
        }
        if queries.len() == RECENT_QUERIES_MAX {
            queries.pop_front();
        }
        let words = Arc::default();
        queries.push_back(RecentQuery { groups: groups.into(), words: Arc::clone(&words) });
        words
    }
}

impl Word {
    fn look_up(view: &View, variants: &[String], share: f64) -> Result<Word> {
        let mut word = Word { postings: Vec::with_capacity(view.segments.len()), own_df: 0, context_df: 0, share };
        for segment in &view.segments {
            let found = WordPostings {
                own: look_up(&segment.columns.own, variants)?,
                context: look_up(&segment.columns.context, variants)?,
            };
            let (own, context) = document_frequencies(segment, &found.own, &found.context)?;
            word.own_df += own;
            word.context_df += context;
            word.postings.push(found);
        }
        Ok(word)
    }

    /// Whether it occurs in no live chunk.
    fn is_unknown(&self) -> bool {
        self.own_df == 0 && self.context_df == 0
    }
}

/// In how many live chunks of the set any of a word's variants is among their own words; counted up to `most`.
pub(crate) fn occurrences(view: &View, variants: &[String], set: &MemorySet, most: usize) -> Result<usize> {
    let mut count = 0;
    for segment in &view.segments {
        let columns = &segment.columns;
        let mut found: Vec<u32> = Vec::new();
        for term in look_up(&columns.own, variants)? {
            let mut block = columns
                .own
                .read_block_postings_from_terminfo(&term, IndexRecordOption::Basic)
                .map_err(|cause| read_error(&cause))?;
            // What two variants share is counted once, so that each may bring as many as are still wanted.
            let mut wanted = most - count;
            while block.block_len() > 0 && wanted > 0 {
                let admitted = |doc: &u32| set.contains(columns.ordinals[*doc as usize]) && segment.is_live(*doc);
                let before = found.len();
                found.extend(block.docs().iter().copied().filter(admitted));
                wanted = wanted.saturating_sub(found.len() - before);
                block.advance();
            }
        }
        found.sort_unstable();
        found.dedup();
        count += found.len();
        if count >= most {
            return Ok(most);
        }
    }
    Ok(count)
}

fn look_up(reader: &InvertedIndexReader, variants: &[String]) -> Result<Vec<TermInfo>> {
    let mut found = Vec::new();
    for variant in variants {
        let term = reader.terms().get(variant.as_bytes());
        found.extend(term.map_err(|cause| read_error(&cause))?);
    }
    Ok(found)
}

fn read_error(cause: &std::io::Error) -> Error {
    Error::from_io("reading the text index", cause)
}

/// `breadth · share · idf / Σ idf` of each word, by (document frequency, share); 0 for unknown words.
fn weights(words: impl Iterator<Item = (u64, f64)>, chunks: u64) -> Vec<f32> {
    let idf = |df: u64| match df {
        0 => 0.0,
        df => (1.0 + (chunks as f64 - df as f64 + 0.5) / (df as f64 + 0.5)).ln(),
    };
    let broad = BROAD_RARE_WORDS * idf(1);
    let words: Vec<(f64, f64)> = words.map(|(df, share)| (idf(df), share)).collect();
    let total: f64 = words.iter().map(|(idf, _)| idf).sum();
    let breadth = (total / broad).powf(BREADTH_EXPONENT).min(1.0);
    let weight = |share: f64, idf: f64| if total > 0.0 { breadth * share * idf / total } else { 0.0 };
    words.into_iter().map(|(idf, share)| weight(share, idf) as f32).collect()
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    fn query(number: usize, words: usize) -> Vec<Vec<String>> {
        (0..words).map(|word| vec![format!("{number} {word}")]).collect()
    }

    #[test]
    fn the_words_of_recent_queries_are_looked_up_once() {
        let (recent, asked) = (RecentWords::default(), AtomicUsize::new(0));
        let look_up = || {
            asked.fetch_add(1, Ordering::Relaxed);
            Ok(Vec::new())
        };
        let asked_for = |number, words| {
            let before = asked.load(Ordering::Relaxed);
            recent.words(&query(number, words), look_up).expect("looked up");
            asked.load(Ordering::Relaxed) - before
        };
        for number in 0..RECENT_QUERIES_MAX {
            assert_eq!([asked_for(number, 3), asked_for(number, 3)], [1, 0]);
        }
        assert_eq!(asked_for(0, 3), 0, "the oldest is still there");
        assert_eq!(asked_for(RECENT_QUERIES_MAX, RECENT_WORDS_MAX), 1);
        assert_eq!([asked_for(1, 3), asked_for(0, 3)], [0, 1], "and left for a new one");
        assert_eq!(
            [asked_for(2, RECENT_WORDS_MAX + 1), asked_for(2, RECENT_WORDS_MAX + 1)],
            [1, 1],
            "too long to be kept"
        );
    }

    #[test]
    fn a_query_that_is_being_looked_up_is_waited_for_and_a_failure_is_not_kept() {
        let (recent, asked, both) = (RecentWords::default(), AtomicUsize::new(0), Barrier::new(2));
        let refused = recent.words(&query(1, 1), || Err(Error::invalid("unreadable")));
        assert!(refused.is_err());
        std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    both.wait();
                    let words = recent.words(&query(1, 1), || {
                        asked.fetch_add(1, Ordering::Relaxed);
                        Ok(Vec::new())
                    });
                    words.expect("looked up");
                });
            }
        });
        assert_eq!(asked.load(Ordering::Relaxed), 1);
    }
}
