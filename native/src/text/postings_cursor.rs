//! Moves through the postings of one word in one field of a segment: a run of documents at a time, or document by
//! document. What a posting is worth is `text::bm25`'s affair.

use tantivy::postings::{BlockSegmentPostings, TermInfo};
use tantivy::schema::IndexRecordOption;
use tantivy::{InvertedIndexReader, TERMINATED};

use crate::error::{Error, Result};

/// Where one word stands: its variants' postings taken as those of one term, whose frequencies in a document add up.
/// Only ever moves forward. Dead documents are included.
pub(crate) struct WordCursor {
    variants: Vec<TermCursor>,
}

/// A place in the postings of one term.
struct TermCursor {
    block: BlockSegmentPostings,
    /// In the block; below its length, unless the postings are at their end.
    at: usize,
    /// The document there; `TERMINATED` at the end.
    doc: u32,
}

impl WordCursor {
    /// At the first posting.
    pub(crate) fn open(reader: &InvertedIndexReader, variants: &[TermInfo]) -> Result<WordCursor> {
        let open = |term: &TermInfo| -> Result<TermCursor> {
            let block = reader
                .read_block_postings_from_terminfo(term, IndexRecordOption::WithFreqs)
                .map_err(|cause| Error::from_io("reading the text index", &cause))?;
            let doc = block.docs().first().copied().unwrap_or(TERMINATED);
            Ok(TermCursor { block, at: 0, doc })
        };
        Ok(WordCursor { variants: variants.iter().map(open).collect::<Result<_>>()? })
    }

    /// Calls `visit(document, frequency)` once for each document from `base`, not before the current one, up to `end`,
    /// in ascending order. `sums` is scratch: a zero for each document from `base` to `end`, and zeros again on
    /// return.
    #[inline]
    pub(crate) fn visit_until(&mut self, base: u32, end: u32, sums: &mut [u32], mut visit: impl FnMut(u32, u32)) {
        match self.variants.as_mut_slice() {
            [term] => term.visit_until(base, end, visit),
            variants => {
                for term in variants.iter_mut() {
                    term.visit_until(base, end, |doc, frequency| sums[(doc - base) as usize] += frequency);
                }
                for (doc, sum) in (base..end).zip(sums) {
                    if *sum > 0 {
                        visit(doc, std::mem::take(sum));
                    }
                }
            }
        }
    }

    /// How often the word occurs in a document, which may not lie before one that was asked for or visited earlier.
    #[inline]
    pub(crate) fn frequency_in(&mut self, doc: u32) -> u32 {
        self.variants.iter_mut().map(|term| term.frequency_in(doc)).sum()
    }
}

impl TermCursor {
    #[inline]
    fn visit_until(&mut self, base: u32, end: u32, mut visit: impl FnMut(u32, u32)) {
        self.seek(base);
        while self.doc < end {
            let docs = &self.block.docs()[self.at..];
            let frequencies = &self.block.freqs()[self.at..];
            let inside = if docs.last().is_some_and(|last| *last < end) {
                docs.len()
            } else {
                docs.partition_point(|doc| *doc < end)
            };
            for (doc, frequency) in docs[..inside].iter().zip(&frequencies[..inside]) {
                visit(*doc, *frequency);
            }
            self.at += inside;
            if inside == docs.len() {
                self.block.advance();
                self.at = 0;
            }
            self.doc = self.block.docs().get(self.at).copied().unwrap_or(TERMINATED);
        }
    }

    #[inline]
    fn seek(&mut self, doc: u32) {
        if self.doc < doc {
            self.at = self.block.seek(doc);
            self.doc = self.block.docs().get(self.at).copied().unwrap_or(TERMINATED);
        }
    }

    #[inline]
    fn frequency_in(&mut self, doc: u32) -> u32 {
        self.seek(doc);
        if self.doc == doc { self.block.freqs()[self.at] } else { 0 }
    }
}
