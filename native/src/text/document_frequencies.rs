//! Document frequencies: the number of live chunks that contain a word. Tantivy stores this number for each term, but
//! it is right only for a word with a single variant, in a segment without deleted documents. In other cases the chunks
//! are counted here; `count_cache` caches the result.

use tantivy::InvertedIndexReader;
use tantivy::postings::TermInfo;
use tantivy::schema::IndexRecordOption;

use crate::error::{Error, Result};
use crate::text::count_cache::{OwnCounts, cached_count, postings_count};
use crate::text::snapshot::Segment;

/// Document frequencies of a word in a segment: (in search texts, in context texts). `own` and `context` are the terms
/// of the word's variants in each field. The search text of a chunk without a context text counts as its context text,
/// too.
pub(crate) fn document_frequencies(segment: &Segment, own: &[TermInfo], context: &[TermInfo]) -> Result<(u64, u64)> {
    let own = own_counts(segment, own)?;
    Ok((own.all, own.without_context + context_count(segment, context)?))
}

/// Number of live chunks of the segment whose search text contains any of these terms.
pub(crate) fn own_document_frequency(segment: &Segment, terms: &[TermInfo]) -> Result<u64> {
    if is_stored(segment, terms) { Ok(postings_count(terms)) } else { Ok(own_counts(segment, terms)?.all) }
}

fn own_counts(segment: &Segment, terms: &[TermInfo]) -> Result<OwnCounts> {
    if is_stored(segment, terms) {
        let all = postings_count(terms);
        match segment.chunks_without_context {
            0 => return Ok(OwnCounts { all, without_context: 0 }),
            every if every == segment.chunks => return Ok(OwnCounts { all, without_context: all }),
            _ => {}
        }
    }
    cached_count(&segment.count_cache.own, terms, || {
        let mut counts = OwnCounts { all: 0, without_context: 0 };
        for_each_document(&segment.columns.own, terms, |doc| {
            let is_live = segment.is_live(doc);
            counts.all += u64::from(is_live);
            counts.without_context += u64::from(is_live && !segment.columns.has_context(doc));
        })?;
        Ok(counts)
    })
}

fn context_count(segment: &Segment, terms: &[TermInfo]) -> Result<u64> {
    if is_stored(segment, terms) {
        return Ok(postings_count(terms));
    }
    cached_count(&segment.count_cache.context, terms, || {
        let mut count = 0;
        for_each_document(&segment.columns.context, terms, |doc| count += u64::from(segment.is_live(doc)))?;
        Ok(count)
    })
}

/// Whether the number of postings that Tantivy stores equals the document frequency. The numbers can differ if there
/// are several terms, because they may share documents, or if documents are deleted.
fn is_stored(segment: &Segment, terms: &[TermInfo]) -> bool {
    terms.is_empty() || (terms.len() == 1 && !segment.has_deletes())
}

/// Calls `visit` once for every document that contains any of the terms, deleted documents included.
fn for_each_document(reader: &InvertedIndexReader, terms: &[TermInfo], mut visit: impl FnMut(u32)) -> Result<()> {
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
