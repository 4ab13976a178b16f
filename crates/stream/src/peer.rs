//! What one peer of a socket sends: a text of its own, of which whole rows are handed on.
//!
//! Rows of several peers follow each other in one text, so no row may be handed on in parts. A peer's header
//! is its own: it must be that of the text, and is taken off. What a peer can make us keep is bounded: of a
//! row that is too long, enough is handed on to show that it is, and the rest is passed over.

use std::net::TcpStream;
use std::time::{Duration, Instant};

use memchr::memrchr;
use tamis_read::{Explained, RowEnds};

use super::live::LONGEST_LINE;

/// UTF-8 text may begin with this.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// What a peer may have of an unfinished row without asking for room.
pub(super) const SHORT: usize = 64 << 10;

/// A beginning that told nothing is looked at again when it is twice as long, or has grown for this time: who
/// sends it in small parts should not make us look at it for ever.
const AGAIN: Duration = Duration::from_secs(1);

/// How the rows of the text are cut, once that is known.
#[derive(Debug)]
pub(super) struct Manner {
    ends: RowEnds,
    /// The line that names the columns.
    header: Option<Vec<u8>>,
}

impl Manner {
    /// Of a text that begins like this.
    pub(super) fn new(explained: &Explained, prelude: &[u8], ends: RowEnds) -> Manner {
        let header = prelude.strip_prefix(BYTE_ORDER_MARK).unwrap_or(prelude);
        Manner { ends, header: explained.header.then(|| without_end(header).to_vec()) }
    }

    /// The header, as people see it.
    pub(super) fn header(&self) -> String {
        shown(self.header.as_deref().unwrap_or_default())
    }
}

fn without_end(row: &[u8]) -> &[u8] {
    let row = row.strip_suffix(b"\n").unwrap_or(row);
    row.strip_suffix(b"\r").unwrap_or(row)
}

/// The beginning of a line.
fn shown(line: &[u8]) -> String {
    let text = String::from_utf8_lossy(&line[..line.len().min(200)]);
    let short: String = text.chars().take(60).flat_map(char::escape_debug).collect();
    if text.chars().count() > 60 { short + "…" } else { short }
}

/// How far a peer's text is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// Its first row has not ended, or it is not known how rows are cut.
    Begin,
    Rows,
    /// Within a row that is too long.
    Passing,
}

/// Why a peer is not listened to any longer.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Wrong {
    /// Its first row, which is not the header.
    Header(String),
    /// A quote that does not close: nobody can tell where its next row begins.
    Quote,
}

/// The text of a peer.
#[derive(Debug)]
pub(super) struct Text {
    /// What came of a row that has not ended.
    unfinished: Vec<u8>,
    /// How much of it was looked at.
    looked: usize,
    ends: RowEnds,
    stage: Stage,
    /// Where the last line ends that came before that is known, and which of it told nothing, and when.
    lines: usize,
    tried: Option<(usize, Instant)>,
    /// Whether it is known here how rows are cut.
    knows: bool,
}

/// A peer, and what it sends.
#[derive(Debug)]
pub(super) struct Peer {
    pub(super) stream: TcpStream,
    pub(super) name: String,
    pub(super) text: Text,
    /// When something came of it.
    pub(super) heard: Instant,
    /// Whether it has room for a long row.
    pub(super) room: bool,
}

impl Peer {
    pub(super) fn new(stream: TcpStream) -> Peer {
        let name = stream.peer_addr().map_or_else(|_| "a peer".into(), |address| address.to_string());
        Peer { stream, name, text: Text::default(), heard: Instant::now(), room: false }
    }
}

impl Default for Text {
    fn default() -> Self {
        let (ends, stage) = (RowEnds::of_lines(), Stage::Begin);
        Text { unfinished: Vec::new(), looked: 0, ends, stage, lines: 0, tried: None, knows: false }
    }
}

impl Text {
    /// Bytes of a row that has not ended.
    pub(super) fn unfinished(&self) -> usize {
        self.unfinished.len()
    }

    /// Whether it is known here how rows are cut.
    pub(super) fn knows(&self) -> bool {
        self.knows
    }

    /// Keeps bytes while it is not known how rows are cut.
    pub(super) fn wait(&mut self, bytes: &[u8]) {
        if let Some(end) = memrchr(b'\n', bytes) {
            self.lines = self.unfinished.len() + end + 1;
        }
        self.unfinished.extend_from_slice(bytes);
    }

    /// What came and may tell how rows are cut: whole lines, or the beginning of one that is too long.
    pub(super) fn beginning(&mut self) -> Option<&[u8]> {
        let end = if self.is_too_long() { self.unfinished.len() } else { self.lines };
        let again = match self.tried {
            None => end > 0,
            Some((tried, when)) => end > tried && (end >= 2 * tried || when.elapsed() >= AGAIN),
        };
        let again = again || self.is_too_long();
        again.then(|| {
            self.tried = Some((end, Instant::now()));
            &self.unfinished[..end]
        })
    }

