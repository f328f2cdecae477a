//! How well chunks match a query's words: b in 0..1, comparable between queries.
//!
//! For each of the two fields, own words and context, BM25 is divided by its greatest possible value for this query,
//! `(k1 + 1) · Σ idf` over the query's known words; b is the mean of both, and the former alone for a chunk without
//! context. k1 .9 and b .4 as for passages in Anserini, measured for this engine in ARCHITECTURE.md, "Measured";
//! idf = ln(1 + (N − df + .5)/(df + .5)) over the whole project.

use tantivy::postings::{Postings, TermInfo};
use tantivy::schema::IndexRecordOption;
use tantivy::{DocSet, InvertedIndexReader, TERMINATED};

use crate::error::{Error, Result};
use crate::hit::{BestHits, Hit};
use crate::memory_set::MemorySet;
use crate::text_view::{Segment, View};

/// How soon further occurrences of a word stop counting.
const K1: f32 = 0.9;
/// How much longer chunks are held back.
const B: f32 = 0.4;

/// A query against one commit: its words' postings in each segment, and what each word is worth.
pub(crate) struct WeightedQuery<'view> {
    view: &'view View,
    /// Per segment, per word.
    postings: Vec<Vec<WordPostings>>,
    /// Per word, `idf / Σ idf`; 0 for unknown words.
    own_weights: Vec<f32>,
    context_weights: Vec<f32>,
    own_norm: LengthNorm,
    context_norm: LengthNorm,
}

/// Where the variants of one word stand in a segment's two fields.
struct WordPostings {
    own: Vec<TermInfo>,
    context: Vec<TermInfo>,
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

    /// BM25's tf part, divided by its limit `k1 + 1`: in 0..1.
    #[inline(always)]
    fn saturate(&self, frequency: u32, length: u32) -> f32 {
        let frequency = frequency as f32;
        frequency / (frequency + self.base + self.per_term * length as f32)
    }
}

