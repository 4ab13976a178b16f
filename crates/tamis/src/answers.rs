//! Where the answers for many keys go. What a loop writes to is part of it and stays in registers: through a
//! reference, each answer would wait for the one before it to reach memory.

/// Takes answers, in the order of the keys.
pub(crate) trait Answers {
    /// Takes the next.
    fn take(&mut self, found: bool);
}

/// Passed on one by one.
pub(crate) struct Each<F>(pub F);

impl<F: FnMut(bool)> Answers for Each<F> {
    #[inline(always)]
    fn take(&mut self, found: bool) {
        (self.0)(found);
    }
}

/// Written down, one after the other; those that there is no room for are dropped.
pub(crate) struct Noted<'a>(pub core::slice::IterMut<'a, bool>);

impl Answers for Noted<'_> {
    #[inline(always)]
    fn take(&mut self, found: bool) {
        if let Some(to) = self.0.next() {
            *to = found;
        }
    }
}

/// Counted: how many were found.
#[derive(Default)]
pub(crate) struct Hits(pub u64);

impl Answers for Hits {
    #[inline(always)]
    fn take(&mut self, found: bool) {
        self.0 += u64::from(found);
    }
}
