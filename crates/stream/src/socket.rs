//! The text of a socket: whole rows of all its peers, as they come.
//!
//! Peers are served at once, and a silent one keeps nobody waiting. The rows of one peer stay in their order;
//! those of several follow each other in the order in which they came. Who connects has one peer, and the
//! next one when it has gone.
//!
//! How rows are cut is told by the first peer whose beginning can be understood; nothing is handed on before,
//! and of each peer whole rows alone. A peer that cannot be understood is closed with a note, or ends the run
//! where bad rows do. Memory is bounded however many peers there are and whatever they send: each
//! may have a short unfinished row, and few at a time a long one; the others wait.

use std::io::{self, Read};
use std::net::TcpStream;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use tamis_make::rows::OnBad;
use tamis_read::error::{Error, Result};
use tamis_read::refusal::Refusal;

use super::judge::{Extent, Judge};
use super::live::{Receive, Received};
use super::net::{Idle, Peers, is_for_now, poll};
use super::peer::{Manner, Peer, SHORT, Text, Wrong};
use super::refusal::{Failed, News};
use super::watch::Herald;

/// Peers that are served at once; more wait until one of these has gone.
const MOST_PEERS: usize = 256;

/// Peers that may be within a long row at once.
const ROOMS: usize = 4;

/// How long a peer may be silent while others wait for the room of its long row.
const ROOM_PATIENCE: Duration = Duration::from_secs(10);

/// Read of one peer before it is the turn of the next.
const PART: usize = 64 << 10;

/// Handed on at once, roughly.
const ENOUGH: usize = 1 << 20;

/// What is known of the text of a socket by those who read it.
pub(super) type Known = Arc<OnceLock<Arc<Manner>>>;

/// How peers are treated.
pub(super) struct Treatment {
    /// What the reader knows when it has understood the beginning of all that was handed on.
    pub(super) known: Known,
    pub(super) judge: Judge,
    pub(super) idle: Idle,
    pub(super) on_bad: OnBad,
    pub(super) herald: Herald,
}

/// Why a peer is not served any longer.
enum Gone {
    Well,
    Broke(io::Error),
    Silent(Duration),
    Wrong(Wrong),
    /// Its text cannot be understood.
    Refused(Box<dyn Refusal>),
}

/// What the beginning of a text tells.
enum Told {
    Nothing,
    /// How rows are cut.
    Manner,
    Wrong(Gone),
}

/// The rows of all peers.
pub(super) struct Socket {
    peers: Peers,
    open: Vec<Peer>,
    treatment: Treatment,
    most: usize,
    /// How rows are cut, as the first peer told.
    manner: Option<Arc<Manner>>,
    /// Whether what was handed on cannot be understood: the reader says what is wrong with it.
    refused: bool,
    /// Whether it was said that there is no place for more.
    full: bool,
    /// Whether the last peer that went away had ended its text.
    ended_well: bool,
    /// Who is read first.
    turn: usize,
    buffer: Vec<u8>,
}

impl Socket {
    pub(super) fn new(peers: Peers, mut treatment: Treatment) -> Socket {
        let most = if peers.address.listens { MOST_PEERS } else { 1 };
        if !peers.address.listens {
            treatment.idle = Idle::Never; // whom we called may be silent
        }
        Socket {
            peers,
            open: Vec::new(),
            treatment,
            most,
            manner: None,
            refused: false,
            full: false,
            ended_well: false,
            turn: 0,
            buffer: vec![0; PART],
        }
    }

    /// Takes in those who have come, as far as there is a place for them.
    fn welcome(&mut self) -> io::Result<()> {
        while self.open.len() < self.most {
            self.full &= self.open.len() >= self.most / 2; // not said again and again
            match self.peers.next(Duration::ZERO) {
                Ok(Some(peer)) => self.meet(peer)?,
                Ok(None) => return Ok(()),
                // There are no more files for this process: those who have come are served.
                Err(error) if !self.open.is_empty() && is_shortage(&error) => self.most = self.open.len(),
                Err(error) => return Err(error),
            }
        }
        if !self.full && self.peers.address.listens {
            self.full = true;
            self.treatment.herald.say(&News::PeersFull(self.open.len()));
        }
        Ok(())
    }

