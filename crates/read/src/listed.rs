//! Rows whose ends are listed first, a window of the text at a time, then walked through: so neither loop has
//! a branch that goes another way for each row.

use crate::arch::text::Ends;
use crate::lines::Fault;

/// How much is looked through at a time: a list of its delimiters fits in the nearest cache.
pub(super) const WINDOW: usize = 16 << 10;

/// Rows longer than this are not worth a list, which takes eight times their memory.
pub(super) const LONGEST: usize = 1 << 20;

/// Gives window after window: its text, where that begins, and the ends of the rows that end in it. Returns how far it
/// came: to the end of the text, or to a row that is too long.
#[inline(always)]
pub(super) fn listed<'t, const N: usize>(
    data: &'t [u8],
    delimiters: [u8; N],
    mut walk: impl FnMut(&'t [u8], usize, &Ends) -> Result<(), Fault>,
) -> Result<usize, Fault> {
    let mut ends = Ends::default();
    let mut start = 0;
    let mut size = WINDOW;
    while start < data.len() {
        let window = &data[start..data.len().min(start + size)];
        ends.find(window, delimiters);
        if start + window.len() == data.len() && !window.ends_with(b"\n") {
            ends.push_last(window);
        }
        // What begins after the last row is for the next window.
        let Some(last) = ends.last() else {
            size *= 2;
            if size <= LONGEST {
                continue;
            }
            return Ok(start);
        };
        walk(window, start, &ends)?;
        start = data.len().min(start + last + 1);
        size = WINDOW;
    }
    Ok(start)
}
