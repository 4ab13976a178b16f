//! Sockets of lines: who connects, who listens, and what happens when a peer goes away.

use std::fmt;
use std::io::{self, ErrorKind, Read};
use std::net::{TcpListener, TcpStream, ToSocketAddrs};
use std::thread;
use std::time::{Duration, Instant};

use tamis_read::error::{Error, Result};

use super::live::{Receive, Received};
use super::refusal::Failed;

/// The address of a socket, and which side this program is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Address {
    /// Whether it waits for peers: `tcp-listen://`. Else it connects to one: `tcp://`.
    pub listens: bool,
    host_and_port: String,
}

impl Address {
    /// Reads `tcp://host:port` and `tcp-listen://host:port`; `None` where that is no socket at all.
    pub fn of(text: &str) -> Option<Result<Address>> {
        let (listens, rest) = match (text.strip_prefix("tcp://"), text.strip_prefix("tcp-listen://")) {
            (Some(rest), _) => (false, rest),
            (_, Some(rest)) => (true, rest),
            _ => return None,
        };
        let port = rest.rsplit_once(':').filter(|(host, _)| !host.is_empty()).map(|(_, port)| port);
        Some(match port.map(str::parse::<u16>) {
            Some(Ok(_)) => Ok(Address { listens, host_and_port: rest.into() }),
            _ => Err(Failed::Socket(text.into()).into()),
        })
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://{}", if self.listens { "tcp-listen" } else { "tcp" }, self.host_and_port)
    }
}

/// How long one attempt to connect may take.
const ATTEMPT: Duration = Duration::from_secs(1);

/// The first pause between attempts; each next one is twice as long, up to the longest.
const FIRST_PAUSE: Duration = Duration::from_millis(50);
const LONGEST_PAUSE: Duration = Duration::from_secs(2);

/// How long a peer that should be there is tried to be reached, where nothing else is said; the
/// first is given that long in any case.
const PATIENCE: Duration = Duration::from_secs(10);

/// How often is looked whether a peer has come.
const LOOK: Duration = Duration::from_millis(5);

/// Finds a peer, and the next one when it has gone.
#[derive(Debug)]
pub(super) struct Peers {
    pub(super) address: Address,
    listener: Option<TcpListener>,
    /// When the next attempt to connect is due, and the pause after it.
    due: Instant,
    pause: Duration,
    /// Since when there is no peer, and what was wrong at the last attempt.
    alone: Instant,
    fault: Option<io::Error>,
    /// For how long the next peer is waited for.
    most: Option<Duration>,
    /// Whether there was one.
    met: bool,
}

impl Peers {
    /// Of this address; one that listens does so from now on.
    pub(super) fn new(address: &Address, most: Option<Duration>) -> Result<Peers> {
        let listener = match address.listens {
            true => {
                let bound = TcpListener::bind(address.host_and_port.as_str());
                let bound = bound.and_then(|bound| bound.set_nonblocking(true).map(|()| bound));
                Some(bound.map_err(Error::io(address.to_string()))?)
            }
            false => None,
        };
        // A listener is a server and waits, unless told otherwise.
        let most = if address.listens { most } else { Some(most.unwrap_or(PATIENCE)) };
        let now = Instant::now();
        let address = address.clone();
        Ok(Peers {
            address,
            listener,
            due: now,
            pause: FIRST_PAUSE,
            alone: now,
            fault: None,
            most,
            met: false,
        })
    }

    /// A peer that comes within this time.
    pub(super) fn next(&mut self, patience: Duration) -> io::Result<Option<TcpStream>> {
        let deadline = Instant::now() + patience;
        loop {
            if let Some(peer) = self.attempt()? {
                self.pause = FIRST_PAUSE;
                self.fault = None;
                self.met = true;
                return Ok(Some(peer));
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(None);
            }
            thread::sleep(left.min(LOOK));
        }
    }

