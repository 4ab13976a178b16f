//! Steps at which a test can end the program, as `kill -9` would: what follows the step is not done, and
//! nothing is tidied up. So each moment of a commit is tried, and not those alone that a kill hits by luck.
//!
//! Programs without debug assertions have none of this: in a release there is nothing to switch on.

/// Ends the program if a test asked for its end at this step.
#[inline(always)]
pub fn reach(step: &'static str) {
    #[cfg(debug_assertions)]
    armed::reach(step);
    #[cfg(not(debug_assertions))]
    let _ = step;
}

#[cfg(debug_assertions)]
mod armed {
    use std::sync::LazyLock;
    use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

    /// The step, and at which of the times that it is reached from now on: `STEP:N`.
    static ASKED: LazyLock<Option<(String, AtomicU64)>> = LazyLock::new(|| {
        let asked = std::env::var("TAMIS_TEST_END_AT").ok()?;
        let (step, time) = asked.rsplit_once(':')?;
        Some((step.into(), AtomicU64::new(time.parse().ok()?)))
    });

    pub(super) fn reach(step: &str) {
        if let Some((asked, left)) = &*ASKED
            && asked == step
            && left.fetch_sub(1, Relaxed) == 1
        {
            std::process::abort();
        }
    }
}
