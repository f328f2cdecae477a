//! The BM25 score of a chunk for a query: 0..1, and comparable between queries.
//!
//! A chunk has two fields: its search text (`own`), and its context text (the search texts of the chunk and its
//! neighbours together). One query word in one field is a clause. The score of a chunk is the mean of both field
//! scores. For a chunk without a context text, it is the field score of the search text. The score of a field is a sum
//! over the query's words:
//!
//! ```text
//! field score = breadth · Σ(factor · idf · tf / (tf + norm)) / Σ idf
//! norm        = k1 · (1 − b + b · length / mean length)
//! idf         = ln(1 + (N − df + 0.5) / (df + 0.5))
//! breadth     = min(1, (Σ idf / (20 · idf of a word that one chunk contains))^0.3)
//! ```
//!
//! - Without `breadth` and `factor`, the field score is BM25 divided by `(k1 + 1) · Σ idf`, its largest possible value
//!   for the query. A word that no chunk contains counts only in this `Σ idf`, with `df` = 0; `breadth` ignores it.
//! - `tf` (term frequency) is the number of occurrences of the word in the field of the chunk, and `length` the number
//!   of words in that field (`DocumentTerms::words`).
//! - `N` is the number of live chunks, and `df` (document frequency) the number of those that contain the word. Both
//!   count the whole project, not only the admissible set.
//! - `breadth` is small for queries of few or frequent words. A passage rarely contains all words of a long query. So a
//!   passage with half the words of a long query is more likely to be relevant than one with half the words of a short
//!   query.
//! - `factor` is 1, or less for some words (`QueryWord::factor`).
//!
//! `k1`, `b` and the constants of `breadth` were chosen by measurement: `docs/measurements.md`, "BM25 parameters" and
//! "Breadth of a query". `weighted_query` looks up the words of a query, and `pruning` finds the best chunks.

use crate::text::postings_cursor::WordCursor;
use crate::text::schema::NO_CONTEXT;
use crate::text::snapshot::Columns;

/// Number of documents in a scoring window, a power of two. The scores of one window take 16 KB.
pub(crate) const WINDOW_DOCS: usize = 4_096;

/// BM25's k1. The smaller it is, the less the second and later occurrences of a word add to the score.
const K1: f32 = 0.9;
/// BM25's b, 0..1. The larger it is, the more a chunk's length lowers its score.
const B: f32 = 0.4;
/// A query has breadth 1 if its sum of idf is at least that of this many words that occur in only one chunk each.
const FULL_BREADTH_RARE_WORDS: f64 = 20.0;
/// Exponent in the formula of `breadth`.
const BREADTH_EXPONENT: f64 = 0.3;

/// One of the two fields of a chunk that are searched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TextField {
    /// The chunk's search text.
    Own,
    /// The chunk's context text: its search text together with that of its neighbours.
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
    /// Length norms of the search text and the context text.
    pub(crate) norms: &'query LengthNorms,
    /// Columns of the segment (lengths of its documents).
    pub(crate) columns: &'query Columns,
    /// Number of postings of the word in the field and segment, including those of deleted documents.
    pub(crate) postings: u64,
}

/// The length norms of the search text and the context text.
pub(crate) struct LengthNorms {
    pub(crate) own: LengthNorm,
    pub(crate) context: LengthNorm,
}

/// BM25's length norm of a field, `k1 · (1 − b + b · length / mean length)`, stored as a linear function of the length.
pub(crate) struct LengthNorm {
    base: f32,
    per_term: f32,
}

impl LengthNorm {
    /// The norm of a field that has `terms` words in total, in a project of `chunks` chunks.
    pub(crate) fn new(terms: u64, chunks: u64) -> LengthNorm {
        let mean_length = terms.max(1) as f32 / chunks.max(1) as f32;
        LengthNorm { base: K1 * (1.0 - B), per_term: K1 * B / mean_length }
    }