    /// Whether more of a row came than one may have.
    pub(super) fn is_too_long(&self) -> bool {
        self.unfinished.len() > LONGEST_LINE
    }

    /// All that came, while it is not known how rows are cut.
    pub(super) fn all(&self) -> &[u8] {
        &self.unfinished
    }

    /// Tells how rows are cut by its own beginning, and hands on those that are there, with the header.
    pub(super) fn lead(&mut self, manner: &Manner, into: &mut Vec<u8>) -> Result<(), Wrong> {
        if self.unfinished.starts_with(BYTE_ORDER_MARK) {
            into.extend(self.unfinished.drain(..BYTE_ORDER_MARK.len()));
        }
        self.stage = Stage::Rows;
        self.know(manner, into)
    }

    /// Hears how rows are cut, and hands on those that are there.
    pub(super) fn know(&mut self, manner: &Manner, into: &mut Vec<u8>) -> Result<(), Wrong> {
        self.knows = true;
        self.ends = manner.ends.clone();
        let waiting = std::mem::take(&mut self.unfinished);
        self.take(&waiting, manner, into)
    }

    /// Takes what came, and hands on whole rows.
    pub(super) fn take(
        &mut self,
        mut bytes: &[u8],
        manner: &Manner,
        into: &mut Vec<u8>,
    ) -> Result<(), Wrong> {
        while !bytes.is_empty() {
            if self.stage == Stage::Passing {
                let Some(end) = self.ends.next(bytes) else { return Ok(()) };
                bytes = &bytes[end..];
                self.stage = Stage::Rows;
                continue;
            }
            // No more than shows that a row is too long.
            let (now, later) = bytes.split_at(bytes.len().min(LONGEST_LINE + 1 - self.unfinished.len()));
            self.unfinished.extend_from_slice(now);
            bytes = later;
            if self.stage == Stage::Begin {
                self.begin(manner)?;
            }
            if self.stage == Stage::Rows {
                self.rows(into)?;
            }
        }
        Ok(())
    }

    /// Takes off a byte order mark, and the header.
    fn begin(&mut self, manner: &Manner) -> Result<(), Wrong> {
        if self.looked == 0 {
            if self.unfinished.len() < BYTE_ORDER_MARK.len() && BYTE_ORDER_MARK.starts_with(&self.unfinished)
            {
                return Ok(());
            }
            if self.unfinished.starts_with(BYTE_ORDER_MARK) {
                self.unfinished.drain(..BYTE_ORDER_MARK.len());
            }
        }
        let Some(header) = &manner.header else {
            self.stage = Stage::Rows;
            return Ok(());
        };
        while let Some(end) = self.ends.next(&self.unfinished[self.looked..]) {
            let row: Vec<u8> = self.unfinished.drain(..self.looked + end).collect();
            self.looked = 0;
            if self.ends.is_row(&row) {
                return self.headed(header, &row);
            }
        }
        self.looked = self.unfinished.len();
        match self.looked > LONGEST_LINE {
            true => Err(Wrong::Header(shown(&self.unfinished))),
            false => Ok(()),
        }
    }

    fn headed(&mut self, header: &[u8], row: &[u8]) -> Result<(), Wrong> {
        if without_end(row) != header {
            return Err(Wrong::Header(shown(without_end(row))));
        }
        self.stage = Stage::Rows;
        Ok(())
    }

    /// Hands on the rows that have ended.
    fn rows(&mut self, into: &mut Vec<u8>) -> Result<(), Wrong> {
        let looked = self.looked;
        self.looked = self.unfinished.len();
        if let Some(end) = self.ends.last(&self.unfinished[looked..]) {
            into.extend_from_slice(&self.unfinished[..looked + end]);
            self.unfinished.drain(..looked + end);
            self.unfinished.shrink_to(2 * SHORT);
            self.looked = self.unfinished.len();
        }
        if self.unfinished.len() <= LONGEST_LINE {
            return Ok(());
        }
        if self.ends.is_quoted() {
            return Err(Wrong::Quote);
        }
        self.hand_on_last(into);
        self.stage = Stage::Passing;
        Ok(())
    }

    fn hand_on_last(&mut self, into: &mut Vec<u8>) {
        into.extend_from_slice(&self.unfinished);
        into.push(b'\n');
        (self.unfinished, self.looked) = (Vec::new(), 0);
    }

