//! Which entities does a chunk mention, and to which other chunks do these entities lead (graph search)?
//!
//! | File | Content |
//! |---|---|
//! | `mentions` | extracts the entity mentions of a text, by surface form |
//! | `words` | splits text into words |
//! | `initials` | decides whether a single capital letter is an initial |
//! | `dates` | recognises calendar dates |
//! | `function_words`, `caseless_function_words` | words that are never an entity by themselves |
//! | `korean_particles` | separates Korean nouns from their particles |
//! | `word_lists` | parses the word lists of `data/words/entities` |
//! | `record` | format in which the mentions of a chunk are stored with it |
//! | `graph` | the entity graph in memory: which chunks mention which entities |
//! | `loading` | the graph of an open project, which a thread loads |
//! | `posting_lists` | pool of the many short posting lists of the graph |
//! | `admissible_graph` | the graph restricted to one admissible set: which mentions are links there |
//! | `query_entities` | the entities that a query names, and how sure the graph is of them |
//! | `walk` | graph search: finds passages that are linked to the entities of a query |
//! | `neighbours` | the graph around one memory |
//! | `explore` | the entities of an admissible set: list, surroundings, paths; names and merges that a person gave |

pub(crate) mod admissible_graph;
mod caseless_function_words;
mod dates;
pub(crate) mod explore;
mod function_words;
pub(crate) mod graph;
mod initials;
mod korean_particles;
pub(crate) mod loading;
pub(crate) mod mentions;
pub(crate) mod neighbours;
mod posting_lists;
mod query_entities;
mod record;
pub(crate) mod walk;
mod word_lists;
mod words;