    /// The norm of a text of `length` words.
    #[inline(always)]
    fn for_length(&self, length: u32) -> f32 {
        self.base + self.per_term * length as f32
    }
}

impl ClauseScorer<'_> {
    /// The most that the clause can add to the score of a document: (of one with a context text, of one without).
    pub(crate) fn score_bounds(&self) -> (f32, f32) {
        match self.field {
            TextField::Own => (self.weight / 2.0, self.weight),
            TextField::Context => (self.weight / 2.0, 0.0),
        }
    }

    /// Returns what the clause adds to the score of a document. Documents must be passed in ascending order.
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

    /// Adds the score of the clause to the scores of all documents in a window. Windows must be passed in ascending
    /// order.
    pub(crate) fn score_window(&mut self, window: &mut Window) {
        let Window { base, end, scores, frequency_sums, own_field_weights, own_norms, context_norms } = window;
        let weight = self.weight;
        // The field is checked outside the loop over postings, because that loop takes most of the time of a search.
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
    /// Sum of the clauses added so far, for each document. All zeros when the window moves.
    pub(crate) scores: Box<[f32; WINDOW_DOCS]>,
    /// Working memory of `WordCursor::visit_until`. All zeros between calls.
    frequency_sums: Box<[u32; WINDOW_DOCS]>,
    /// `own_field_weight` of each document.
    own_field_weights: Box<[f32; WINDOW_DOCS]>,
    /// Length norm of each document's search text.
    own_norms: Box<[f32; WINDOW_DOCS]>,
    /// Length norm of each document's context text.
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
    /// Moves the window to the `WINDOW_DOCS` documents from `base` on, or fewer at the end of the segment, and computes
    /// their norms. `clauses` must have at least one element, and all must belong to the same segment.
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

/// Weight of the search text in a chunk's score: 0.5, or 1 if the chunk has no context text.
#[inline(always)]
fn own_field_weight(context_length: u32) -> f32 {
    if context_length == NO_CONTEXT { 1.0 } else { 0.5 }
}

/// The score of a clause for a document: `weight · field weight · tf / (tf + norm)`.
#[inline(always)]
fn clause_score(weight: f32, field_weight: f32, norm: f32, frequency: u32) -> f32 {
    let frequency = frequency as f32;
    weight * field_weight * (frequency / (frequency + norm))
}

/// The weight `breadth · factor · idf / Σ idf` of each word in one field; 0 for words that no chunk contains. Those
/// count in this `Σ idf`, but not in that of `breadth`, so that a chunk with only the common words of a question gets a
/// low score. `words` yields (document frequency in the field, factor); `chunks` is the number of live chunks.
pub(crate) fn word_weights(words: impl Iterator<Item = (u64, f64)>, chunks: u64) -> Vec<f32> {
    let idf = |document_frequency: u64| match document_frequency {
        0 => 0.0,
        df => (1.0 + (chunks as f64 - df as f64 + 0.5) / (df as f64 + 0.5)).ln(),
    };
    let full_breadth_idf = FULL_BREADTH_RARE_WORDS * idf(1);
    let unknown_idf = (1.0 + (chunks as f64 + 0.5) / 0.5).ln();
    let mut unknown = 0_u32;
    let words: Vec<(f64, f64)> = words
        .map(|(document_frequency, factor)| {
            unknown += u32::from(document_frequency == 0);
            (idf(document_frequency), factor)
        })
        .collect();
    let known_sum: f64 = words.iter().map(|(idf, _)| idf).sum();
    let breadth = (known_sum / full_breadth_idf).powf(BREADTH_EXPONENT).min(1.0);
    let idf_sum = known_sum + f64::from(unknown) * unknown_idf;
    let weight = |factor: f64, idf: f64| if idf > 0.0 { breadth * factor * idf / idf_sum } else { 0.0 };
    words.into_iter().map(|(idf, factor)| weight(factor, idf) as f32).collect()
}
