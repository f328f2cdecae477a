//! Mneme's native core: the indexes of one project, and the searches over them.
//!
//! | Module | Question |
//! |---|---|
//! | `project` | what is published, shown, hidden and searched, and in which order the parts change? |
//! | `project_files` | which files of a project are missing, damaged, or belong to nothing? |
//! | `filters` | which memories may a search return? |
//! | `vectors` | which chunks have the vectors most similar to a query's vector? |
//! | `text` | which chunks match the words of a query, and how well? |
//! | `entities` | which entities does a chunk mention, and to which other chunks do these entities lead? |
//! | `bindings` | how does JavaScript call all of this? No other module knows Node-API. |
//! | `hit` | what does a hit of a search consist of, and in which order are hits returned? |
//! | `json` | how is a JSON body checked and taken apart before JavaScript sees it? |
//! | `layout` | where do points with similar vectors lie on a plane, for a map of memories? |
//! | `listener` | how does the server claim its port, and stop accepting connections? |
//! | `lock` | is this process the only one that works on a data directory? |
//! | `files` | how are damaged files moved out of the way, and how does a rename become durable? |
//! | `memory` | how is freed memory given back to the operating system? |
//! | `panics` | how are panics kept off the terminal, and logged? |
//! | `threads` | which threads run only when no other wants the processor, and which work is shared between threads? |
//! | `error` | which errors are there, and with which codes? |
//!
//! The crate `mneme-encoder` (`../encoder`) computes BERT models; `mneme-testing` (`../testing`) helps the tests of
//! both.

pub mod bindings;
mod entities;
mod error;
mod files;
mod filters;
mod hit;
mod json;
mod layout;
mod listener;
mod lock;
mod memory;
mod panics;
mod project;
mod project_files;
mod text;
mod threads;
mod vectors;
