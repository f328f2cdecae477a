//! Iterates over the posting lists of one word in one field of a segment, through a range of documents or to a single
//! document. `bm25` scores the postings.

use tantivy::postings::{BlockSegmentPostings, TermInfo};
use tantivy::schema::IndexRecordOption;
use tantivy::{InvertedIndexReader, TERMINATED};

use crate::error::{Error, Result};

/// Number of documents whose frequencies are checked at once.
const SUMS_AT_ONCE: usize = 16;

/// A position in the posting lists of a word. The variants of the word count as one term, so their frequencies in a
/// document are added. The cursor only moves forward. It does not skip deleted documents.
pub(crate) struct WordCursor {
    variants: Vec<TermCursor>,
}

/// A position in the posting list of one term.
struct TermCursor {
    block: BlockSegmentPostings,
    /// Index of the current posting in the block. Less than the block's length, except at the end of the list.
    index: usize,
    /// The document of the current posting; `TERMINATED` at the end of the list.
    doc: u32,
}

impl WordCursor {
    /// Creates a cursor at the first posting of each variant.
    pub(crate) fn open(reader: &InvertedIndexReader, variants: &[TermInfo]) -> Result<WordCursor> {
        let open = |term: &TermInfo| -> Result<TermCursor> {
            let block = reader
                .read_block_postings_from_terminfo(term, IndexRecordOption::WithFreqs)
                .map_err(|cause| Error::from_io("reading the text index", &cause))?;
            let doc = block.docs().first().copied().unwrap_or(TERMINATED);
            Ok(TermCursor { block, index: 0, doc })
        };
        Ok(WordCursor { variants: variants.iter().map(open).collect::<Result<_>>()? })
    }

    /// Calls `visit(document, frequency)` for each document in `base..end` that contains the word, in ascending order.
    /// `base` must not be before the current position. `sums` is working memory with a zero for each document in
    /// `base..end`; it contains only zeros again on return.
    #[inline]
    pub(crate) fn visit_until(&mut self, base: u32, end: u32, sums: &mut [u32], mut visit: impl FnMut(u32, u32)) {
        match self.variants.as_mut_slice() {
            [term] => term.visit_until(base, end, visit),
            variants => {
                for term in variants.iter_mut() {
                    term.visit_until(base, end, |doc, frequency| sums[(doc - base) as usize] += frequency);
                }
                // Most documents do not contain the word, so a whole block is checked first, without branches.
                let blocks = (base..end).step_by(SUMS_AT_ONCE).zip(sums.chunks_mut(SUMS_AT_ONCE));
                for (first, sums) in blocks.filter(|(_, sums)| sums.iter().fold(0, |any, sum| any | sum) > 0) {
                    for (doc, sum) in (first..).zip(sums).filter(|(_, sum)| **sum > 0) {
                        visit(doc, std::mem::take(sum));
                    }
                }
            }
        }
    }

    /// Number of occurrences of the word in a document, which must not be before the current position.
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
            let docs = &self.block.docs()[self.index..];
            let frequencies = &self.block.freqs()[self.index..];
            let count = if docs.last().is_some_and(|last| *last < end) {
                docs.len()
            } else {
                docs.partition_point(|doc| *doc < end)
            };
            for (doc, frequency) in docs[..count].iter().zip(&frequencies[..count]) {
                visit(*doc, *frequency);
            }
            self.index += count;
            if count == docs.len() {
                self.block.advance();
                self.index = 0;
            }
            self.doc = self.block.docs().get(self.index).copied().unwrap_or(TERMINATED);
        }
    }

    #[inline]
    fn seek(&mut self, doc: u32) {
        if self.doc < doc {
            self.index = self.block.seek(doc);
            self.doc = self.block.docs().get(self.index).copied().unwrap_or(TERMINATED);
        }
    }

    #[inline]
    fn frequency_in(&mut self, doc: u32) -> u32 {
        self.seek(doc);
        if self.doc == doc { self.block.freqs()[self.index] } else { 0 }
    }
}
