//! Text that comes once and may never end: pipes, sockets, files that grow.
//!
//! Whole lines are handed on, and no others: a line whose end has not come is held back, so that a
//! peer that breaks off in the middle of one leaves no wrong key. Where a state is kept, all that comes is
//! written down (spooled) at once, and comes from there when it is needed again: also the beginning of a
//! line, which a later run completes.

use std::fs;
use std::io::{self, Read};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use memchr::memrchr;
use tamis_make::place;
use tamis_read::{Control, Flow};

use super::lock;
use super::spool::Spool;

/// The longest row: a peer is not trusted with more of our memory.
pub(super) const LONGEST_LINE: usize = 16 << 20;

/// How often is looked whether the run has ended.
const LOOK: Duration = Duration::from_millis(50);

/// What came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Received {
    /// Bytes.
    Bytes,
    /// Nothing for now.
    Nothing,
    /// That a line which has not ended never will.
    Lost,
    /// The end of all.
    End,
    /// Bytes that the reader will refuse, and nothing comes after them: it says what is wrong with them. They
    /// are not written down, or a later run would have to refuse them, too.
    Refused,
}

/// Where live bytes come from.
pub(super) trait Receive: Send {
    /// Appends what comes within this time.
    fn receive(&mut self, patience: Duration, into: &mut Vec<u8>) -> io::Result<Received>;
}

/// A live text.
pub(super) struct Live {
    /// What comes before: what was written down.
    earlier: Option<Box<dyn Read + Send>>,
    from: Box<dyn Receive>,
    spool: Option<Arc<Mutex<Spool>>>,
    /// Lines, of which this many bytes are whole, and this many of these were handed on.
    text: Vec<u8>,
    whole: usize,
    given: usize,
    ended: bool,
    failure: Option<io::Error>,
}

impl Live {
    /// One that begins with this prelude, a header that was seen earlier, and then with what was written down.
    pub(super) fn new(
        prelude: Vec<u8>,
        earlier: Option<Box<dyn Read + Send>>,
        from: Box<dyn Receive>,
        spool: Option<Arc<Mutex<Spool>>>,
    ) -> Live {
        let (whole, text, given) = (prelude.len(), prelude, 0);
        Live { earlier, from, spool, text, whole, given, ended: false, failure: None }
    }

    /// The text as the source layer takes it; it ends with an error when the run has ended.
    pub(super) fn flow(self, control: Arc<Control>) -> Flow {
        let live = Arc::new(Mutex::new(self));
        let asked = Arc::clone(&live);
        let ready = move |patience| lock(&asked).ready(patience);
        Flow::new(Reading { live, control }, ready)
    }

    /// Whether there is something to hand on (bytes, the end, an error), now or within this time.
    fn ready(&mut self, patience: Duration) -> bool {
        if self.given < self.whole || self.ended || self.failure.is_some() {
            return true;
        }
        match self.fill(patience) {
            Ok(()) => self.given < self.whole || self.ended,
            Err(error) => {
                self.failure = Some(error);
                true
            }
        }
    }

    fn fill(&mut self, patience: Duration) -> io::Result<()> {
        self.text.drain(..self.given);
        (self.whole, self.given) = (0, 0);
        let before = self.text.len();
        if let Some(earlier) = &mut self.earlier {
            let mut bytes = [0; 64 << 10];
            let len = earlier.read(&mut bytes)?;
            self.text.extend_from_slice(&bytes[..len]);
            self.whole = self.whole_lines(before);
            if len == 0 {
                self.earlier = None;
            }
            return Ok(());
        }
        match self.from.receive(patience, &mut self.text)? {
            Received::Bytes => self.whole = self.whole_lines(before),
            Received::Nothing => {}
            Received::End => {
                if !self.text.is_empty() {
                    self.text.push(b'\n'); // the last line of a text may lack its end
                }
                self.whole = self.text.len();
                self.ended = true;
            }
            Received::Refused => {
                (self.whole, self.ended) = (self.text.len(), true);
                return Ok(());
            }
            Received::Lost => self.text.clear(),
        }
        let new = self.text.get(before..).filter(|new| !new.is_empty());
        if let Some((spool, new)) = self.spool.as_ref().zip(new) {
            lock(spool).append(new)?;
        }
        Ok(())
    }

