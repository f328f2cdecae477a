//! The words of a query as they stand in one commit, and those of the latest queries, which are kept with it.
//! What a word is worth is `text::bm25`'s affair.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use tantivy::postings::TermInfo;

use crate::error::Result;

/// One word of a query.
pub(crate) struct Word {
    /// Per segment.
    pub(crate) postings: Vec<WordPostings>,
    /// Live chunks that have the word among their own words.
    pub(crate) own_df: u64,
    /// Live chunks that have it in their context.
    pub(crate) context_df: u64,
    /// What the word counts for: 1, or less for a guessed one.
    pub(crate) share: f64,
}

/// Where the variants of one word stand in a segment's two fields.
pub(crate) struct WordPostings {
    /// Terms among own words.
    pub(crate) own: Vec<TermInfo>,
    /// Terms in contexts.
    pub(crate) context: Vec<TermInfo>,
}

impl Word {
    /// Whether it occurs in no live chunk.
    pub(crate) fn is_unknown(&self) -> bool {
        self.own_df == 0 && self.context_df == 0
    }
}

/// Queries whose words are kept.
const RECENT_QUERIES_MAX: usize = 16;
/// Longer queries are not kept, for what they would hold in memory.
const RECENT_WORDS_MAX: usize = 64;

/// The words of the latest queries to one commit. The legs of a search need the same ones, and to guess what an unknown
/// word stands for takes longer than to score by it.
#[derive(Default)]
pub(crate) struct RecentWords(Mutex<VecDeque<RecentQuery>>);

struct RecentQuery {
    groups: Box<[Vec<String>]>,
    /// None: they are being looked up, or could not be.
    words: Arc<Mutex<Option<Arc<[Word]>>>>,
}

impl RecentWords {
    /// The words of a query. Who asks while another looks the same ones up waits for that.
    pub(crate) fn words(
        &self,
        groups: &[Vec<String>],
        look_up: impl FnOnce() -> Result<Vec<Word>>,
    ) -> Result<Arc<[Word]>> {
        if groups.len() > RECENT_WORDS_MAX {
            return Ok(look_up()?.into());
        }
        let kept = self.kept(groups);
        let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(words) = &*kept {
            return Ok(Arc::clone(words));
        }
        let words: Arc<[Word]> = look_up()?.into();
        *kept = Some(Arc::clone(&words));
        Ok(words)
    }

    /// The place of a query's words, which displaces the oldest one where it is new.
    fn kept(&self, groups: &[Vec<String>]) -> Arc<Mutex<Option<Arc<[Word]>>>> {
        let mut queries = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(query) = queries.iter().find(|query| *query.groups == *groups) {
            return Arc::clone(&query.words);
        }
        if queries.len() == RECENT_QUERIES_MAX {
            queries.pop_front();
        }
        let words = Arc::default();
        queries.push_back(RecentQuery { groups: groups.into(), words: Arc::clone(&words) });
        words
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;
    use crate::error::Error;

    fn query(number: usize, words: usize) -> Vec<Vec<String>> {
        (0..words).map(|word| vec![format!("{number} {word}")]).collect()
    }

    #[test]
    fn the_words_of_recent_queries_are_looked_up_once() {
        let (recent, asked) = (RecentWords::default(), AtomicUsize::new(0));
        let look_up = || {
            asked.fetch_add(1, Ordering::Relaxed);
            Ok(Vec::new())
        };
        let asked_for = |number, words| {
            let before = asked.load(Ordering::Relaxed);
            recent.words(&query(number, words), look_up).expect("looked up");
            asked.load(Ordering::Relaxed) - before
        };
        for number in 0..RECENT_QUERIES_MAX {
            assert_eq!([asked_for(number, 3), asked_for(number, 3)], [1, 0]);
        }
        assert_eq!(asked_for(0, 3), 0, "the oldest is still there");
        assert_eq!(asked_for(RECENT_QUERIES_MAX, RECENT_WORDS_MAX), 1);
        assert_eq!([asked_for(1, 3), asked_for(0, 3)], [0, 1], "and left for a new one");
        assert_eq!(
            [asked_for(2, RECENT_WORDS_MAX + 1), asked_for(2, RECENT_WORDS_MAX + 1)],
            [1, 1],
            "too long to be kept"
        );
    }

    #[test]
    fn a_query_that_is_being_looked_up_is_waited_for_and_a_failure_is_not_kept() {
        let (recent, asked, both) = (RecentWords::default(), AtomicUsize::new(0), Barrier::new(2));
        let refused = recent.words(&query(1, 1), || Err(Error::invalid("unreadable")));
        assert!(refused.is_err());
        std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    both.wait();
                    let words = recent.words(&query(1, 1), || {
                        asked.fetch_add(1, Ordering::Relaxed);
                        Ok(Vec::new())
                    });
                    words.expect("looked up");
                });
            }
        });
        assert_eq!(asked.load(Ordering::Relaxed), 1);
    }
}