impl<'view> WeightedQuery<'view> {
    /// Looks up the words (each a group of variants that counts as one term) and weighs them.
    pub(crate) fn new(view: &'view View, words: &[Vec<String>]) -> Result<WeightedQuery<'view>> {
        let mut postings = Vec::with_capacity(view.segments.len());
        let (mut own_df, mut context_df) = (vec![0u64; words.len()], vec![0u64; words.len()]);
        for segment in &view.segments {
            let mut of_segment = Vec::with_capacity(words.len());
            for (word, variants) in words.iter().enumerate() {
                let found = WordPostings {
                    own: look_up(&segment.columns.own, variants)?,
                    context: look_up(&segment.columns.context, variants)?,
                };
                let (own, context) = document_frequencies(segment, &found)?;
                own_df[word] += own;
                context_df[word] += context;
                of_segment.push(found);
            }
            postings.push(of_segment);
        }
        Ok(WeightedQuery {
            view,
            postings,
            own_weights: weights(&own_df, view.chunks),
            context_weights: weights(&context_df, view.chunks),
            own_norm: LengthNorm::new(view.own_terms, view.chunks),
            context_norm: LengthNorm::new(view.context_terms, view.chunks),
        })
    }

    /// The best `limit` chunks of the set's memories with b > 0, best first. Term at a time over all postings: about
    /// 2 ns a posting.
    pub(crate) fn best(&self, set: &MemorySet, limit: usize) -> Result<Vec<Hit>> {
        let mut best = BestHits::new(limit);
        for (segment, postings) in self.view.segments.iter().zip(&self.postings) {
            let columns = &segment.columns;
            let mut scores = vec![0f32; segment.reader.max_doc() as usize];
            for (word, found) in postings.iter().enumerate() {
                let (own, context) = (self.own_weights[word], self.context_weights[word]);
                walk(&columns.own, &found.own, |doc, frequency| {
                    let share = if columns.has_context(doc) { own / 2.0 } else { own };
                    scores[doc as usize] +=
                        share * self.own_norm.saturate(frequency, columns.own_lengths[doc as usize]);
                })?;
                walk(&columns.context, &found.context, |doc, frequency| {
                    scores[doc as usize] +=
                        context / 2.0 * self.context_norm.saturate(frequency, columns.context_lengths[doc as usize]);
                })?;
            }
            for (doc, score) in (0u32..).zip(scores) {
                if score > 0.0 && set.contains(columns.ordinals[doc as usize]) && segment.is_live(doc) {
                    let (chunk_key, ordinal) = (columns.chunk_keys[doc as usize], columns.ordinals[doc as usize]);
                    best.offer(Hit { chunk_key, ordinal, score });
                }
            }
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
            let number = of_segment[0].0 as usize;
            let (columns, postings) = (&self.view.segments[number].columns, &self.postings[number]);
            let docs: Vec<u32> = of_segment.iter().map(|(_, doc, _)| *doc).collect();
            for (word, found) in postings.iter().enumerate() {
                let own = frequencies(&columns.own, &found.own, &docs)?;
                let context = frequencies(&columns.context, &found.context, &docs)?;
                for (index, (_, doc, position)) in of_segment.iter().enumerate() {
                    let share = if columns.has_context(*doc) { 0.5 } else { 1.0 };
                    scores[*position] += share
                        * self.own_weights[word]
                        * self.own_norm.saturate(own[index], columns.own_lengths[*doc as usize])
                        + (1.0 - share)
                            * self.context_weights[word]
                            * self.context_norm.saturate(context[index], columns.context_lengths[*doc as usize]);
                }
            }
        }
        Ok(scores)
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
                .map_err(read_error)?;
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
        found.extend(reader.terms().get(variant.as_bytes()).map_err(read_error)?);
    }
    Ok(found)
}

/// In how many live chunks of the segment a word occurs: (own words, context). A chunk's own words stand in for the
/// context that it does not have.
fn document_frequencies(segment: &Segment, found: &WordPostings) -> Result<(u64, u64)> {
    let columns = &segment.columns;
    let is_plain = |infos: &[TermInfo]| infos.len() <= 1 && !segment.has_deletes();
    let stored = |infos: &[TermInfo]| infos.first().map_or(0, |info| u64::from(info.doc_freq));

    let (mut own, mut own_as_context) = (0, 0);
    if is_plain(&found.own) && segment.chunks_without_context == 0 {
        own = stored(&found.own);
    } else if is_plain(&found.own) && segment.chunks_without_context == segment.chunks {
        own = stored(&found.own);
        own_as_context = own;
    } else {
        walk(&columns.own, &found.own, |doc, _| {
            let is_live = segment.is_live(doc);
            own += u64::from(is_live);
            own_as_context += u64::from(is_live && !columns.has_context(doc));
        })?;
    }
    let mut context = 0;
    if is_plain(&found.context) {
        context = stored(&found.context);
    } else {
        walk(&columns.context, &found.context, |doc, _| context += u64::from(segment.is_live(doc)))?;
    }
    Ok((own, own_as_context + context))
}

fn weights(document_frequencies: &[u64], chunks: u64) -> Vec<f32> {
    let idf = |df: &u64| match df {
        0 => 0.0,
        df => (1.0 + (chunks as f64 - *df as f64 + 0.5) / (*df as f64 + 0.5)).ln(),
    };
    let idfs: Vec<f64> = document_frequencies.iter().map(idf).collect();
    let total: f64 = idfs.iter().sum();
    idfs.into_iter().map(|idf| if total > 0.0 { (idf / total) as f32 } else { 0.0 }).collect()
}

/// Calls `visit(document, frequency)` for every document, dead ones included, that any of the terms occurs in; the
/// frequencies of several terms in one document are added up.
fn walk(reader: &InvertedIndexReader, terms: &[TermInfo], mut visit: impl FnMut(u32, u32)) -> Result<()> {
    let each = |term: &TermInfo, visit: &mut dyn FnMut(&[u32], &[u32])| -> Result<()> {
        let mut block =
            reader.read_block_postings_from_terminfo(term, IndexRecordOption::WithFreqs).map_err(read_error)?;
        while block.block_len() > 0 {
            visit(block.docs(), block.freqs());
            block.advance();
        }
        Ok(())
    };
    if let [term] = terms {
        return each(term, &mut |docs, frequencies| {
            docs.iter().zip(frequencies).for_each(|(doc, frequency)| visit(*doc, *frequency));
        });
    }
    let mut all: Vec<(u32, u32)> = Vec::new();
    for term in terms {
        each(term, &mut |docs, frequencies| all.extend(docs.iter().copied().zip(frequencies.iter().copied())))?;
    }
    all.sort_unstable();
    all.chunk_by(|a, b| a.0 == b.0)
        .for_each(|same| visit(same[0].0, same.iter().map(|(_, frequency)| frequency).sum()));
    Ok(())
}

/// The added-up frequency of the terms in each of the ascending documents.
fn frequencies(reader: &InvertedIndexReader, terms: &[TermInfo], docs: &[u32]) -> Result<Vec<u32>> {
    let mut sums = vec![0; docs.len()];
    for term in terms {
        let mut postings =
            reader.read_postings_from_terminfo(term, IndexRecordOption::WithFreqs).map_err(read_error)?;
        for (sum, doc) in sums.iter_mut().zip(docs) {
            if postings.doc() < *doc {
                postings.seek(*doc);
            }
            if postings.doc() == TERMINATED {
                break;
            }
            if postings.doc() == *doc {
                *sum += postings.term_freq();
            }
        }
    }
    Ok(sums)
}

fn read_error(cause: std::io::Error) -> Error {
    Error::from_io("reading the text index", &cause)
}
