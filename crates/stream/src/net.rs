//! Sockets of lines: who connects, who listens, and what happens when a peer goes away.

use std::fmt;
use std::io::{self, ErrorKind};
use std::net::{TcpListener, TcpStream, ToSocketAddrs};
use std::str::FromStr;
use std::thread;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use tamis_jobs::request::time::duration;
use tamis_read::error::{Error, Result};

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
                keep_alive(&peer);
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

    /// Where peers come to, if they do.
    pub(super) fn listener(&self) -> Option<&TcpListener> {
        self.listener.as_ref()
    }

    fn later(&mut self) {
        self.due = Instant::now() + self.pause;
        self.pause = (2 * self.pause).min(LONGEST_PAUSE);
    }

    /// Notes that the last peer has gone, and what was wrong with that.
    pub(super) fn gone(&mut self, fault: Option<io::Error>) {
        self.fault = fault;
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

/// How long a peer of a listener may be silent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub enum Idle {
    /// As long as it likes.
    Never,
    /// So long; then it is closed.
    After(Duration),
}

impl Default for Idle {
    fn default() -> Self {
        Idle::After(Duration::from_secs(600))
    }
}

impl FromStr for Idle {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Idle, String> {
        match text {
            "none" => Ok(Idle::Never),
            time => match duration(time) {
                Ok(time) if time.is_zero() => Err("a peer needs some time; none: no limit".into()),
                Ok(time) => Ok(Idle::After(time)),
                Err(why) => Err(format!("{why}, or none")),
            },
        }
    }
}

impl TryFrom<String> for Idle {
    type Error = String;

    fn try_from(text: String) -> std::result::Result<Idle, String> {
        text.parse()
    }
}

impl From<Idle> for String {
    fn from(idle: Idle) -> String {
        idle.to_string()
    }
}

impl fmt::Display for Idle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Idle::Never => f.write_str("none"),
            Idle::After(time) => write!(f, "{}s", time.as_secs_f64()),
        }
    }
}

/// Lets the system find out that the other side is gone without a word: a machine that was switched off, a
/// line that was cut. Where that cannot be, a peer is as silent as it is.
#[cfg(unix)]
fn keep_alive(peer: &TcpStream) {
    use rustix::net::sockopt;
    let _ = sockopt::set_socket_keepalive(peer, true);
    #[cfg(target_os = "linux")]
    {
        let _ = sockopt::set_tcp_keepidle(peer, Duration::from_secs(60));
        let _ = sockopt::set_tcp_keepintvl(peer, Duration::from_secs(10));
        let _ = sockopt::set_tcp_keepcnt(peer, 6);
    }
}

#[cfg(not(unix))]
fn keep_alive(_: &TcpStream) {}

/// Which of these peers have something to read (or are gone), as soon as one has, or somebody waits at the
/// listener; at the latest after this time.
#[cfg(unix)]
pub(super) fn poll(
    listener: Option<&TcpListener>,
    peers: &[&TcpStream],
    patience: Duration,
) -> io::Result<Vec<bool>> {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    let timeout = Timespec { tv_sec: patience.as_secs() as _, tv_nsec: patience.subsec_nanos() as _ };
    let mut asked: Vec<_> = peers.iter().map(|peer| PollFd::new(*peer, PollFlags::IN)).collect();
    asked.extend(listener.map(|listener| PollFd::new(listener, PollFlags::IN)));
    match poll(&mut asked, Some(&timeout)) {
        Ok(_) | Err(rustix::io::Errno::INTR) => {}
        Err(error) => return Err(error.into()),
    }
    Ok(asked.iter().take(peers.len()).map(|asked| !asked.revents().is_empty()).collect())
}

/// The same where nothing tells: all are tried.
#[cfg(not(unix))]
pub(super) fn poll(
    _: Option<&TcpListener>,
    peers: &[&TcpStream],
    patience: Duration,
) -> io::Result<Vec<bool>> {
    thread::sleep(patience.min(LOOK));
    Ok(vec![true; peers.len()])
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