    fn meet(&mut self, peer: TcpStream) -> io::Result<()> {
        peer.set_nonblocking(true)?;
        self.open.push(Peer::new(peer));
        Ok(())
    }

    /// How rows are cut, if that is known.
    fn manner(&self) -> Option<Arc<Manner>> {
        self.treatment.known.get().or(self.manner.as_ref()).cloned()
    }

    /// Tells peers how rows are cut, or looks for one that tells it.
    fn settle(&mut self, into: &mut Vec<u8>) -> io::Result<()> {
        let manner = self.manner();
        let mut at = 0;
        while at < self.open.len() {
            let text = &mut self.open[at].text;
            let gone = match &manner {
                Some(_) if text.knows() => None,
                Some(manner) => text.know(manner, into).err().map(Gone::Wrong),
                None => match self.begin(at, into)? {
                    Told::Nothing => None,
                    Told::Manner => return Ok(()),
                    Told::Wrong(why) => Some(why),
                },
            };
            match gone {
                None => at += 1,
                Some(why) => self.leave(at, why, into)?,
            }
        }
        Ok(())
    }

    /// Looks whether the beginning of a peer's text tells how rows are cut; its rows are handed on then.
    fn begin(&mut self, at: usize, into: &mut Vec<u8>) -> io::Result<Told> {
        let text = &mut self.open[at].text;
        let too_long = text.is_too_long();
        let Some(beginning) = text.beginning() else { return Ok(Told::Nothing) };
        let judged = (self.treatment.judge)(beginning, Extent::Beginning);
        let beginning = beginning.len();
        match judged {
            Ok(None) if too_long => Ok(Told::Wrong(Gone::Wrong(Wrong::Quote))),
            Ok(None) => Ok(Told::Nothing),
            judged => {
                let mut text = std::mem::take(&mut self.open[at].text);
                let told = self.hear_of(&mut text, beginning, judged, into);
                self.open[at].text = text;
                told
            }
        }
    }

    /// Uses what the beginning of a text tells. What is wrong with it where no bad row is left out, the reader
    /// says, which is given this much of it.
    fn hear_of(
        &mut self,
        text: &mut Text,
        beginning: usize,
        judged: Result<Option<Manner>>,
        into: &mut Vec<u8>,
    ) -> io::Result<Told> {
        let tolerates = self.peers.address.listens && self.treatment.on_bad != OnBad::Fail;
        match judged {
            Ok(None) => Ok(Told::Nothing),
            Ok(Some(manner)) => {
                let manner = self.manner.insert(Arc::new(manner));
                Ok(text
                    .lead(manner, into)
                    .map_or_else(|wrong| Told::Wrong(Gone::Wrong(wrong)), |()| Told::Manner))
            }
            Err(Error::Input { why, .. } | Error::Row { why, .. }) if tolerates => {
                Ok(Told::Wrong(Gone::Refused(why)))
            }
            Err(Error::Input { .. } | Error::Row { .. }) => {
                into.extend_from_slice(&text.all()[..beginning]);
                if into.last() != Some(&b'\n') {
                    into.push(b'\n');
                }
                self.refused = true;
                Ok(Told::Manner)
            }
            Err(error) => Err(io::Error::other(error)),
        }
    }

    /// What came since there was this much.
    fn received(&self, before: usize, into: &[u8]) -> Received {
        match into.len() > before {
            _ if self.refused => Received::Refused,
            true => Received::Bytes,
            false => Received::Nothing,
        }
    }

