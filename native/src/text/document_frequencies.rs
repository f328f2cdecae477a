//! In how many live chunks a word occurs. Tantivy knows it of single terms while nothing was deleted; everything else is
//! counted once per commit and remembered.

use tantivy::InvertedIndexReader;
use tantivy::postings::TermInfo;
use tantivy::schema::IndexRecordOption;

use crate::error::{Error, Result};
use crate::text::remembered_counts::{OwnCounts, remembered, stored};
use crate::text::view::Segment;

/// In how many live chunks of the segment a word, given by the terms of its variants in both fields, occurs:
/// (own words, context). A chunk's own words stand in for the context that it does not have.
pub(crate) fn document_frequencies(segment: &Segment, own: &[TermInfo], context: &[TermInfo]) -> Result<(u64, u64)> {
    let own = own_counts(segment, own)?;
    Ok((own.all, own.without_context + context_count(segment, context)?))
}

/// In how many live chunks of the segment any of these terms of own words occurs.
pub(crate) fn own_documents(segment: &Segment, terms: &[TermInfo]) -> Result<u64> {
    if is_stored(segment, terms) { Ok(stored(terms)) } else { Ok(own_counts(segment, terms)?.all) }
}

fn own_counts(segment: &Segment, terms: &[TermInfo]) -> Result<OwnCounts> {
    if is_stored(segment, terms) {
        let all = stored(terms);
        match segment.chunks_without_context {
            0 => return Ok(OwnCounts { all, without_context: 0 }),
            every if every == segment.chunks => return Ok(OwnCounts { all, without_context: all }),
            _ => {}
        }
    }
    remembered(&segment.counted.own, terms, || {
        let mut counts = OwnCounts { all: 0, without_context: 0 };
        each_document(&segment.columns.own, terms, |doc| {
            let is_live = segment.is_live(doc);
            counts.all += u64::from(is_live);
            counts.without_context += u64::from(is_live && !segment.columns.has_context(doc));
        })?;
        Ok(counts)
    })
}

fn context_count(segment: &Segment, terms: &[TermInfo]) -> Result<u64> {
    if is_stored(segment, terms) {
        return Ok(stored(terms));
    }
    remembered(&segment.counted.context, terms, || {
        let mut count = 0;
        each_document(&segment.columns.context, terms, |doc| count += u64::from(segment.is_live(doc)))?;
        Ok(count)
    })
}

fn is_stored(segment: &Segment, terms: &[TermInfo]) -> bool {
    terms.is_empty() || (terms.len() == 1 && !segment.has_deletes())
}

/// Calls `visit` once for every document, dead ones included, that any of the terms occurs in.
fn each_document(reader: &InvertedIndexReader, terms: &[TermInfo], mut visit: impl FnMut(u32)) -> Result<()> {
    let mut all: Vec<u32> = Vec::new();
    for term in terms {
        let mut block = reader
            .read_block_postings_from_terminfo(term, IndexRecordOption::Basic)
            .map_err(|cause| Error::from_io("reading the text index", &cause))?;
        while block.block_len() > 0 {
            match terms {
                [_] => block.docs().iter().for_each(|doc| visit(*doc)),
                _ => all.extend(block.docs()),
            }
            block.advance();
        }
    }
    all.sort_unstable();
    all.dedup();
    all.into_iter().for_each(visit);
    Ok(())
}
