//! Runs a query on one commit: looks up its words, computes their weights, and scores chunks. The formula is in `bm25`;
//! `pruning` decides which chunks need not be scored.

use std::sync::Arc;

use tantivy::InvertedIndexReader;
use tantivy::postings::TermInfo;
use tantivy::schema::IndexRecordOption;

use crate::error::{Error, Result};
use crate::filters::memory_set::MemorySet;
use crate::hit::{BestHits, Hit};
use crate::text::analysis::{QueryTerms, WordVariants};
use crate::text::bm25::{ClauseScorer, LengthNorm, LengthNorms, TextField, word_weights};
use crate::text::document_frequencies::document_frequencies;
use crate::text::notations;
use crate::text::postings_cursor::WordCursor;
use crate::text::pruning::{self, Scratch};
use crate::text::query_words::{QueryWord, WordPostings};
use crate::text::snapshot::Snapshot;
use crate::text::spelling;

/// Factor in the weight of a corrected word and of the parts of an unknown code; it is 1 for most words that the index
/// contains (docs/measurements.md, "Misspelt words").
const CORRECTED_WORD_FACTOR: f64 = 0.8;
/// Factor in the weight of a word that is part of a number, a time or a power, if the index has the whole. Alone, the
/// part means something else.
const WEAK_PART_FACTOR: f64 = 0.25;
/// Maximum number of words of a query that are corrected. Correcting one takes about a millisecond, because it searches
/// the term dictionaries.
const CORRECTED_WORDS_MAX: usize = 3;

/// A query on one commit: the posting lists of its words in each segment, and the weight of each word.
pub(crate) struct WeightedQuery<'snapshot> {
    snapshot: &'snapshot Snapshot,
    words: Arc<[QueryWord]>,
    /// The clauses, heaviest first, as pruning needs them. Scores are always summed in this order, so that `best_hits`
    /// and `score_chunks` give a chunk exactly the same score.
    clauses: Vec<Clause>,
    norms: LengthNorms,
}

/// One query word in one field.
struct Clause {
    /// Index of the word in `WeightedQuery::words`.
    word: usize,
    field: TextField,
    /// Weight of the word in the field, from `word_weights`.
    weight: f32,
}

impl<'snapshot> WeightedQuery<'snapshot> {
    /// Looks up the words and computes their weights. The variants of a word count as one term.
    pub(crate) fn new(snapshot: &'snapshot Snapshot, terms: &QueryTerms) -> Result<WeightedQuery<'snapshot>> {
        let words = snapshot.query_word_cache.get_or_look_up(terms, || look_up_terms(snapshot, terms))?;
        let own = word_weights(words.iter().map(|word| (word.own_df, word.factor)), snapshot.chunks);
        let context = word_weights(words.iter().map(|word| (word.context_df, word.factor)), snapshot.chunks);
        let clause = |field| move |(word, weight)| Clause { word, field, weight };
        let own = own.into_iter().enumerate().map(clause(TextField::Own));
        let context = context.into_iter().enumerate().map(clause(TextField::Context));
        let mut clauses: Vec<Clause> = own.chain(context).filter(|clause| clause.weight > 0.0).collect();
        clauses.sort_by(|a, b| b.weight.total_cmp(&a.weight));
        let norms = LengthNorms {
            own: LengthNorm::new(snapshot.own_terms, snapshot.chunks),
            context: LengthNorm::new(snapshot.context_terms, snapshot.chunks),
        };
        Ok(WeightedQuery { snapshot, words, clauses, norms })
    }

    /// The `limit` chunks with the highest scores above 0 among the memories of `set`, best first. The result equals
    /// that of scoring every chunk.
    pub(crate) fn best_hits(&self, set: &MemorySet, limit: usize) -> Result<Vec<Hit>> {
        let mut best = BestHits::new(limit);
        let mut scratch = Scratch::default();
        let is_small = set.len() as u64 * pruning::SMALL_SET_DIVISOR < self.snapshot.chunks;
        for (number, segment) in self.snapshot.segments.iter().enumerate() {
            let mut clauses = self.scorers(number)?;
            pruning::collect_best(segment, &mut clauses, set, is_small, &mut best, &mut scratch);
        }
        Ok(best.into_sorted())
    }

    /// The scores of exactly these chunks, in their order; 0 for a chunk that does not exist or contains no word.
    pub(crate) fn score_chunks(&self, chunk_keys: &[u64]) -> Result<Vec<f32>> {
        // (segment, document, position in the result)
        let mut wanted: Vec<(u32, u32, usize)> = Vec::with_capacity(chunk_keys.len());
        for (position, key) in chunk_keys.iter().enumerate() {
            if let Some(address) = self.snapshot.locate(*key) {
                wanted.push((address.segment_ord, address.doc_id, position));
            }
        }
        wanted.sort_unstable();
        let mut scores = vec![0f32; chunk_keys.len()];
        for in_segment in wanted.chunk_by(|a, b| a.0 == b.0) {
            for mut clause in self.scorers(in_segment[0].0 as usize)? {
                for (_, doc, position) in in_segment {
                    scores[*position] += clause.score_document(*doc);
                }
            }
        }
        Ok(scores)
    }

    /// Scorers of those clauses whose word occurs in a segment, in the order of `clauses`. Each is at its first
    /// posting.
    fn scorers(&self, segment: usize) -> Result<Vec<ClauseScorer<'_>>> {
        let columns = &*self.snapshot.segments[segment].columns;
        let mut scorers = Vec::with_capacity(self.clauses.len());
        for clause in &self.clauses {
            let postings = &self.words[clause.word].postings[segment];
            let (reader, terms) = match clause.field {
                TextField::Own => (&columns.own, &postings.own),
                TextField::Context => (&columns.context, &postings.context),
            };
            if terms.is_empty() {
                continue;
            }
            scorers.push(ClauseScorer {
                cursor: WordCursor::open(reader, terms)?,
                field: clause.field,
                weight: clause.weight,
                norms: &self.norms,
                columns,
                postings: terms.iter().map(|term| u64::from(term.doc_freq)).sum(),
            });
        }
        Ok(scorers)
    }
}

