//! Steps at which a test can end the program, as `kill -9` would: what follows the step is not done, and
//! nothing is tidied up. So each moment of a commit is tried, and not those alone that a kill hits by luck.
//! Or it can hold the program there, and change something meanwhile.
//!
//! Programs without debug assertions have none of this: in a release there is nothing to switch on.

/// Ends or holds the program if a test asked for that at this step.
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

    /// The step, and a file that is made there and waited for until it is gone: `STEP:FILE`.
    static HELD: LazyLock<Option<(String, String)>> = LazyLock::new(|| {
        let asked = std::env::var("TAMIS_TEST_HOLD_AT").ok()?;
        asked.split_once(':').map(|(step, file)| (step.into(), file.into()))
    });

    pub(super) fn reach(step: &str) {
        if let Some((_, file)) = HELD.as_ref().filter(|(held, _)| held == step)
            && std::fs::write(file, "").is_ok()
        {
            while std::path::Path::new(file).exists() {
                std::thread::sleep(std::time::Duration::from_millis(1));
            }
        }
        if let Some((asked, left)) = &*ASKED
            && asked == step
            && left.fetch_sub(1, Relaxed) == 1
        {
            std::process::abort();
        }
    }
}
