//! Full-text search: finds the chunks that contain the words of a query and scores them with BM25. A chunk has two
//! indexed texts (see the glossary): its search text, called `own` in code, and its context text, called `context`.
//!
//! Terms of this module: a *term* is a word as the index stores it, after normalisation and stemming. The *variants* of
//! a query word are the terms that it has under the stemmers of different languages. A *document* is a chunk in the
//! index, and a *segment* is a set of documents that are stored together and only deleted, never changed. A chunk is
//! *live* until it is deleted.
//!
//! | File | Content |
//! |---|---|
//! | `index` | the text index of a project: publish, remove, search, score, read passages |
//! | `schema` | the fields of the index; turns a chunk into a Tantivy document |
//! | `snapshot` | the state of the index that a search reads: segments and columns of one commit |
//! | `writer` | writes changes as commits; handles commits that fail |
//! | `directory` | stores the files of the index and syncs them to disk |
//! | `mapped_pages` | gives back pages of mapped files |
//! | `analysis` | turns text into terms: normalisation, tokeniser, stemmers |
//! | `notations` | other notations of numbers, times of day, codes and emoji |
//! | `bm25` | the BM25 score of a chunk |
//! | `weighted_query` | looks up the words of a query, weighs them, and scores chunks |
//! | `query_words` | the posting lists of a query's words, and a cache of them for recent queries |
//! | `spelling` | spelling correction: the known terms nearest to an unknown word |
//! | `pruning` | finds the best chunks without scoring all of them (MaxScore) |
//! | `postings_cursor` | iterates over the posting lists of a word |
//! | `document_frequencies`, `count_cache` | the number of chunks that contain a word, and a cache of it |

mod analysis;
mod bm25;
mod count_cache;
pub(crate) mod directory;
mod document_frequencies;
pub(crate) mod index;
mod mapped_pages;
mod notations;
mod postings_cursor;
mod pruning;
mod query_words;
pub(crate) mod schema;
mod snapshot;
mod spelling;
mod weighted_query;
mod writer;
