//! Caches document frequencies of words per segment, for as long as the same documents are alive.
//! How they are counted is left to `document_frequencies`.

use std::sync::{Mutex, PoisonError};

use rustc_hash::FxHashMap;
use tantivy::postings::TermInfo;

use crate::error::Result;

/// Counts over fewer postings are not cached, because counting them again costs no more than the cache.
const CACHED_POSTINGS_MIN: u64 = 128;

/// Counts that a segment caches per field, about 100 bytes each. A full cache is emptied. Of 132,000 chunks, some
/// thousands of words have enough postings to be cached.
const CACHED_WORDS_MAX: usize = 8_192;

/// Cached counts of one field. The key has the offset of each term's posting list.
pub(crate) type FieldCounts<Count> = Mutex<FxHashMap<Vec<usize>, Count>>;

/// The counts that were made in one segment with one set of live documents.
#[derive(Debug, Default)]
pub(crate) struct CountCache {
    /// Counts by terms of own text.
    pub(crate) own: FieldCounts<OwnCounts>,
    /// Counts by terms of contexts.
    pub(crate) context: FieldCounts<u64>,
}

/// Number of live chunks whose own text contains a word.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OwnCounts {
    /// All such chunks.
    pub(crate) all: u64,
    /// Those of them that have no context.
    pub(crate) without_context: u64,
}

/// Number of postings of all the terms together, those of deleted documents included.
pub(crate) fn postings_count(terms: &[TermInfo]) -> u64 {
    terms.iter().map(|term| u64::from(term.doc_freq)).sum()
}

/// Returns the cached count of these terms. Otherwise calls `count`, and caches the result if that is worthwhile.
pub(crate) fn cached_count<Count: Copy>(
    cache: &FieldCounts<Count>,
    terms: &[TermInfo],
    count: impl FnOnce() -> Result<Count>,
) -> Result<Count> {
    if postings_count(terms) < CACHED_POSTINGS_MIN {
        return count();
    }
    let key: Vec<usize> = terms.iter().map(|term| term.postings_range.start).collect();
    if let Some(cached) = cache.lock().unwrap_or_else(PoisonError::into_inner).get(&key) {
        return Ok(*cached);
    }
    let counted = count()?;
    let mut cache = cache.lock().unwrap_or_else(PoisonError::into_inner);
    if cache.len() >= CACHED_WORDS_MAX {
        cache.clear();
    }
    cache.insert(key, counted);
    Ok(counted)
}
