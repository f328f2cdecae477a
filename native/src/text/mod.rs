//! Which chunks match the words of a query, and how well (full-text search, BM25)?
//!
//! | File | Content |
//! |---|---|
//! | `index` | the text index of a project: publish, remove, search, score, read passages |
//! | `schema` | how a chunk becomes a Tantivy document |
//! | `view` | one commit as searches see it: segments and their columns |
//! | `writer` | how a change becomes a commit, and what happens when a commit fails |
//! | `directory` | the files of the index, and when they are synced |
//! | `analysis` | how text becomes terms |
//! | `bm25` | how well a chunk matches a word |
//! | `weighted_query` | looks up the words of a query, weighs them, and scores chunks |
//! | `query_words` | the words of a query in one commit, and a cache of the latest |
//! | `spelling` | the known terms nearest to an unknown word |
//! | `pruning` | finds the best chunks without scoring all of them (MaxScore) |
//! | `postings_cursor` | moves through the postings of a word |
//! | `document_frequencies`, `remembered_counts` | in how many chunks a word occurs, and a cache of it |

mod analysis;
mod bm25;
mod directory;
mod document_frequencies;
pub(crate) mod index;
mod postings_cursor;
mod pruning;
mod query_words;
mod remembered_counts;
pub(crate) mod schema;
mod spelling;
mod view;
mod weighted_query;
mod writer;
