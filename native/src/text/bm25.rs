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
//! A word that no chunk contains stands for the terms that are nearest to it (`text::spelling`), where there are any: its
//! share of b counts with `GUESS_SHARE`. Known words are never touched. How a query becomes words is
//! `text::weighted_query`'s affair, and how the best are found without scoring every chunk `text::pruning`'s.

use crate::text::postings_cursor::WordCursor;
use crate::text::schema::NO_CONTEXT;
use crate::text::view::Columns;

/// Documents of a window, a power of two: its scores take 16 KB.
pub(crate) const WINDOW: usize = 4_096;

/// How soon further occurrences of a word stop counting.
const K1: f32 = 0.9;
/// How much longer chunks are held back.
const B: f32 = 0.4;
/// So many rare words are a query of full breadth, and how breadth grows up to there.
const BROAD_RARE_WORDS: f64 = 20.0;
const BREADTH_EXPONENT: f64 = 0.3;
/// Which of the two fields.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    /// The chunk's own words.
    Own,
    /// Its context.
    Context,
}

/// A part's postings in one segment, and what each is worth.
pub(crate) struct PartScorer<'query> {
    pub(crate) cursor: WordCursor,
    pub(crate) place: Place,
    pub(crate) weight: f32,
    pub(crate) norms: &'query Norms,
    pub(crate) columns: &'query Columns,
    /// Postings, dead documents included.
    pub(crate) postings: u64,
}

/// How the two fields count their lengths.
pub(crate) struct Norms {
    pub(crate) own: LengthNorm,
    pub(crate) context: LengthNorm,
}

/// `k1 · (1 − b + b · length / mean length)`, the part of BM25 that depends on a chunk's length only.
pub(crate) struct LengthNorm {
    base: f32,
    per_term: f32,
}

impl LengthNorm {
    /// For a field with so many terms in so many chunks.
    pub(crate) fn new(terms: u64, chunks: u64) -> LengthNorm {
        let mean = terms.max(1) as f32 / chunks.max(1) as f32;
        LengthNorm { base: K1 * (1.0 - B), per_term: K1 * B / mean }
    }

    /// For a chunk of this length.
    #[inline(always)]
    fn of(&self, length: u32) -> f32 {
        self.base + self.per_term * length as f32
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

/// `breadth · share · idf / Σ idf` of each word, by (document frequency, share); 0 for unknown words.
pub(crate) fn weights(words: impl Iterator<Item = (u64, f64)>, chunks: u64) -> Vec<f32> {
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
