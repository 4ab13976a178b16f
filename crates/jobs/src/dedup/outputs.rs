//! Where first occurrences and repetitions go: to outlets, or to files that a state continues.

use std::fs::{self, File};
use std::io::Read;
use std::path::Path;

use tamis_read::Form;
use tamis_read::error::{Error, Result};

use super::state::{Begun, Named, State, Written};
use super::{Notice, OutputRefusal};
use tamis_make::destination::{Destination, Outlet};
use tamis_make::files::{self, Draft};
use tamis_make::place;
use tamis_make::resume::Appended;

/// Where records go.
pub(super) enum To {
    Outlet(Outlet),
    Continued(Continued),
}

/// A file that is continued. What no commit has is taken back when the run fails.
pub(super) struct Continued {
    file: Appended,
    /// What the last commit has of it.
    committed: u64,
    /// Whether there is no more of it.
    settled: bool,
    /// Whether this run has made it, and no commit has anything of it.
    made: bool,
}

impl Continued {
    fn open(path: &Path, length: u64) -> Result<Continued> {
        let made = place::look(path).map_err(Error::io(path))?.is_none();
        Ok(Continued { file: Appended::open(path, length)?, committed: length, settled: true, made })
    }

    /// Makes sure that all of it is on disk.
    pub(super) fn sync(&self) -> Result<()> {
        self.file.sync()
    }
}

impl Drop for Continued {
    fn drop(&mut self) {
        if !self.settled {
            let _ = self.file.cut(self.committed);
        }
        if self.made {
            let _ = fs::remove_file(&self.file.path);
        }
    }
}

impl To {
    pub(super) fn write(&mut self, records: &[u8]) -> Result<()> {
        match self {
            To::Outlet(outlet) => outlet.write(records),
            To::Continued(continued) => {
                continued.settled &= records.is_empty();
                continued.file.write(records)
            }
        }
    }

    pub(super) fn continued(&mut self) -> Option<&mut Continued> {
        match self {
            To::Continued(file) => Some(file),
            To::Outlet(_) => None,
        }
    }

    /// Whether nothing stands there yet.
    pub(super) fn is_empty(&self) -> bool {
        !matches!(self, To::Continued(continued) if continued.file.length > 0)
    }

    /// Whether records can go there.
    pub(super) fn takes(&self) -> bool {
        match self {
            To::Outlet(outlet) => outlet.takes(),
            To::Continued(_) => true,
        }
    }

    pub(super) fn is_closed(&self) -> bool {
        matches!(self, To::Outlet(outlet) if outlet.is_closed())
    }

    /// Its name, and what a commit has of it: all that is there now.
    pub(super) fn written(&mut self) -> Result<Option<Named>> {
        let Some(Continued { file, .. }) = self.continued() else { return Ok(None) };
        let written =
            Written::of(&file.path, &File::open(&file.path).map_err(Error::io(&file.path))?, file.length)?;
        Ok(Some((file.path.clone(), written)))
    }

    /// Notes that a commit has all of it.
    pub(super) fn settle(&mut self) {
        if let Some(file) = self.continued() {
            (file.committed, file.settled, file.made) = (file.file.length, true, false);
        }
    }

    /// The file that appears in place of another, and what a commit has of it.
    pub(super) fn replacing(self) -> Result<(Option<Draft>, Option<Named>)> {
        let Some(mut draft) = self.into_outlet().map(Outlet::end).transpose()?.flatten() else {
            return Ok((None, None));
        };
        let path = draft.path().to_owned();
        let length = draft.file().metadata().map_err(Error::io(&path))?.len();
        let written = Written::of(&path, draft.file(), length)?;
        Ok((Some(draft), Some((path, written))))
    }

    pub(super) fn into_outlet(self) -> Option<Outlet> {
        match self {
            To::Outlet(outlet) => Some(outlet),
            To::Continued(_) => None,
        }
    }
}

/// The outputs of a run.
pub(super) struct Opened {
    pub(super) to: [To; 3],
    /// Whether they appear at the end, in place of others: until then no state belongs to them.
    pub(super) replaces: bool,
    /// Whether one begins here, which the state should say before anything is written to it.
    pub(super) begins: bool,
}

