//! No code; the manifest says what the crate is for.