/// Looks up the terms of a query. Unknown words are replaced by their spelling corrections, unknown codes by their
/// parts. Unknown words are left out if they are part of a notation that the index has as a whole.
fn look_up_terms(snapshot: &Snapshot, terms: &QueryTerms) -> Result<Vec<QueryWord>> {
    let mut found = Vec::with_capacity(terms.words.len() + terms.notations.len());
    let mut known_parts: Vec<&WordVariants> = Vec::new();
    let mut weak_parts: Vec<&WordVariants> = Vec::new();
    for notation in &terms.notations {
        let word = look_up_word(snapshot, &notation.variants, 1.0)?;
        if !word.is_unknown() {
            let parts = if notation.has_weak_parts { &mut weak_parts } else { &mut known_parts };
            parts.extend(&notation.parts);
            found.push(word);
        }
    }
    let mut corrections_left = CORRECTED_WORDS_MAX;
    for variants in &terms.words {
        let is_weak = weak_parts.contains(&variants);
        let mut word = look_up_word(snapshot, variants, if is_weak { WEAK_PART_FACTOR } else { 1.0 })?;
        if word.is_unknown() {
            if is_weak || known_parts.contains(&variants) {
                continue;
            }
            if let Some(parts) = look_up_parts(snapshot, variants)? {
                found.extend(parts);
                continue;
            }
        }
        if word.is_unknown() && corrections_left > 0 && spelling::is_correctable(variants) {
            corrections_left -= 1;
            let corrections = spelling::corrections(snapshot, variants)?;
            // A correction that is also a word of the query would count twice.
            if terms.words.iter().flatten().any(|term| corrections.contains(term)) {
                continue;
            }
            word = look_up_word(snapshot, &corrections, CORRECTED_WORD_FACTOR)?;
        }
        found.push(word);
    }
    Ok(found)
}

/// The letters and the digits of an unknown code such as "ab1234", if the index has both, as in "ab 1234".
fn look_up_parts(snapshot: &Snapshot, variants: &[String]) -> Result<Option<[QueryWord; 2]>> {
    let Some((first, second)) = variants.first().and_then(|term| notations::parts_of_code(term)) else {
        return Ok(None);
    };
    let part = |part: &str| look_up_word(snapshot, &[part.to_owned()], CORRECTED_WORD_FACTOR);
    let parts = [part(first)?, part(second)?];
    Ok(Some(parts).filter(|parts| !parts.iter().any(QueryWord::is_unknown)))
}

fn look_up_word(snapshot: &Snapshot, variants: &[String], factor: f64) -> Result<QueryWord> {
    let postings = Vec::with_capacity(snapshot.segments.len());
    let mut word = QueryWord { postings, own_df: 0, context_df: 0, factor };
    for segment in &snapshot.segments {
        let found = WordPostings {
            own: look_up_variants(&segment.columns.own, variants)?,
            context: look_up_variants(&segment.columns.context, variants)?,
        };
        let (own, context) = document_frequencies(segment, &found.own, &found.context)?;
        word.own_df += own;
        word.context_df += context;
        word.postings.push(found);
    }
    Ok(word)
}

/// Number of live chunks of the set whose search text contains any variant of a word. Counting stops at `count_max`.
pub(crate) fn document_frequency_within(
    snapshot: &Snapshot,
    variants: &[String],
    set: &MemorySet,
    count_max: usize,
) -> Result<usize> {
    let mut count = 0;
    for segment in &snapshot.segments {
        let columns = &segment.columns;
        let mut found: Vec<u32> = Vec::new();
        for term in look_up_variants(&columns.own, variants)? {
            let mut block = columns
                .own
                .read_block_postings_from_terminfo(&term, IndexRecordOption::Basic)
                .map_err(|cause| read_error(&cause))?;
            // A document that contains several variants counts once, so each variant may contribute as many documents
            // as the limit allows.
            let mut wanted = count_max - count;
            while block.block_len() > 0 && wanted > 0 {
                let is_admissible = |doc: &u32| set.contains(columns.ordinals[*doc as usize]) && segment.is_live(*doc);
                let before = found.len();
                found.extend(block.docs().iter().copied().filter(is_admissible));
                wanted = wanted.saturating_sub(found.len() - before);
                block.advance();
            }
        }
        found.sort_unstable();
        found.dedup();
        count += found.len();
        if count >= count_max {
            return Ok(count_max);
        }
    }
    Ok(count)
}

/// The terms of those variants that one field of a segment contains.
fn look_up_variants(reader: &InvertedIndexReader, variants: &[String]) -> Result<Vec<TermInfo>> {
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