/// Opens outputs, with the form of their records, where they are records as they were read. With a state,
/// those that are files are continued.
pub(super) fn open(
    destinations: [(&Destination, Option<&Form>); 3],
    state: Option<&State>,
    resumed: bool,
    notices: &mut Vec<Notice>,
) -> Result<Opened> {
    let outlets = |replaces| -> Result<Opened> {
        let [to, others, aside] = destinations.map(outlet);
        Ok(Opened { to: [to?, others?, aside?], replaces, begins: false })
    };
    let Some(state) = state else { return outlets(false) };
    let paths = destinations.map(|(to, _)| to.path().filter(|path| is_regular(path)));
    let begun = paths.map(|file| {
        let begin = |path| files::check(path).and_then(|()| state.begin(path));
        file.map(begin).transpose()
    });
    let [output, rejected, aside] = begun;
    let begun = [output?, rejected?, aside?];
    if begun.iter().any(|begun| matches!(begun, Some(Begun::Replaced))) {
        return outlets(true);
    }
    // Before one is touched, all are known to be as the state has them.
    for ((path, begun), (_, form)) in paths.iter().zip(&begun).zip(destinations) {
        if let (Some(path), Some(Begun::Continued(length))) = (path, begun) {
            can_be_continued(state, path, *length, form.map_or(&[], |form| &form.prelude))?;
        }
    }
    let begins = begun.iter().any(|begun| matches!(begun, Some(Begun::New)));
    let mut open = |at: usize| -> Result<To> {
        let (Some(path), Some(begun)) = (paths[at], &begun[at]) else {
            return outlet(destinations[at]);
        };
        let length = if let Begun::Continued(length) = begun { *length } else { 0 };
        let cut = cut_at(path, length)?;
        let file = Continued::open(path, length)?;
        if cut > 0 {
            notices.push(Notice::Cut { path: path.into(), bytes: cut });
        }
        match begun {
            Begun::Continued(length) if !resumed && *length > 0 => {
                notices.push(Notice::Appended { path: path.into() });
            }
            Begun::New if state.knows_outputs() => notices.push(Notice::NewOutput { path: path.into() }),
            _ => {}
        }
        Ok(To::Continued(file))
    };
    Ok(Opened { to: [open(0)?, open(1)?, open(2)?], replaces: false, begins })
}

fn outlet((to, form): (&Destination, Option<&Form>)) -> Result<To> {
    Outlet::open_for(to, form.and_then(|form| form.schema.as_ref())).map(To::Outlet)
}

/// How much of a file stands beyond this length.
fn cut_at(path: &Path, length: u64) -> Result<u64> {
    let there = place::look(path).map_err(Error::io(path))?;
    Ok(there.map_or(0, |file| file.len()).saturating_sub(length))
}

/// Refuses to continue a file that has other columns, or something that no run of this state left there.
fn can_be_continued(state: &State, path: &Path, length: u64, prelude: &[u8]) -> Result<()> {
    if length > 0 {
        has_prelude(path, prelude)?;
    }
    let cut = cut_at(path, length)?;
    // A run that came to its end leaves nothing that it did not commit.
    if cut > 0 && !state.was_left() {
        return Err(Error::input(path, OutputRefusal::Longer { bytes: cut }));
    }
    Ok(())
}

/// Refuses to continue an output that begins with other columns than these.
fn has_prelude(output: &Path, prelude: &[u8]) -> Result<()> {
    let header = prelude.trim_ascii_end();
    let mut found = Vec::new();
    let file = File::open(output).map_err(Error::io(output))?;
    // With what follows it: the first columns of another header are the same.
    file.take(header.len() as u64 + 1).read_to_end(&mut found).map_err(Error::io(output))?;
    if !header.is_empty() && found.trim_ascii_end() != header {
        return Err(Error::input(output, OutputRefusal::Columns));
    }
    Ok(())
}

/// Whether a name is that of a file, or free.
pub(super) fn is_regular(path: &Path) -> bool {
    fs::metadata(path).map_or(true, |there| there.is_file())
}
