//! Where answers go: files that are continued, standard output, sockets.

use std::fs::{self, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tamis_make::files::{self, Draft};
use tamis_make::resume::Appended;
use tamis_make::{destination, place};
use tamis_read::error::{Error, Result};
use tamis_read::{Compression, Control, remote};

use super::job::Job;
use super::kafka;
use super::net::{Address, Peers, is_for_now};
use super::refusal::{CannotResume, Impossible};

/// What takes the answers of batches.
pub trait AnswerSink {
    /// Appends the answers of the batch of this number; false where nobody will ever take any more,
    /// or nobody takes them now and the run must end.
    fn append(&mut self, batch: u64, answers: &[u8]) -> Result<bool>;

    /// Makes durable what was appended, up to the batch of this number.
    fn sync(&mut self, batch: u64) -> Result<()>;

    /// How much was appended, where a later run can go back to that.
    fn length(&self) -> Option<u64>;

    /// Gives up the file that appears when the run has come to its end, so that all outputs appear together.
    fn draft(&mut self) -> Option<Draft> {
        None
    }

    /// For how long answers are held back that readers do not see before they are synced.
    fn held(&self) -> Option<Duration> {
        None
    }
}

/// Where answers go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// Nowhere: nothing is asked.
    Nowhere,
    /// To standard output.
    Stdout,
    /// To a file.
    File(PathBuf),
    /// To a socket.
    Socket(Address),
    /// To a topic of Kafka.
    Kafka(kafka::Address),
}

/// Where an output goes on.
pub(super) struct Continued<'a> {
    pub(super) job: &'a Job,
    /// Which output it is.
    pub(super) name: &'static str,
    /// How much of it the commit has, and the last batch that was begun.
    pub(super) length: Option<u64>,
    pub(super) begun: u64,
}

impl Target {
    /// What this word names.
    pub fn of(text: &str) -> Result<Target> {
        match (Address::of(text), kafka::Address::of(text)) {
            (Some(address), _) => Ok(Target::Socket(address?)),
            (_, Some(topic)) => Ok(Target::Kafka(topic?)),
            _ if text == "-" => Ok(Target::Stdout),
            _ => Ok(Target::File(text.into())),
        }
    }

    /// How states and messages name it.
    pub(super) fn name(&self) -> String {
        match self {
            Target::Nowhere => "nowhere".into(),
            Target::Stdout => "-".into(),
            Target::File(path) => tamis_make::resume::named(path),
            Target::Socket(address) => address.to_string(),
            Target::Kafka(topic) => topic.name(),
        }
    }

    /// The name by which it can be compared with other files. Standard output may lead to one.
    pub(super) fn named(&self) -> Option<&Path> {
        if *self == Target::Stdout { Some(Path::new(place::STDOUT)) } else { self.regular() }
    }

    /// The file, where it is one that can be continued.
    pub(super) fn regular(&self) -> Option<&Path> {
        match self {
            Target::File(path)
                if fs::metadata(path).map_or(true, |there| there.is_file() || there.is_dir()) =>
            {
                Some(path)
            }
            _ => None,
        }
    }

    /// Refuses what cannot be written, before anything is.
    pub(super) fn check(&self) -> Result<()> {
        let Some(path) = self.regular() else { return Ok(()) };
        if remote::is_remote(path) {
            return Err(Error::input(path, Impossible::Elsewhere));
        }
        if Compression::of_name(path).is_some() {
            return Err(Error::input(path, Impossible::Appended));
        }
        files::check(path)
    }

