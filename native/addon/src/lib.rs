//! Links the native core to a shared library. It is a crate of its own so that Cargo compiles the native core while
//! the largest dependencies are still being optimised; a shared library would wait for them.

pub use mneme_native::bindings;