    /// Hands on the last row, which may lack its end, of a peer that has gone well.
    pub(super) fn end(mut self, manner: &Manner, into: &mut Vec<u8>) -> Result<(), Wrong> {
        if self.unfinished.is_empty() {
            return Ok(());
        }
        if let (Stage::Begin, Manner { header: Some(header), .. }) = (self.stage, manner) {
            let row = std::mem::take(&mut self.unfinished);
            return if self.ends.is_row(&row) { self.headed(header, &row) } else { Ok(()) };
        }
        if self.ends.is_quoted() {
            return Err(Wrong::Quote);
        }
        self.hand_on_last(into);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use proptest::prelude::*;
    use tamis_read::{Options, Sources};

    /// How a CSV file of this text is cut.
    fn manner(text: &str) -> Manner {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.csv");
        std::fs::write(&path, text).unwrap();
        let columns = [tamis::key::Column::Number(1)];
        let sources = Sources::of(vec![(path, None)], &Options::default(), &columns).unwrap();
        Manner::new(&sources.explain()[0], sources.prelude(0), sources.row_ends(0))
    }

    /// What is handed on of a text that comes in parts, and what is wrong with it.
    fn handed_on(manner: &Manner, parts: &[&str]) -> (String, Option<Wrong>) {
        let (mut text, mut into) = (Text::default(), Vec::new());
        text.know(manner, &mut into).unwrap();
        let mut wrong = parts.iter().find_map(|part| text.take(part.as_bytes(), manner, &mut into).err());
        if wrong.is_none() {
            wrong = text.end(manner, &mut into).err();
        }
        (String::from_utf8(into).unwrap(), wrong)
    }

    #[test]
    fn a_header_is_taken_off_and_another_one_refused() {
        let manner = manner("a,b\n1,2\n");
        let well =
            |text: &str, rows: &str| assert_eq!(handed_on(&manner, &[text]), (rows.into(), None), "{text}");
        well("a,b\n1,2\n3,4", "1,2\n3,4\n");
        well("\u{feff}a,b\r\n1,\"x\ny\"\r\n", "1,\"x\ny\"\r\n");
        well("\n\na,b\na,b\n", "a,b\n");
        well("a,b", "");
        well("", "");
        for (text, first) in [("b,a\n1,2\n", "b,a"), ("1,2", "1,2"), ("\"a,b\n\"\nx", "\\\"a,b\\n\\\"")] {
            let (rows, wrong) = handed_on(&manner, &[text]);
            assert_eq!((rows.as_str(), wrong), ("", Some(Wrong::Header(first.into()))));
        }
        assert_eq!(handed_on(&manner, &["a,b\n1,2\n\"x\n3,4\n"]), ("1,2\n".into(), Some(Wrong::Quote)));
    }

    #[test]
    fn of_a_row_that_is_too_long_enough_is_handed_on_to_show_it() {
        let manner = manner("a\n");
        let long = "x".repeat(LONGEST_LINE + 1);
        let row = format!("{long},\"\n\",y\n2\n");
        let (rows, wrong) = handed_on(&manner, &["a\n1\n", &row, "3\n"]);
        assert_eq!((rows.len(), wrong), (LONGEST_LINE + 2 + 6, None));
        assert!(rows.starts_with("1\nxx") && rows.ends_with("x\n2\n3\n"));
        let (rows, wrong) = handed_on(&manner, &["a\n", &format!("\"{long}\"\n2\n")]);
        assert_eq!((rows.as_str(), wrong), ("", Some(Wrong::Quote)));
    }

    proptest! {
        /// Rows are handed on whole, all of them and in their order, however they come.
        #[test]
        fn what_is_handed_on_does_not_depend_on_the_parts(
            rows in proptest::collection::vec("[ab,]{0,4}|\"[a,\n]{0,4}\"", 0..8),
            cuts in proptest::collection::vec(1usize..6, 0..40),
        ) {
            let manner = manner("a,b\n");
            let text: String = rows.iter().map(|row| format!("{row}\n")).collect();
            let all = format!("\u{feff}a,b\n{text}");
            let (mut parts, mut rest) = (Vec::new(), all.as_str());
            for cut in cuts {
                let at = (cut..=rest.len()).find(|at| rest.is_char_boundary(*at)).unwrap_or(rest.len());
                let (part, later) = rest.split_at(at);
                parts.push(part);
                rest = later;
            }
            parts.push(rest);
            prop_assert_eq!(handed_on(&manner, &parts), (text, None));
            // By this peer it is known, and its header is that of the text.
            let (mut led, mut into) = (Text::default(), Vec::new());
            led.wait(parts[0].as_bytes());
            let known = led.lead(&manner, &mut into).and_then(|()| {
                parts[1..].iter().try_for_each(|part| led.take(part.as_bytes(), &manner, &mut into))
            });
            prop_assert_eq!((known, String::from_utf8(into).unwrap()), (Ok(()), all));
        }
    }
}
