//! The BM25 score of a chunk for a query: 0..1, and comparable between queries.
//!
//! A chunk has two fields: its own text, and its context (the own text together with the text around it). One query
//! word in one field is a clause. The score is the mean of both field scores; a chunk without a context has only the
//! score of its own text. The score of a field sums over the query's words:
//!
//! ```text
//! field score = breadth · Σ(factor · idf · tf / (tf + norm)) / Σ idf
//! norm        = k1 · (1 − b + b · length / mean length)
//! idf         = ln(1 + (N − df + 0.5) / (df + 0.5))
//! breadth     = min(1, (Σ idf / (20 · idf of a word that one chunk contains))^0.3)
//! ```
//!
//! - Without `breadth` and `factor` this is BM25 divided by its largest possible value for the query,
//!   `(k1 + 1) · Σ idf`. Words that no chunk contains have idf 0.
//! - `N` and `df` (document frequency) count live chunks of the whole project, not of the admissible set.
//! - `breadth` is small for queries of few or frequent words. A passage rarely contains all words of a long query, so
//!   the same share of a long query's words is stronger evidence than that share of a short query's words.
//! - `factor` is 1 for a word that the index knows, and less for a word that spelling correction replaced.
//!
//! `k1`, `b` and `breadth` were measured: `docs/measurements.md`, "BM25 parameters" and "Breadth of a query". Which
//! words a query has is left to `weighted_query`; how the best chunks are found is left to `pruning`.

use crate::text::postings_cursor::WordCursor;
use crate::text::schema::NO_CONTEXT;
use crate::text::snapshot::Columns;

/// Documents per scoring window: a power of two. The scores of one window take 16 KB.
pub(crate) const WINDOW_DOCS: usize = 4_096;

/// BM25's k1: the smaller it is, the less further occurrences of a word add.
const K1: f32 = 0.9;
/// BM25's b: how strongly long chunks are penalised, 0..1.
const B: f32 = 0.4;
/// A query has full breadth when its idf sum is that of this many words that occur in one chunk each.
const FULL_BREADTH_RARE_WORDS: f64 = 20.0;
/// Exponent with which breadth grows up to 1.
const BREADTH_EXPONENT: f64 = 0.3;

/// A field of a chunk that is searched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TextField {
    /// The chunk's own text.
    Own,
    /// The chunk's own text together with the text around it.
    Context,
}

/// Scores one clause (one query word in one field) in one segment.
pub(crate) struct ClauseScorer<'query> {
    /// Position in the posting lists of the word.
    pub(crate) cursor: WordCursor,
    /// The field of the clause.
    pub(crate) field: TextField,
    /// Weight of the word in the field (`word_weights`).
    pub(crate) weight: f32,
    /// Length norms of both fields.
    pub(crate) norms: &'query LengthNorms,
    /// Columns of the segment.
    pub(crate) columns: &'query Columns,
    /// Number of postings, those of deleted documents included.
    pub(crate) postings: u64,
}

/// The length norms of both fields.
pub(crate) struct LengthNorms {
    pub(crate) own: LengthNorm,
    pub(crate) context: LengthNorm,
}

/// BM25's length norm of a field: `k1 · (1 − b + b · length / mean length)`, as a linear function of the length.
pub(crate) struct LengthNorm {
    base: f32,
    per_term: f32,
}

impl LengthNorm {
    /// Norm of a field that has `terms` terms in all `chunks` together.
    pub(crate) fn new(terms: u64, chunks: u64) -> LengthNorm {
        let mean_length = terms.max(1) as f32 / chunks.max(1) as f32;
        LengthNorm { base: K1 * (1.0 - B), per_term: K1 * B / mean_length }
    }

    /// The norm of a chunk with this many terms.
    #[inline(always)]
    fn for_length(&self, length: u32) -> f32 {
        self.base + self.per_term * length as f32
    }
}

impl ClauseScorer<'_> {
    /// Upper bounds of what the clause adds to the score of a document: (with a context, without a context).
    pub(crate) fn score_bounds(&self) -> (f32, f32) {
        match self.field {
            TextField::Own => (self.weight / 2.0, self.weight),
            TextField::Context => (self.weight / 2.0, 0.0),
        }
    }

    /// What the clause adds to the score of a document. Calls must come in ascending order of documents.
    #[inline]
    pub(crate) fn score_document(&mut self, doc: u32) -> f32 {
        let frequency = self.cursor.frequency_in(doc);
        let (columns, doc) = (self.columns, doc as usize);
        let (own_length, context_length) = (columns.own_lengths[doc], columns.context_lengths[doc]);
        match self.field {
            _ if frequency == 0 => 0.0,
            TextField::Own => {
                let field_weight = own_field_weight(context_length);
                clause_score(self.weight, field_weight, self.norms.own.for_length(own_length), frequency)
            }
            TextField::Context => {
                clause_score(self.weight, 0.5, self.norms.context.for_length(context_length), frequency)
            }
        }
    }

    /// Adds the clause to the scores of all documents of a window. Windows must come in ascending order.
    pub(crate) fn score_window(&mut self, window: &mut Window) {
        let Window { base, end, scores, frequency_sums, own_field_weights, own_norms, context_norms } = window;
        let weight = self.weight;
        // The field is chosen outside of the loop over postings, because that loop takes most of a search's time.
        match self.field {
            TextField::Own => self.cursor.visit_until(*base, *end, &mut **frequency_sums, |doc, frequency| {
                let index = doc as usize % WINDOW_DOCS;
                scores[index] += clause_score(weight, own_field_weights[index], own_norms[index], frequency);
            }),
            TextField::Context => self.cursor.visit_until(*base, *end, &mut **frequency_sums, |doc, frequency| {
                let index = doc as usize % WINDOW_DOCS;
                scores[index] += clause_score(weight, 0.5, context_norms[index], frequency);
            }),
        }
    }
}

