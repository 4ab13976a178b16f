//! What depends on the processor. The only room with unsafe code here: every function is safe to
//! call, and has a twin in plain code that passes the same tests.

pub(crate) mod text;
