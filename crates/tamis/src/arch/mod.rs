//! The room for unsafe code: SIMD with scalar twins, and memory maps behind safe doors.

pub mod map;
pub mod text;
