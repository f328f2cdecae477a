//! The words of a query with their posting lists and document frequencies in one commit, and a cache of them for recent
//! queries. `bm25` computes the weights of the words.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use tantivy::postings::TermInfo;

use crate::error::Result;
use crate::text::analysis::QueryTerms;

/// One word of a query.
pub(crate) struct QueryWord {
    /// Posting lists of the word, one element per segment.
    pub(crate) postings: Vec<WordPostings>,
    /// Document frequency in search texts: the number of live chunks whose search text contains the word.
    pub(crate) own_df: u64,
    /// Document frequency in context texts.
    pub(crate) context_df: u64,
    /// Factor in the weight of the word: 1, or less for a spelling correction, the parts of an unknown code, and weak
    /// parts of a notation that the index has as a whole.
    pub(crate) factor: f64,
}

/// The posting lists of a word's variants in one segment.
pub(crate) struct WordPostings {
    /// Posting lists of the variants that occur in search texts.
    pub(crate) own: Vec<TermInfo>,
    /// Posting lists of the variants that occur in context texts.
    pub(crate) context: Vec<TermInfo>,
}

impl QueryWord {
    /// Whether no live chunk contains the word.
    pub(crate) fn is_unknown(&self) -> bool {
        self.own_df == 0 && self.context_df == 0
    }
}

/// Maximum number of queries in the cache.
const CACHED_QUERIES_MAX: usize = 16;
/// Maximum number of words of a cached query. Longer queries are not cached, to limit the memory of the cache.
const CACHED_QUERY_WORDS_MAX: usize = 64;

/// Caches the looked-up words of recent queries in one commit. Several stages of a search need the same words, and
/// spelling correction takes longer than scoring (docs/measurements.md, "Look up the words of a query once").
#[derive(Default)]
pub(crate) struct QueryWordCache(Mutex<VecDeque<CachedQuery>>);

struct CachedQuery {
    terms: QueryTerms,
    /// `None` until the look-up succeeds. The lock is held during the look-up.
    words: Arc<Mutex<Option<Arc<[QueryWord]>>>>,
}

impl QueryWordCache {
    /// Returns the words of a query from the cache, or looks them up. If another thread is looking up the same words,
    /// waits for its result. A failed look-up is not cached.
    pub(crate) fn get_or_look_up(
        &self,
        terms: &QueryTerms,
        look_up: impl FnOnce() -> Result<Vec<QueryWord>>,
    ) -> Result<Arc<[QueryWord]>> {
        if terms.words.len() > CACHED_QUERY_WORDS_MAX {
            return Ok(look_up()?.into());
        }
        let entry = self.entry(terms);
        let mut entry = entry.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(words) = &*entry {
            return Ok(Arc::clone(words));
        }
        let words: Arc<[QueryWord]> = look_up()?.into();
        *entry = Some(Arc::clone(&words));
        Ok(words)
    }

    /// The cache entry of a query. A new entry replaces the oldest one when the cache is full.
    fn entry(&self, terms: &QueryTerms) -> Arc<Mutex<Option<Arc<[QueryWord]>>>> {
        let mut queries = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(query) = queries.iter().find(|query| query.terms == *terms) {
            return Arc::clone(&query.words);
        }
        if queries.len() == CACHED_QUERIES_MAX {
            queries.pop_front();
        }
        let words = Arc::default();
        queries.push_back(CachedQuery { terms: terms.clone(), words: Arc::clone(&words) });
        words
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;
    use crate::error::Error;

    fn query(number: usize, words: usize) -> QueryTerms {
        let words = (0..words).map(|word| vec![format!("{number} {word}")]).collect();
        QueryTerms { words, notations: Vec::new() }
    }

    #[test]
    fn recent_queries_are_looked_up_once() {
        let (cache, look_ups) = (QueryWordCache::default(), AtomicUsize::new(0));
        let look_up = || {
            look_ups.fetch_add(1, Ordering::Relaxed);
            Ok(Vec::new())
        };
        let look_ups_of = |number, words| {
            let before = look_ups.load(Ordering::Relaxed);
            cache.get_or_look_up(&query(number, words), look_up).expect("looked up");
            look_ups.load(Ordering::Relaxed) - before
        };
        for number in 0..CACHED_QUERIES_MAX {
            assert_eq!([look_ups_of(number, 3), look_ups_of(number, 3)], [1, 0]);
        }
        assert_eq!(look_ups_of(0, 3), 0, "the oldest query is still cached");
        assert_eq!(look_ups_of(CACHED_QUERIES_MAX, CACHED_QUERY_WORDS_MAX), 1);
        assert_eq!([look_ups_of(1, 3), look_ups_of(0, 3)], [0, 1], "the new query replaced the oldest");
        assert_eq!(
            [look_ups_of(2, CACHED_QUERY_WORDS_MAX + 1), look_ups_of(2, CACHED_QUERY_WORDS_MAX + 1)],
            [1, 1],
            "long queries are not cached"
        );
    }

    #[test]
    fn concurrent_equal_queries_share_one_look_up_and_failures_are_not_cached() {
        let (cache, look_ups, both) = (QueryWordCache::default(), AtomicUsize::new(0), Barrier::new(2));
        let refused = cache.get_or_look_up(&query(1, 1), || Err(Error::invalid("unreadable")));
        assert!(refused.is_err());
        std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    both.wait();
                    let words = cache.get_or_look_up(&query(1, 1), || {
                        look_ups.fetch_add(1, Ordering::Relaxed);
                        Ok(Vec::new())
                    });
                    words.expect("looked up");
                });
            }
        });
        assert_eq!(look_ups.load(Ordering::Relaxed), 1);
    }
}
