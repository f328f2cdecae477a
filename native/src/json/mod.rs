//! How is a JSON body checked and taken apart before JavaScript sees it?
//!
//! JavaScript's parser takes seconds and gigabytes for a body of many small values, and blocks all other requests
//! meanwhile. So the bytes are counted while they arrive (`counter`). A large body is then parsed on a thread of low
//! priority (`split`): JavaScript gets a small skeleton, and then groups of items and long texts one by one.

pub mod body;
pub mod counter;
pub mod split;
mod text;