    /// The peers that may be read now: all, but those that wait for room.
    fn served(&mut self) -> Vec<usize> {
        let mut rooms = ROOMS;
        for peer in &mut self.open {
            peer.room &= peer.text.unfinished() >= SHORT;
            rooms -= usize::from(peer.room);
        }
        let mut served = Vec::with_capacity(self.open.len());
        for at in (self.turn..self.open.len()).chain(0..self.turn.min(self.open.len())) {
            let peer = &mut self.open[at];
            if peer.text.unfinished() >= SHORT && !peer.room && rooms > 0 {
                (peer.room, rooms) = (true, rooms - 1);
            }
            match peer.room || peer.text.unfinished() < SHORT {
                true => served.push(at),
                false => peer.heard = Instant::now(), // it is not read, and so not silent
            }
        }
        served
    }

    /// Reads of those that have something; says who is gone.
    fn read(&mut self, patience: Duration, into: &mut Vec<u8>) -> io::Result<()> {
        let before = into.len();
        let served = self.served();
        let all_served = served.len() == self.open.len();
        let ready = self.ready(&served, patience)?;
        let mut gone = Vec::new();
        for (&at, ready) in served.iter().zip(ready) {
            let peer = &mut self.open[at];
            if !ready {
                let limit = match self.treatment.idle {
                    _ if !all_served && peer.room => Some(ROOM_PATIENCE),
                    Idle::Never => None,
                    Idle::After(time) => Some(time),
                };
                let silence = peer.heard.elapsed();
                if limit.is_some_and(|limit| silence >= limit) {
                    gone.push((at, Gone::Silent(silence)));
                }
                continue;
            }
            if into.len() - before >= ENOUGH {
                self.turn = at;
                break;
            }
            if let Some(why) = self.hear(at, into) {
                gone.push((at, why));
            }
        }
        gone.sort_by_key(|(at, _)| *at);
        let known = self.manner().is_some();
        while let Some((at, why)) = gone.pop() {
            self.leave(at, why, into)?;
            if !known && into.len() > before {
                break; // one has told how rows are cut, and the others are found gone again
            }
        }
        Ok(())
    }

    /// Which of these have something to read, now or within this time; a peer that comes ends the waiting.
    fn ready(&self, served: &[usize], patience: Duration) -> io::Result<Vec<bool>> {
        let listener = self.peers.listener().filter(|_| self.open.len() < self.most);
        let streams: Vec<_> = served.iter().map(|&at| &self.open[at].stream).collect();
        poll(listener, &streams, patience)
    }

    /// Reads once of a peer; why it is gone, if it is.
    fn hear(&mut self, at: usize, into: &mut Vec<u8>) -> Option<Gone> {
        let manner = self.manner();
        let peer = &mut self.open[at];
        let len = match peer.stream.read(&mut self.buffer) {
            Ok(0) => return Some(Gone::Well),
            Ok(len) => len,
            Err(error) if is_for_now(&error) => return None,
            Err(error) => return Some(Gone::Broke(error)),
        };
        peer.heard = Instant::now();
        let bytes = &self.buffer[..len];
        match manner.filter(|_| peer.text.knows()) {
            Some(manner) => peer.text.take(bytes, &manner, into).err().map(Gone::Wrong),
            None => {
                peer.text.wait(bytes);
                None
            }
        }
    }

