//! Opening a stream: files in order, or live text, each where an earlier run ended. What can be refused is
//! refused here, before anything is written.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use serde_json::Value;
use tamis::about::Classes;
use tamis_read::error::{Error, Result};
use tamis_read::{Flow, Sources};

use super::earlier::Earlier;
use super::reader::{Prepared, Reader};
use super::{InputFile, Named, Setup, Shared, Text};
use crate::bookmark::{check_marks, refuse_half_line};
use crate::judge::{Judge, judge};
use crate::live::{Live, Pipe, Receive};
use crate::lock;
use crate::net::Peers;
use crate::refusal::{Impossible, News};
use crate::socket::{Socket, Treatment};
use crate::source::Place;
use crate::spool::{Origin, Spool};

/// Opens a stream, at the beginning or where the commit ended. What can be checked is checked now;
/// the reader must be given a thread.
pub(crate) fn open<'a>(setup: Setup<'a>, begin: Option<(&Place, &Value)>) -> Result<(Text, Reader<'a>)> {
    let earlier = Earlier::of(begin)?;
    let mut text = Text { at: earlier.at, ..Text::default() };
    let prepared = match setup.named {
        Named::Files(inputs) => text.open_files(inputs, &setup, &earlier)?,
        _ => text.open_live(&setup, &earlier)?,
    };
    // Of a text of which nothing came yet, nothing is known.
    let nothing = text.spool.as_ref().is_some_and(|spool| lock(spool).end() == 0);
    let is_live =
        !matches!(prepared, Prepared::Files(_)) && text.followed.is_none_or(|name| earlier.at.input >= name);
    if let Some(known) = earlier.bookmark.live.filter(|_| is_live && !nothing) {
        text.settled = Some(earlier.at.input);
        lock(&text.shared.live).insert(earlier.at.input, known);
    }
    match prepared {
        Prepared::Files(_) => {
            (text.since, text.passed) = (earlier.beside.unwrap_or(0), earlier.beside.unwrap_or(0));
        }
        // A file that begins here is counted from its beginning.
        _ if begin.is_none() || text.at != earlier.at => text.lines = Some(0),
        _ => text.lines = earlier.beside,
    }
    let (shared, lines) = (Arc::clone(&text.shared), text.lines);
    Ok((text, Reader { setup, shared, begin: earlier.at, lines, prepared }))
}

impl Text {
    /// Files in order, the last of which may grow.
    fn open_files(&mut self, inputs: &[String], setup: &Setup<'_>, earlier: &Earlier) -> Result<Prepared> {
        let (begin, marks) = (earlier.at, &earlier.bookmark.files);
        let mut paths = earlier.find(inputs, setup.follow)?;
        let last = setup.follow.then(|| paths.pop()).flatten();
        let before = paths.len();
        match &last {
            Some(_) => check_marks(marks.get(..before).unwrap_or(marks), &paths)?,
            None => earlier.check_unfollowed(&paths)?,
        }
        self.marks = marks.iter().take(begin.input.min(before)).cloned().collect();
        let left: Vec<PathBuf> = paths.iter().skip(begin.input).cloned().collect();
        let of = |path: &PathBuf| InputFile { path: path.clone(), plain: true, length: 0 };
        self.inputs = paths.iter().take(begin.input).map(of).collect();
        // Also to refuse what cannot be read before anything is written.
        let inputs = left.iter().map(|path| (path.clone(), None)).collect();
        let sources = Sources::of(inputs, setup.options, &setup.making.columns())?;
        self.explained = sources.explain();
        // What is followed is text.
        let followed = if last.is_some() { Classes::TEXT } else { Classes::NONE };
        self.classes = Some(followed.and(sources.classes(&setup.making.recipe.key_columns())));
        self.inputs.extend(self.explained.iter().map(InputFile::of));
        if let Some(input) = self.inputs.get(begin.input).filter(|input| input.plain && begin.offset > 0) {
            refuse_half_line(&input.path, begin.offset)?;
        }
        match last {
            None => Ok(Prepared::Files(sources)),
            Some(name) => {
                let waiting = self.open_followed(&name, before, setup, earlier)?;
                Ok(Prepared::Followed(left, name, waiting))
            }
        }
    }

    /// Text that comes once; spooled, where a state is kept.
    fn open_live(&mut self, setup: &Setup<'_>, earlier: &Earlier) -> Result<Prepared> {
        let (name, from) = receiver(setup, &self.shared)?;
        let offset = earlier.at.offset;
        let mut before: Option<Box<dyn Read + Send>> = None;
        if let Some(folder) = setup.folder {
            let spool = Spool::open(folder, setup.role.name(), offset, origin(setup.named))?;
            if spool.left_out() > 0 {
                let (name, bytes) = (name.clone(), spool.left_out());
                setup.watch.say(&News::UnfinishedRow { name, bytes });
            }
            before = Some(spool.read_from(offset)?);
            self.spool = Some(Arc::new(Mutex::new(spool)));
        }
        let live = Live::new(earlier.prelude(), before, from, self.spool.clone());
        Ok(Prepared::Live(name.into(), live))
    }
}

/// Where live text comes from, as its spool knows it.
fn origin(named: &Named) -> Origin {
    match named {
        Named::Stdin => Origin::Pipe(Pipe::trace(Path::new("/dev/stdin"))),
        Named::Pipe(path) => Origin::Pipe(Pipe::trace(path)),
        _ => Origin::Peers,
    }
}

/// Where live text comes from, and its name.
fn receiver(setup: &Setup<'_>, shared: &Arc<Shared>) -> Result<(String, Box<dyn Receive>)> {
    Ok(match setup.named {
        Named::Socket(address) => {
            let peers = Peers::new(address, setup.reconnect)?;
            let treatment = Treatment {
                known: Arc::clone(&shared.known),
                judge: judge_of(address.to_string().into(), setup, shared),
                idle: setup.idle,
                on_bad: setup.making.on_bad,
                herald: setup.watch.herald(),
            };
            (address.to_string(), Box::new(Socket::new(peers, treatment)))
        }
        Named::Pipe(path) => {
            let flow = Flow::open(path).map_err(Error::io(path))?;
            (path.display().to_string(), Box::new(Pipe::new(flow)))
        }
        _ => {
            if setup.folder.is_some() && Flow::stdin_is_a_file() {
                return Err(Impossible::FileAsInput.into());
            }
            ("-".into(), Box::new(Pipe::new(Flow::stdin())))
        }
    })
}

/// Tells how a text is understood that a peer begins, as the reader will.
fn judge_of(name: PathBuf, setup: &Setup<'_>, shared: &Arc<Shared>) -> Judge {
    let (shared, options, columns) = (Arc::clone(shared), setup.options.clone(), setup.making.columns());
    Box::new(move |text, extent| {
        let known = lock(&shared.live).get(&0).map(|live| live.options(&options));
        judge(&name, known.as_ref().unwrap_or(&options), &columns, text, extent)
    })
}
