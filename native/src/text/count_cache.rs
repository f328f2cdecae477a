//! Caches the document frequencies of words in each segment, until another document of the segment is deleted.
//! `document_frequencies` counts them.

use std::sync::{Mutex, PoisonError};

use rustc_hash::FxHashMap;
use tantivy::postings::TermInfo;

use crate::error::Result;

/// Minimum number of postings of a cached word. Counting fewer postings again is as fast as reading the cache.
const CACHED_POSTINGS_MIN: u64 = 128;

/// Maximum number of counts that a segment caches for each field, at about 100 bytes each. A full cache is emptied. In
/// a project of 132,000 chunks, some thousands of words have enough postings to be cached.
const CACHED_WORDS_MAX: usize = 8_192;

/// Cached counts of the words of one field. The key of a word is the list of offsets of its variants' posting lists.
pub(crate) type FieldCounts<Count> = Mutex<FxHashMap<Vec<usize>, Count>>;

/// Cached counts for one segment. They are valid as long as the same documents are alive.
#[derive(Debug, Default)]
pub(crate) struct CountCache {
    /// Counts of words in search texts.
    pub(crate) own: FieldCounts<OwnCounts>,
    /// Counts of words in context texts.
    pub(crate) context: FieldCounts<u64>,
}

/// Number of live chunks whose search text contains a word.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OwnCounts {
    /// All such chunks.
    pub(crate) all: u64,
    /// Those of these chunks that have no context text.
    pub(crate) without_context: u64,
}

/// Total number of postings of the terms, including those of deleted documents.
pub(crate) fn postings_count(terms: &[TermInfo]) -> u64 {
    terms.iter().map(|term| u64::from(term.doc_freq)).sum()
}

/// Returns the cached count of these terms. If there is none, calls `count` and caches the result, unless the terms
/// have fewer than `CACHED_POSTINGS_MIN` postings.
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
