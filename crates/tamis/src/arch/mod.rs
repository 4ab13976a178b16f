//! What depends on the processor or on raw memory. The only room with unsafe code: every
//! function here is safe to call, and has a twin in plain code that passes the same tests.

pub mod cpu;
pub mod map;
#[cfg(feature = "std")]
pub mod text;
