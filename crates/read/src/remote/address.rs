//! The names of files that lie elsewhere.

use std::path::Path;

use super::Failure;

/// How a file that lies elsewhere is spoken to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scheme {
    S3,
    Http,
    Hdfs,
}

/// Hadoop calls S3 `s3a`.
const SCHEMES: [(&str, Scheme); 5] = [
    ("s3://", Scheme::S3),
    ("s3a://", Scheme::S3),
    ("https://", Scheme::Http),
    ("http://", Scheme::Http),
    ("hdfs://", Scheme::Hdfs),
];

/// A URL, taken apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Address<'p> {
    pub(crate) scheme: Scheme,
    /// All of it.
    pub(crate) text: &'p str,
    /// The scheme and the bucket or host: where the path begins to be one of that store.
    pub(crate) store: &'p str,
    /// The bucket or the host; HDFS may have none, for that of its settings.
    pub(crate) host: &'p str,
    /// The path below it, without the slash before it.
    pub(crate) key: &'p str,
}

/// Whether a path is the URL of a file that lies elsewhere.
pub fn is_remote(path: &Path) -> bool {
    Address::of(path).is_some()
}

impl<'p> Address<'p> {
    /// Of a path that is such a URL.
    pub(crate) fn of(path: &'p Path) -> Option<Address<'p>> {
        let text = path.to_str()?;
        let begins = |name: &str| text.get(..name.len()).is_some_and(|head| head.eq_ignore_ascii_case(name));
        let &(name, scheme) = SCHEMES.iter().find(|(name, _)| begins(name))?;
        let rest = &text[name.len()..];
        let (host, key) = rest.split_once('/').unwrap_or((rest, ""));
        Some(Address { scheme, text, store: &text[..name.len() + host.len()], host, key })
    }

    /// The same, or a refusal of what can be no file.
    #[cfg_attr(not(feature = "cloud"), allow(dead_code))]
    pub(crate) fn of_file(path: &'p Path) -> Result<Address<'p>, Failure> {
        let address = Address::of(path).ok_or(Failure::Name)?;
        let host = !address.host.is_empty() || address.scheme == Scheme::Hdfs;
        let file = address.scheme == Scheme::Http || !address.key.is_empty() && !address.key.ends_with('/');
        if host && file { Ok(address) } else { Err(Failure::Name) }
    }

    /// Whether names of this kind can be patterns: those of HTTP have a `?` of their own, and no lists.
    #[cfg_attr(not(feature = "cloud"), allow(dead_code))]
    pub(crate) fn has_lists(&self) -> bool {
        self.scheme != Scheme::Http
    }

    /// The path without what a URL of HTTP asks beside it: its end says what is in the file.
    pub(crate) fn without_question(&self) -> &'p str {
        match self.scheme {
            Scheme::Http => self.text.split(['?', '#']).next().unwrap_or(self.text),
            _ => self.text,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_are_taken_apart_and_paths_are_left_alone() {
        let parts = |text| {
            let address = Address::of(Path::new(text))?;
            Some((address.store, address.host, address.key))
        };
        assert_eq!(parts("s3://b/2026/*.csv"), Some(("s3://b", "b", "2026/*.csv")));
        assert_eq!(parts("S3A://b/a"), Some(("S3A://b", "b", "a")));
        assert_eq!(parts("s3://b"), Some(("s3://b", "b", "")));
        assert_eq!(parts("hdfs:///user/a"), Some(("hdfs://", "", "user/a")));
        assert_eq!(parts("https://h:1/a?b=c/d"), Some(("https://h:1", "h:1", "a?b=c/d")));
        for path in ["a/b.csv", "/a", "-", "s3:/b/a", "ftp://h/a", "file:///a", "kafka://h/t", "", "s3"] {
            assert_eq!(parts(path), None, "{path}");
        }
    }

    #[test]
    fn what_can_be_no_file_is_refused() {
        for good in ["s3://b/a", "hdfs:///a", "hdfs://h:1/a/b", "https://h", "https://h/"] {
            assert!(Address::of_file(Path::new(good)).is_ok(), "{good}");
        }
        for bad in ["s3://b", "s3://b/", "s3:///a", "s3://b/a/", "hdfs://h", "https://", "a"] {
            assert_eq!(Address::of_file(Path::new(bad)), Err(Failure::Name), "{bad}");
        }
    }

    #[test]
    fn what_http_is_asked_beside_is_no_part_of_a_name() {
        let name = |text| Address::of(Path::new(text)).unwrap().without_question();
        assert_eq!(name("https://h/a.tsv.gz?t=1.x#y"), "https://h/a.tsv.gz");
        assert_eq!(name("s3://b/a?.csv"), "s3://b/a?.csv");
    }
}
