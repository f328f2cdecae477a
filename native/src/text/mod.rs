//! Full-text search: finds the chunks that contain the words of a query and scores them with BM25.
//!
//! | File | Content |
//! |---|---|
//! | `index` | the text index of a project: publish, remove, search, score, read passages |
//! | `schema` | how a chunk becomes a Tantivy document |
//! | `snapshot` | one commit as searches see it: segments and their columns |
//! | `writer` | how a change becomes a commit, and what happens when a commit fails |
//! | `directory` | the files of the index, and when they are synced |
//! | `analysis` | how text becomes terms: tokeniser, stemmers, normalisation |
//! | `bm25` | the BM25 score of a chunk |
//! | `weighted_query` | looks up the words of a query, weighs them, and scores chunks |
//! | `query_words` | the words of a query in one commit, and a cache of recent queries |
//! | `spelling` | spelling correction: the known terms nearest to an unknown word |
//! | `pruning` | finds the best chunks without scoring all of them (MaxScore) |
//! | `postings_cursor` | moves through the posting lists of a word |
//! | `document_frequencies`, `count_cache` | the number of chunks that contain a word, and a cache of it |

mod analysis;
mod bm25;
mod count_cache;
mod directory;
mod document_frequencies;
pub(crate) mod index;
mod postings_cursor;
mod pruning;
mod query_words;
pub(crate) mod schema;
mod snapshot;
mod spelling;
mod weighted_query;
mod writer;
