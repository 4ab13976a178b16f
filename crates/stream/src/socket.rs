//! The text of a socket: whole rows of all its peers, as they come.
//!
//! Peers are served at once, and a silent one keeps nobody waiting. The rows of one peer stay in their order;
//! those of several follow each other in the order in which they came. Who connects has one peer, and the
//! next one when it has gone.
//!
//! How rows are cut is known when the beginning of the text was looked at. Until then one peer leads: the
//! first that has sent a line. Memory is bounded however many peers there are and whatever they send: each
//! may have a short unfinished row, and few at a time a long one; the others wait.

use std::io::{self, Read};
use std::net::TcpStream;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use tamis_make::rows::OnBad;

use super::live::{Receive, Received};
use super::net::{Idle, Peers, is_for_now, poll};
use super::peer::{Manner, Peer, SHORT, Wrong};
use super::refusal::{Failed, News};
use super::watch::Herald;

/// Peers that are served at once; more wait until one of these has gone.
const MOST_PEERS: usize = 256;

/// Peers that may be within a long row at once.
const ROOMS: usize = 4;

/// How long a peer may be silent while others wait for it: for the room of its long row, or for the rest of a
/// row that was begun.
const ROOM_PATIENCE: Duration = Duration::from_secs(10);

/// Read of one peer before it is the turn of the next.
const PART: usize = 64 << 10;

/// Handed on at once, roughly.
const ENOUGH: usize = 1 << 20;

/// What is known of the text of a socket by those who read it.
pub(super) type Known = Arc<OnceLock<Manner>>;

/// How peers are treated.
pub(super) struct Treatment {
    pub(super) known: Known,
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
}

/// The rows of all peers.
pub(super) struct Socket {
    peers: Peers,
    open: Vec<Peer>,
    treatment: Treatment,
    most: usize,
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

    /// Tells peers how rows are cut, when that has become known: first the one that led, whose row may have
    /// been begun.
    fn settle(&mut self, into: &mut Vec<u8>) -> io::Result<()> {
        let known = Arc::clone(&self.treatment.known);
        let Some(manner) = known.get() else {
            if !self.open.iter().any(|peer| peer.text.leads()) {
                for peer in &mut self.open {
                    peer.text.wait(&[], into.is_empty(), peer.met.elapsed(), into);
                }
            }
            return Ok(());
        };
        let mut at = 0;
        self.open.sort_by_key(|peer| !peer.text.leads());
        while at < self.open.len() && !self.open.iter().any(|peer| peer.text.is_within_row()) {
            match self.open[at].text.knows() {
                true => at += 1,
                false => match self.open[at].text.know(manner, into) {
                    Ok(()) => at += 1,
                    Err(wrong) => self.leave(at, Gone::Wrong(wrong), into)?,
                },
            }
        }
        Ok(())
    }

    /// The peers that may be read now: all, but those that wait for room or for a row that was begun.
    fn served(&mut self) -> Vec<usize> {
        let within = self.open.iter().position(|peer| peer.text.is_within_row());
        let leads = self.open.iter().position(|peer| peer.text.leads());
        if let Some(only) = within.or(leads) {
            let now = Instant::now();
            self.open
                .iter_mut()
                .enumerate()
                .filter(|(at, _)| *at != only)
                .for_each(|(_, peer)| peer.heard = now);
            return vec![only];
        }
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
                    _ if !all_served && peer.keeps_others() => Some(ROOM_PATIENCE),
                    Idle::Never => None,
                    Idle::After(time) => Some(time),
                };
                let silence = peer.heard.elapsed();
                if limit.is_some_and(|limit| silence >= limit) {
                    gone.push((at, Gone::Silent(silence)));
                }
                continue;
            }
            // While nothing is known, one leads, and the others are heard when it is.
            let enough = if self.treatment.known.get().is_none() { 1 } else { ENOUGH };
            if into.len() - before >= enough {
                self.turn = at;
                break;
            }
            if let Some(why) = self.hear(at, into) {
                gone.push((at, why));
            }
        }
        gone.sort_by_key(|(at, _)| *at);
        while let Some((at, why)) = gone.pop() {
            self.leave(at, why, into)?;
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
        let leads = !self.open.iter().enumerate().any(|(other, peer)| other != at && peer.text.leads());
        let peer = &mut self.open[at];
        let len = match peer.stream.read(&mut self.buffer) {
            Ok(0) => return Some(Gone::Well),
            Ok(len) => len,
            Err(error) if is_for_now(&error) => return None,
            Err(error) => return Some(Gone::Broke(error)),
        };
        peer.heard = Instant::now();
        let bytes = &self.buffer[..len];
        match self.treatment.known.get().filter(|_| peer.text.knows()) {
            Some(manner) => peer.text.take(bytes, manner, into).err().map(Gone::Wrong),
            None => {
                peer.text.wait(bytes, leads, peer.met.elapsed(), into);
                None
            }
        }
    }

    /// Parts with a peer: what it has sent of a last row is taken if it went well, and said if not.
    fn leave(&mut self, at: usize, why: Gone, into: &mut Vec<u8>) -> io::Result<()> {
        let Peer { name, text, .. } = self.open.remove(at);
        self.most = if self.peers.address.listens { MOST_PEERS } else { 1 };
        let manner = self.treatment.known.get().filter(|_| text.knows());
        let (bytes, within) = (text.unfinished() as u64, text.is_within_row());
        let why = match why {
            Gone::Well => text.end(manner, into).map_or_else(Gone::Wrong, |()| Gone::Well),
            other => other,
        };
        let broken = matches!(why, Gone::Broke(_)) || bytes > 0 && !matches!(why, Gone::Well);
        self.ended_well = !broken;
        if self.open.is_empty() {
            let fault = broken.then(|| io::Error::other("the last one went away within a row"));
            self.peers.gone(fault);
        }
        let peer = name;
        let news = match why {
            Gone::Well => return Ok(()),
            _ if within => return Err(io::Error::other(Failed::LeftInRow { peer })),
            Gone::Wrong(Wrong::Quote) if self.treatment.on_bad == OnBad::Fail => {
                return Err(io::Error::other(Failed::OpenQuote { peer }));
            }
            Gone::Wrong(Wrong::Quote) => News::PeerQuote { peer, bytes },
            Gone::Wrong(Wrong::Header(first)) => {
                let header = manner.map(Manner::header).unwrap_or_default();
                News::PeerHeader { peer, first, header }
            }
            Gone::Silent(time) => News::PeerSilent { peer, seconds: time.as_secs(), bytes },
            Gone::Broke(why) => News::PeerBroke { peer, why: why.to_string(), bytes },
        };
        self.treatment.herald.say(&news);
        Ok(())
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
        self.settle(into)?;
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
        Ok(if into.len() > before { Received::Bytes } else { Received::Nothing })
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
