//! Mneme's native core: what a project's searches run on.
//!
//! | File | Question |
//! |---|---|
//! | `project` | what is published, shown, hidden and searched, and in which order the parts change |
//! | `candidates`, `memory_set` | which memories a search may return |
//! | `attributes`, `dictionary`, `slab` | which attributes memories have, for filters |
//! | `filter`, `json` | what a filter asks of them; how JSON text becomes values |
//! | `vector_index` | which chunks lie nearest, by which route |
//! | `vector_log` | how vectors are kept on disk |
//! | `row_table`, `row_set`, `matrix`, `signs`, `row_blocks`, `kernels` | how they are scanned in memory |
//! | `graph`, `graph_builder` | the HNSW graph for large sets, and the thread that keeps it |
//! | `text_index`, `text_schema`, `text_view` | postings and passages |
//! | `text_writer`, `text_directory` | how a change becomes a commit, and when that is on the disk |
//! | `analysis`, `bm25`, `spelling` | words, how well they match, and what an unknown one may mean |
//! | `pruning`, `postings_cursor`, `document_frequencies` | which chunks match best, without scoring all of them |
//! | `names`, `name_words`, `name_dates`, `function_words`, `grammar_words`, `name_record` | which names a chunk mentions, and how that is stored |
//! | `name_graph`, `posting_lists` | the knowledge graph: which chunks mention which names |
//! | `name_scope`, `name_walk`, `name_neighbours` | which of them are links for a question, and where they lead |
//! | `encoder`, `encoder_weights`, `encoder_kernels` | the models, on processors where their runtime is slow |
//! | `helper` | how two threads share what takes a few milliseconds |
//! | `onnx_tensors` | how a model's file is read |
//! | `bindings` | the JavaScript face; everything else knows nothing of it |

pub mod analysis;
pub mod attributes;
pub mod bindings;
mod bm25;
pub mod candidates;
pub mod dictionary;
mod document_frequencies;
pub mod encoder;
#[cfg(target_arch = "x86_64")]
mod encoder_kernels;
#[cfg(target_arch = "x86_64")]
mod encoder_weights;
pub mod error;
pub mod filter;
mod function_words;
mod grammar_words;
mod graph;
mod graph_builder;
#[cfg(target_arch = "x86_64")]
mod helper;
pub mod hit;
pub mod json;
mod kernels;
pub mod lock;
mod matrix;
pub mod memory_set;
mod name_dates;
mod name_graph;
pub mod name_neighbours;
mod name_record;
mod name_scope;
pub mod name_walk;
mod name_words;
pub mod names;
#[cfg(target_arch = "x86_64")]
mod onnx_tensors;
mod posting_lists;
mod postings_cursor;
pub mod project;
mod pruning;
mod row_blocks;
mod row_set;
mod row_table;
mod signs;
mod slab;
mod spelling;
#[cfg(test)]
pub(crate) mod testing;
mod text_directory;
pub mod text_index;
pub mod text_schema;
mod text_view;
mod text_writer;
pub mod vector_index;
pub mod vector_log;