    /// Opens it; a file is cut to its length.
    pub(super) fn open<'a>(
        &self,
        begin: Continued<'_>,
        control: &'a Control,
    ) -> Result<Box<dyn AnswerSink + 'a>> {
        let Continued { job, name, length, begun } = begin;
        Ok(match self {
            Target::Nowhere => Box::new(Direct { out: Box::new(io::sink()), name: self.name() }),
            Target::Stdout => Box::new(Direct { out: destination::stdout(), name: "standard output".into() }),
            Target::Socket(address) => {
                let peers = Peers::new(address, job.reconnect)?;
                Box::new(ToPeers { peers, peer: None, control })
            }
            #[cfg(feature = "kafka")]
            Target::Kafka(topic) => {
                let state = job.state.as_deref().map(|folder| (folder, name));
                let opening =
                    kafka::sink::Opening { address: topic, settings: &job.kafka, state, done: length, begun };
                Box::new(kafka::sink::open(opening, control)?)
            }
            #[cfg(not(feature = "kafka"))]
            Target::Kafka(topic) => {
                let _ = (name, begun);
                kafka::check(&[topic], &job.kafka)?;
                Box::new(Direct { out: Box::new(io::sink()), name: self.name() })
            }
            Target::File(path) if self.regular().is_none() => {
                let file = OpenOptions::new().write(true).open(path).map_err(Error::io(path))?;
                Box::new(Direct { out: Box::new(file), name: self.name() })
            }
            Target::File(path) if job.state.is_none() && !job.is_live() => {
                Box::new(Replaced { draft: Some(Draft::new(path)?), path: path.clone() })
            }
            Target::File(path) => {
                self.check_length(length)?; // nobody knows what was done since
                Box::new(Appended::open(path, length.unwrap_or(0))?)
            }
        })
    }

    /// Refuses a file that has less than the commit has of it.
    pub(super) fn check_length(&self, length: Option<u64>) -> Result<()> {
        let Some((path, written)) = self.regular().zip(length) else { return Ok(()) };
        let length = place::look(path).map_err(Error::io(path))?.map_or(0, |file| file.len());
        if length < written {
            return Err(Error::input(path, CannotResume::OutputShortened { length, written }));
        }
        Ok(())
    }
}

impl AnswerSink for Appended {
    fn append(&mut self, _: u64, answers: &[u8]) -> Result<bool> {
        self.write(answers).map(|()| true)
    }

    fn sync(&mut self, _: u64) -> Result<()> {
        Appended::sync(self)
    }

    fn length(&self) -> Option<u64> {
        Some(self.length)
    }
}

/// Appears when all streams have ended, in place of what was there: a run that fails leaves that.
struct Replaced {
    /// Until it is given up.
    draft: Option<Draft>,
    path: PathBuf,
}

impl AnswerSink for Replaced {
    fn append(&mut self, _: u64, answers: &[u8]) -> Result<bool> {
        let written = self.draft.as_mut().map_or(Ok(()), |draft| draft.write_all(answers));
        written.map(|()| true).map_err(Error::io(&self.path))
    }

    fn sync(&mut self, _: u64) -> Result<()> {
        Ok(())
    }

    fn length(&self) -> Option<u64> {
        None
    }

    fn draft(&mut self) -> Option<Draft> {
        self.draft.take()
    }
}

/// Written to at once; what was written cannot be taken back.
struct Direct {
    out: Box<dyn Write + Send>,
    name: String,
}

impl AnswerSink for Direct {
    fn append(&mut self, _: u64, answers: &[u8]) -> Result<bool> {
        match self.out.write_all(answers).and_then(|()| self.out.flush()) {
            Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(false),
            written => written.map(|()| true).map_err(Error::io(&self.name)),
        }
    }

    fn sync(&mut self, _: u64) -> Result<()> {
        Ok(())
    }

    fn length(&self) -> Option<u64> {
        None
    }
}

/// How often to check whether the run should end.
const LOOK: Duration = Duration::from_millis(50);

/// A peer that takes answers. If it is found gone, the next one gets the batch again from its
/// beginning. What the system took for it before, nobody knows whether it came.
struct ToPeers<'a> {
    peers: Peers,
    peer: Option<TcpStream>,
    control: &'a Control,
}

impl AnswerSink for ToPeers<'_> {
    fn append(&mut self, _: u64, answers: &[u8]) -> Result<bool> {
        let mut rest = answers;
        while !rest.is_empty() {
            let Some(peer) = &mut self.peer else {
                let name = self.peers.address.to_string();
                if self.peers.is_over() {
                    return Err(Error::Io { source: self.peers.fault(), path: name.into() });
                }
                if self.control.check().is_err() {
                    return Ok(false);
                }
                self.peer = self.peers.next(LOOK).map_err(Error::io(&name))?;
                if let Some(peer) = &self.peer {
                    // That a reader does not read is no reason not to end.
                    peer.set_write_timeout(Some(LOOK)).map_err(Error::io(name))?;
                }
                rest = answers;
                continue;
            };
            match peer.write(rest) {
                Ok(written) if written > 0 => rest = &rest[written..],
                Err(error) if is_for_now(&error) => {
                    if self.control.check().is_err() {
                        return Ok(false);
                    }
                }
                _ => {
                    self.peer = None;
                    self.peers.gone(None);
                }
            }
        }
        Ok(true)
    }

    fn sync(&mut self, _: u64) -> Result<()> {
        Ok(())
    }

    fn length(&self) -> Option<u64> {
        None
    }
}
