//! A query against one commit: its words are looked up and weighed, then the best chunks, or given ones, are scored.
//! What a word is worth in a chunk is `text::bm25`'s affair, and which chunks need no scoring `text::pruning`'s.

use std::sync::Arc;

use tantivy::InvertedIndexReader;
use tantivy::postings::TermInfo;
use tantivy::schema::IndexRecordOption;

use crate::error::{Error, Result};
use crate::filters::memory_set::MemorySet;
use crate::hit::{BestHits, Hit};
use crate::text::bm25::{LengthNorm, Norms, PartScorer, Place, weights};
use crate::text::document_frequencies::document_frequencies;
use crate::text::postings_cursor::WordCursor;
use crate::text::pruning::{self, Scratch};
use crate::text::query_words::{Word, WordPostings};
use crate::text::spelling;
use crate::text::view::View;

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

/// One word in one field.
struct Part {
    word: usize,
    place: Place,
    /// `breadth · idf / Σ idf` of the field.
    weight: f32,
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

/// The words of a query, unknown ones as what they may stand for.
fn look_up_all(view: &View, groups: &[Vec<String>]) -> Result<Vec<Word>> {
    let mut guesses_left = GUESSES_MAX;
    let mut words = Vec::with_capacity(groups.len());
    for group in groups {
        let mut word = look_up_word(view, group, 1.0)?;
        if word.is_unknown() && guesses_left > 0 && spelling::is_correctable(group) {
            guesses_left -= 1;
            let guess = spelling::nearest(view, group)?;
            // What the query says itself would count twice.
            if !groups.iter().flatten().any(|term| guess.contains(term)) {
                word = look_up_word(view, &guess, GUESS_SHARE)?;
            }
        }
        words.push(word);
    }
    Ok(words)
}

fn look_up_word(view: &View, variants: &[String], share: f64) -> Result<Word> {
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
