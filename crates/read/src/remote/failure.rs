//! Why a file that lies elsewhere cannot be had, or not be written.

use std::io;

/// Why a file that lies elsewhere cannot be had, or not be written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Failure {
    /// A program without the clients.
    #[error(
        "this tamis was built without S3, HTTP and HDFS; build it with the feature cloud (cargo build -r -F cloud)"
    )]
    NotBuilt,
    /// A URL that names no file.
    #[error("is not the name of a file: give s3://BUCKET/FILE, https://HOST/FILE or hdfs://HOST:PORT/FILE")]
    Name,
    /// Nothing is there.
    #[error("no such file there")]
    Absent,
    /// The bucket is not there.
    #[error("no such bucket")]
    NoBucket,
    /// The server refuses.
    #[error("permission denied{}", reason(.0))]
    Denied(String),
    /// Another file is in its place since it was first looked at.
    #[error("it was changed while it was read; give a copy, or a file that nobody replaces meanwhile")]
    Changed,
    /// The server gives files as a whole only.
    #[error("the server gives no parts of a file")]
    NoParts,
    /// The server does not say how much will come.
    #[error("the server does not say how long it is: fetch it first, or pipe it to standard input")]
    NoLength,
    /// An output behind HTTP.
    #[error("nothing can be written behind HTTP; name a file, or one on S3 or HDFS")]
    ReadOnly,
    /// Settings that are wrong or not there.
    #[error("{0}")]
    Settings(String),
    /// Nobody answers, or not to the end.
    #[error("the server cannot be reached, or has gone away ({0})")]
    Away(String),
    /// Anything else that the server says.
    #[error("{0}")]
    Other(String),
}

fn reason(code: &str) -> String {
    if code.is_empty() { String::new() } else { format!(" ({code})") }
}

impl From<Failure> for io::Error {
    fn from(failure: Failure) -> io::Error {
        let kind = match failure {
            Failure::Absent | Failure::NoBucket => io::ErrorKind::NotFound,
            Failure::Denied(_) => io::ErrorKind::PermissionDenied,
            Failure::NotBuilt | Failure::NoParts => io::ErrorKind::Unsupported,
            Failure::Name | Failure::ReadOnly | Failure::Settings(_) => io::ErrorKind::InvalidInput,
            _ => io::ErrorKind::Other,
        };
        io::Error::new(kind, failure)
    }
}

impl Failure {
    /// The failure in an error, where it is one.
    pub(crate) fn of(error: &io::Error) -> Option<&Failure> {
        error.get_ref()?.downcast_ref()
    }

    /// What a NameNode answers: an exception of Java, and its text.
    #[cfg(any(test, feature = "cloud"))]
    pub(super) fn of_namenode(said: &str) -> Option<Failure> {
        let (class, text) = said.strip_prefix("RPC error: ")?.split_once(' ')?;
        Some(match class.rsplit('.').next().unwrap_or(class) {
            "AccessControlException" => {
                Failure::Denied(text.trim_start_matches("Permission denied: ").to_owned())
            }
            "SafeModeException" => {
                Failure::Other("HDFS is in safe mode, and takes no changes for now".to_owned())
            }
            _ => Failure::Other(format!("HDFS answers: {text}")),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_of_a_namenode_have_words() {
        let denied =
            "RPC error: org.apache.hadoop.security.AccessControlException Permission denied: user=nobody";
        assert_eq!(Failure::of_namenode(denied), Some(Failure::Denied("user=nobody".into())));
        let safe = "RPC error: org.apache.hadoop.hdfs.server.namenode.SafeModeException Cannot create";
        assert!(Failure::of_namenode(safe).unwrap().to_string().contains("safe mode"));
        let other = Failure::of_namenode("RPC error: java.io.IOException too many files").unwrap();
        assert_eq!(other.to_string(), "HDFS answers: too many files");
        assert_eq!(Failure::of_namenode("Connection refused"), None);
    }
}