    /// Parts with a peer: what it has sent of a last row is taken if it went well, and said if not.
    fn leave(&mut self, at: usize, why: Gone, into: &mut Vec<u8>) -> io::Result<()> {
        let Peer { name, text, .. } = self.open.remove(at);
        self.most = if self.peers.address.listens { MOST_PEERS } else { 1 };
        let bytes = text.unfinished() as u64;
        let why = match why {
            Gone::Well => self.end(text, into)?,
            other => other,
        };
        // What a stranger sends is no fault of those who came before it.
        let wrong = matches!(why, Gone::Wrong(_) | Gone::Refused(_));
        let torn = bytes > 0 && !matches!(why, Gone::Well) && !(wrong && self.peers.address.listens);
        let broken = matches!(why, Gone::Broke(_)) || torn;
        self.ended_well = !broken;
        if self.open.is_empty() {
            let fault = broken.then(|| io::Error::other("the last one went away within a row"));
            self.peers.gone(fault);
        }
        let peer = name;
        let news = match why {
            Gone::Well => return Ok(()),
            Gone::Wrong(Wrong::Quote) if self.treatment.on_bad == OnBad::Fail => {
                return Err(io::Error::other(Failed::OpenQuote { peer }));
            }
            Gone::Wrong(Wrong::Quote) => News::PeerQuote { peer, bytes },
            Gone::Wrong(Wrong::Header(first)) => {
                let header = self.manner().map(|manner| manner.header()).unwrap_or_default();
                News::PeerHeader { peer, first, header }
            }
            Gone::Refused(why) => News::PeerBeginning { peer, why },
            Gone::Silent(time) => News::PeerSilent { peer, seconds: time.as_secs(), bytes },
            Gone::Broke(why) => News::PeerBroke { peer, why: why.to_string(), bytes },
        };
        self.treatment.herald.say(&news);
        Ok(())
    }

    /// Hands on the last row of a peer that went well; how it went.
    fn end(&mut self, mut text: Text, into: &mut Vec<u8>) -> io::Result<Gone> {
        if text.unfinished() == 0 {
            return Ok(Gone::Well);
        }
        if self.manner().is_none() {
            let judged = (self.treatment.judge)(text.all(), Extent::Whole);
            let all = text.unfinished();
            if let Told::Wrong(why) = self.hear_of(&mut text, all, judged, into)? {
                return Ok(why);
            }
        }
        let Some(manner) = self.manner() else { return Ok(Gone::Well) };
        let known = if text.knows() { Ok(()) } else { text.know(&manner, into) };
        let ended = known.and_then(|()| text.end(&manner, into));
        Ok(ended.map_or_else(Gone::Wrong, |()| Gone::Well))
    }
}

/// Whether the process, or the system, has no place for another connection.
fn is_shortage(error: &io::Error) -> bool {
    const ENFILE: i32 = 23;
    const EMFILE: i32 = 24;
    matches!(error.raw_os_error(), Some(ENFILE | EMFILE)) || error.kind() == io::ErrorKind::OutOfMemory
}

impl Receive for Socket {
    fn receive(&mut self, patience: Duration, into: &mut Vec<u8>) -> io::Result<Received> {
        // What a text is should not be told by peers where what came before tells it.
        if self.treatment.known.get().is_none() && patience.is_zero() {
            return Ok(Received::Nothing);
        }
        let before = into.len();
        self.welcome()?;
        let known = self.manner().is_some();
        self.settle(into)?;
        // The reader understands the text by what it was judged by, and nothing else.
        if !known && into.len() > before {
            return Ok(self.received(before, into));
        }
        if self.open.is_empty() && into.len() == before {
            if self.peers.is_over() {
                return if self.ended_well { Ok(Received::End) } else { Err(self.peers.fault()) };
            }
            if let Some(peer) = self.peers.next(patience)? {
                self.meet(peer)?; // what it sends is read when it is asked for the next time
            }
            return Ok(Received::Nothing);
        }
        let patience = if into.len() == before { patience } else { Duration::ZERO };
        self.read(patience, into)?;
        Ok(self.received(before, into))
    }
}

impl Drop for Socket {
    /// Says whose rows nobody will complete, as when a peer is lost.
    fn drop(&mut self) {
        for Peer { name, text, .. } in &self.open {
            let (peer, bytes) = (name.clone(), text.unfinished() as u64);
            if bytes > 0 {
                self.treatment.herald.say(&News::PeerLeft { peer, bytes });
            }
        }
    }
}
