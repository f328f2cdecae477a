//! In how many live chunks words were found to occur, remembered per segment and commit.
//! How they are counted is `text::document_frequencies`' affair.

use std::sync::{Mutex, PoisonError};

use rustc_hash::FxHashMap;
use tantivy::postings::TermInfo;

use crate::error::Result;

/// Fewer postings are counted each time: that costs no more than remembering them.
const REMEMBERED_POSTINGS_MIN: u64 = 128;

/// Counts that a segment remembers per field; beyond that it begins anew. A word of 132,000 chunks with that many
/// postings is one of some thousands; about 100 bytes each.
const REMEMBERED_WORDS_MAX: usize = 8_192;

/// What was counted in a segment as it is in one commit: terms (by where their postings begin) → count.
#[derive(Debug, Default)]
pub(crate) struct Counted {
    /// By terms of own words.
    pub(crate) own: Mutex<FxHashMap<Vec<usize>, OwnCounts>>,
    /// By terms of contexts.
    pub(crate) context: Mutex<FxHashMap<Vec<usize>, u64>>,
}

/// In how many live chunks a word is among the chunk's own words.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OwnCounts {
    /// All such chunks.
    pub(crate) all: u64,
    /// Of those, the chunks without a context.
    pub(crate) without_context: u64,
}

/// Postings of all the terms together, dead documents included.
pub(crate) fn stored(terms: &[TermInfo]) -> u64 {
    terms.iter().map(|term| u64::from(term.doc_freq)).sum()
}

/// The count of these terms: remembered, or made by `count`, which is remembered where that is worth it.
pub(crate) fn remembered<Count: Copy>(
    counted: &Mutex<FxHashMap<Vec<usize>, Count>>,
    terms: &[TermInfo],
    count: impl FnOnce() -> Result<Count>,
) -> Result<Count> {
    if stored(terms) < REMEMBERED_POSTINGS_MIN {
        return count();
    }
    let key: Vec<usize> = terms.iter().map(|term| term.postings_range.start).collect();
    if let Some(known) = counted.lock().unwrap_or_else(PoisonError::into_inner).get(&key) {
        return Ok(*known);
    }
    let fresh = count()?;
    let mut counted = counted.lock().unwrap_or_else(PoisonError::into_inner);
    if counted.len() >= REMEMBERED_WORDS_MAX {
        counted.clear();
    }
    counted.insert(key, fresh);
    Ok(fresh)
}
