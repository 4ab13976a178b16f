//! Whether a text can be understood that begins like this. A peer is asked before anything of it is handed on:
//! what a stranger sends should neither end the run nor decide how others are read.

use std::io::{self, Cursor, Read};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use tamis::key::Column;
use tamis_read::error::{Error, Result};
use tamis_read::{Flow, Options, Sources};

use super::peer::Manner;
use super::refusal::Impossible;

/// How far a text has come that is judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Extent {
    Whole,
    Beginning,
}

/// Tells how the rows of a text are cut; nothing where more of it must come first.
pub(super) type Judge = Box<dyn Fn(&[u8], Extent) -> Result<Option<Manner>> + Send>;

/// How a text that begins like this is understood: as the reader does, of the same bytes.
pub(super) fn judge(
    path: &Path,
    options: &Options,
    columns: &[Column],
    text: &[u8],
    extent: Extent,
) -> Result<Option<Manner>> {
    let state = Arc::new(State::default());
    let text = Begun { text: Cursor::new(text.to_vec()), extent, state: Arc::clone(&state) };
    let asked = Arc::clone(&state);
    let flow = Flow::new(text, move |_| extent == Extent::Whole || !asked.spent.load(Relaxed));
    let sources = match Sources::of(vec![(path.into(), Some(flow))], options, columns) {
        Err(_) if state.lacking.load(Relaxed) => return Ok(None),
        sources => sources?,
    };
    let form = &sources.explain()[0];
    if form.compression.is_some() {
        return Err(Error::input(path, Impossible::Compressed));
    }
    Ok(Some(Manner::new(form, sources.prelude(0), sources.row_ends(0))))
}

/// Whether all was read, and whether more was asked for.
#[derive(Default)]
struct State {
    spent: AtomicBool,
    lacking: AtomicBool,
}

/// A text of which more may come, though not now.
struct Begun {
    text: Cursor<Vec<u8>>,
    extent: Extent,
    state: Arc<State>,
}

impl Read for Begun {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let len = self.text.read(buffer)?;
        self.state.spent.store(self.text.position() >= self.text.get_ref().len() as u64, Relaxed);
        if len == 0 && !buffer.is_empty() && self.extent == Extent::Beginning {
            self.state.lacking.store(true, Relaxed);
            return Err(io::Error::other("more of it must come first"));
        }
        Ok(len)
    }
}