    fn attempt(&mut self) -> io::Result<Option<TcpStream>> {
        if let Some(listener) = &self.listener {
            return match listener.accept() {
                Ok((peer, _)) => {
                    peer.set_nonblocking(false)?;
                    Ok(Some(peer))
                }
                Err(error) if is_for_now(&error) || error.kind() == ErrorKind::ConnectionAborted => Ok(None),
                Err(error) => Err(error),
            };
        }
        if Instant::now() < self.due {
            return Ok(None);
        }
        let connected = self.address.host_and_port.to_socket_addrs().and_then(|addresses| {
            let mut last = io::Error::new(ErrorKind::NotFound, "the host has no address");
            for address in addresses {
                match TcpStream::connect_timeout(&address, ATTEMPT) {
                    Ok(peer) => return Ok(peer),
                    Err(error) => last = error,
                }
            }
            Err(last)
        });
        match connected {
            Ok(peer) => Ok(Some(peer)),
            Err(error) => {
                self.fault = Some(error);
                self.later();
                Ok(None)
            }
        }
    }

    fn later(&mut self) {
        self.due = Instant::now() + self.pause;
        self.pause = (2 * self.pause).min(LONGEST_PAUSE);
    }

    /// Notes that the peer has gone.
    pub(super) fn gone(&mut self) {
        self.alone = Instant::now();
        self.later();
    }

    /// Whether no peer is worth waiting for any longer.
    pub(super) fn is_over(&self) -> bool {
        let most = self.most.map(|most| if self.met { most } else { most.max(PATIENCE) });
        most.is_some_and(|most| self.alone.elapsed() >= most)
    }

    /// What to say then.
    pub(super) fn fault(&mut self) -> io::Error {
        let why = self.fault.take().map_or_else(|| "no peer came".to_owned(), |fault| fault.to_string());
        let seconds = self.alone.elapsed().as_secs();
        io::Error::other(Failed::Alone { seconds, why })
    }
}

/// Whether it may be better soon.
pub(super) fn is_for_now(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted)
}

/// Lines of one peer after the other.
pub(super) struct Socket {
    peers: Peers,
    peer: Option<TcpStream>,
    /// Whether the last peer ended what it had to say.
    ended_well: bool,
    timeout: Option<Duration>,
    buffer: Vec<u8>,
}

impl Socket {
    pub(super) fn new(peers: Peers) -> Socket {
        Socket { peers, peer: None, ended_well: false, timeout: None, buffer: vec![0; 256 << 10] }
    }
}

impl Receive for Socket {
    fn receive(&mut self, patience: Duration, into: &mut Vec<u8>) -> io::Result<Received> {
        let Some(peer) = &mut self.peer else {
            if self.peers.is_over() {
                return if self.ended_well { Ok(Received::End) } else { Err(self.peers.fault()) };
            }
            self.peer = self.peers.next(patience)?;
            self.timeout = None;
            return Ok(Received::Nothing);
        };
        let patience = patience.max(Duration::from_millis(1)); // none at all would mean for ever
        if self.timeout != Some(patience) {
            peer.set_read_timeout(Some(patience))?;
            self.timeout = Some(patience);
        }
        let received = match peer.read(&mut self.buffer) {
            Ok(0) => Received::Break,
            Ok(len) => {
                into.extend_from_slice(&self.buffer[..len]);
                return Ok(Received::Bytes);
            }
            Err(error) if is_for_now(&error) => return Ok(Received::Nothing),
            Err(_) => Received::Lost,
        };
        self.peer = None;
        self.peers.gone();
        self.ended_well = matches!(received, Received::Break);
        Ok(received)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_and_wrong_ones_refused() {
        let of = |text: &str| Address::of(text).map(|address| address.map(|a| (a.listens, a.to_string())));
        let connects = of("tcp://127.0.0.1:7001").unwrap().unwrap();
        assert_eq!(connects, (false, "tcp://127.0.0.1:7001".into()));
        assert_eq!(of("tcp-listen://[::1]:80").unwrap().unwrap(), (true, "tcp-listen://[::1]:80".into()));
        for wrong in ["tcp://", "tcp://host", "tcp://:80", "tcp://host:x", "tcp://host:70000"] {
            assert!(of(wrong).unwrap().unwrap_err().to_string().contains("tcp-listen://"), "{wrong}");
        }
        assert!(of("file.txt").is_none() && of("tcp").is_none());
    }
}
