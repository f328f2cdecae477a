//! Which entities does a chunk mention, and which other chunks do they lead to (graph search)?
//!
//! | File | Content |
//! |---|---|
//! | `mentions` | finds the entities that a text mentions, by how they are written |
//! | `words` | how text becomes the words that entities consist of |
//! | `dates` | the days that a text mentions |
//! | `function_words`, `grammar_words` | words that are never an entity by themselves |
//! | `word_lists` | reads the lists of those words from `data/words/entities` |
//! | `record` | how the mentions of a chunk are stored with it |
//! | `graph` | the knowledge graph in memory: which chunks mention which entities |
//! | `posting_lists` | the many short lists that the graph consists of |
//! | `scope` | which mentions are links inside one admissible set |
//! | `walk` | graph search: which passages the entities of a query lead to |
//! | `neighbours` | the graph around one memory |

mod dates;
mod function_words;
mod grammar_words;
pub(crate) mod graph;
pub(crate) mod mentions;
pub(crate) mod neighbours;
mod posting_lists;
mod record;
pub(crate) mod scope;
pub(crate) mod walk;
mod word_lists;
mod words;