    /// How much of the text can be handed on, of which there were no whole lines before this place.
    fn whole_lines(&self, before: usize) -> usize {
        match memrchr(b'\n', &self.text[before..]) {
            Some(at) => before + at + 1,
            // Too long: the reader takes it for a bad row, and passes over the rest.
            None if self.text.len() > LONGEST_LINE => self.text.len(),
            None => 0,
        }
    }
}

struct Reading {
    live: Arc<Mutex<Live>>,
    control: Arc<Control>,
}

impl Read for Reading {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            self.control.check().map_err(io::Error::other)?;
            let mut live = lock(&self.live);
            if !live.ready(LOOK) {
                continue;
            }
            if let Some(error) = live.failure.take() {
                live.ended = true;
                return Err(error);
            }
            let Live { text, whole, given, .. } = &mut *live;
            let len = buffer.len().min(*whole - *given);
            buffer[..len].copy_from_slice(&text[*given..*given + len]);
            *given += len;
            return Ok(len);
        }
    }
}

/// A pipe, or standard input.
pub(super) struct Pipe {
    flow: Flow,
    buffer: Vec<u8>,
}

impl Pipe {
    pub(super) fn new(flow: Flow) -> Pipe {
        Pipe { flow, buffer: vec![0; 256 << 10] }
    }

    /// What tells a pipe from others, also from those that had its numbers before the machine was started.
    pub(super) fn trace(path: &Path) -> Option<String> {
        let (device, number) = place::number(&fs::metadata(path).ok()?)?;
        let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
        Some(format!("{device} {number} {}\n", boot.trim_end()))
    }
}

impl Receive for Pipe {
    fn receive(&mut self, patience: Duration, into: &mut Vec<u8>) -> io::Result<Received> {
        Ok(match self.flow.read_within(&mut self.buffer, patience)? {
            None => Received::Nothing,
            Some(0) => Received::End,
            Some(len) => {
                into.extend_from_slice(&self.buffer[..len]);
                Received::Bytes
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::VecDeque;

    /// What comes, in order.
    struct Script(VecDeque<(Received, &'static str)>);

    impl Receive for Script {
        fn receive(&mut self, _: Duration, into: &mut Vec<u8>) -> io::Result<Received> {
            let (received, text) = self.0.pop_front().unwrap_or((Received::End, ""));
            into.extend_from_slice(text.as_bytes());
            Ok(received)
        }
    }

    fn handed_on(earlier: &'static str, script: &[(Received, &'static str)]) -> String {
        let script = Script(script.iter().copied().collect());
        let live = Live::new(Vec::new(), Some(Box::new(earlier.as_bytes())), Box::new(script), None);
        let live = Arc::new(Mutex::new(live));
        let mut text = String::new();
        Reading { live, control: Arc::default() }.read_to_string(&mut text).unwrap();
        text
    }

    #[test]
    fn whole_lines_are_handed_on_and_a_line_that_breaks_off_is_not() {
        use Received::*;
        assert_eq!(handed_on("h\n", &[(Bytes, "a\nb"), (Nothing, ""), (Bytes, "c\n")]), "h\na\nbc\n");
        assert_eq!(handed_on("", &[(Bytes, "a\nhal"), (Lost, ""), (Bytes, "b\n")]), "a\nb\n");
        assert_eq!(handed_on("", &[(Bytes, "a"), (Bytes, "b"), (End, "")]), "ab\n");
        assert_eq!(handed_on("", &[]), "");
        // Of what was written down, too.
        assert_eq!(handed_on("a\nhal", &[(Bytes, "f\nb\n")]), "a\nhalf\nb\n");
        assert_eq!(handed_on("hal", &[]), "hal\n");
    }

    #[test]
    fn nothing_is_ready_before_a_line_is_whole() {
        use Received::*;
        let script = Script([(Bytes, "ab"), (Nothing, ""), (Bytes, "c\nd")].into());
        let mut live = Live::new(Vec::new(), None, Box::new(script), None);
        assert_eq!([0; 3].map(|_| live.ready(Duration::ZERO)), [false, false, true]);
        assert_eq!(live.whole, 4);
    }
}