/// Buffers for `WINDOW_DOCS` consecutive documents that are scored together; the first is a multiple of `WINDOW_DOCS`.
pub(crate) struct Window {
    base: u32,
    end: u32,
    /// Score of each document so far. All zeros when a window begins.
    pub(crate) scores: Box<[f32; WINDOW_DOCS]>,
    /// Scratch for `WordCursor::visit_until`: all zeros between calls.
    frequency_sums: Box<[u32; WINDOW_DOCS]>,
    /// `own_field_weight` of each document.
    own_field_weights: Box<[f32; WINDOW_DOCS]>,
    /// Length norm of each document's own text.
    own_norms: Box<[f32; WINDOW_DOCS]>,
    /// Length norm of each document's context.
    context_norms: Box<[f32; WINDOW_DOCS]>,
}

impl Default for Window {
    fn default() -> Self {
        let zeros = || Box::new([0.0; WINDOW_DOCS]);
        Window {
            base: 0,
            end: 0,
            scores: zeros(),
            frequency_sums: Box::new([0; WINDOW_DOCS]),
            own_field_weights: zeros(),
            own_norms: zeros(),
            context_norms: zeros(),
        }
    }
}

impl Window {
    /// Moves the window to the documents from `base` on, up to the end of the segment, and fills in their norms.
    /// There must be at least one clause; all clauses belong to the same segment.
    pub(crate) fn move_to(&mut self, base: u32, clauses: &[ClauseScorer<'_>]) {
        let ClauseScorer { columns, norms, .. } = &clauses[0];
        let docs = base as usize..columns.own_lengths.len().min(base as usize + WINDOW_DOCS);
        (self.base, self.end) = (base, docs.end as u32);
        let (own_lengths, context_lengths) = (&columns.own_lengths[docs.clone()], &columns.context_lengths[docs]);
        if clauses.iter().any(|clause| clause.field == TextField::Own) {
            let weights = self.own_field_weights.iter_mut().zip(context_lengths);
            weights.for_each(|(weight, context_length)| *weight = own_field_weight(*context_length));
            let own_norms = self.own_norms.iter_mut().zip(own_lengths);
            own_norms.for_each(|(norm, length)| *norm = norms.own.for_length(*length));
        }
        if clauses.iter().any(|clause| clause.field == TextField::Context) {
            let context_norms = self.context_norms.iter_mut().zip(context_lengths);
            context_norms.for_each(|(norm, length)| *norm = norms.context.for_length(*length));
        }
    }
}

/// Share of the own text in a chunk's score: a half, or all of it if the chunk has no context.
#[inline(always)]
fn own_field_weight(context_length: u32) -> f32 {
    if context_length == NO_CONTEXT { 1.0 } else { 0.5 }
}

/// What a clause adds to a score: `weight · field weight · tf / (tf + norm)`.
#[inline(always)]
fn clause_score(weight: f32, field_weight: f32, norm: f32, frequency: u32) -> f32 {
    let frequency = frequency as f32;
    weight * field_weight * (frequency / (frequency + norm))
}

/// The weight `breadth · factor · idf / Σ idf` of each word in one field; 0 for words that no chunk contains. `words`
/// yields (document frequency in the field, factor); `chunks` is the number of live chunks.
pub(crate) fn word_weights(words: impl Iterator<Item = (u64, f64)>, chunks: u64) -> Vec<f32> {
    let idf = |document_frequency: u64| match document_frequency {
        0 => 0.0,
        df => (1.0 + (chunks as f64 - df as f64 + 0.5) / (df as f64 + 0.5)).ln(),
    };
    let full_breadth_idf = FULL_BREADTH_RARE_WORDS * idf(1);
    let words: Vec<(f64, f64)> = words.map(|(document_frequency, factor)| (idf(document_frequency), factor)).collect();
    let idf_sum: f64 = words.iter().map(|(idf, _)| idf).sum();
    let breadth = (idf_sum / full_breadth_idf).powf(BREADTH_EXPONENT).min(1.0);
    let weight = |factor: f64, idf: f64| if idf_sum > 0.0 { breadth * factor * idf / idf_sum } else { 0.0 };
    words.into_iter().map(|(idf, factor)| weight(factor, idf) as f32).collect()
}
