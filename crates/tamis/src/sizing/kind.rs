//! The kinds of sketches, by name.

use core::fmt;
use core::str::FromStr;

#[cfg(feature = "serde")]
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result, SizeFault};
#[cfg(doc)]
use crate::{blocked, bloom, fuse, layered, ribbon, scalable};

/// The kinds of sketches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(Serialize, Deserialize), serde(rename_all = "lowercase"))]
pub enum Kind {
    /// One cache line per key: the fastest. See [`blocked`].
    Blocked,
    /// The classic Bloom filter. See [`bloom`].
    Bloom,
    /// Static, small and fast to ask. See [`fuse`].
    Fuse,
    /// Static, and the smallest. See [`ribbon`].
    Ribbon,
    /// Keys can be removed again. See [`crate::counting`].
    Counting,
    /// Records of several keywords. See [`layered`].
    Layered,
    /// Grows with its keys. See [`scalable`].
    Scalable,
    /// How often keys come. See [`crate::countmin`].
    #[cfg_attr(feature = "serde", serde(rename = "count-min"))]
    CountMin,
    /// The same with less error, for one order of rows. See [`crate::countmin`].
    #[cfg_attr(feature = "serde", serde(rename = "count-min-conservative"))]
    CountMinConservative,
}

impl Kind {
    /// All kinds, the default first.
    pub const ALL: [Kind; 9] = [
        Kind::Blocked,
        Kind::Bloom,
        Kind::Fuse,
        Kind::Ribbon,
        Kind::Counting,
        Kind::Scalable,
        Kind::Layered,
        Kind::CountMin,
        Kind::CountMinConservative,
    ];

    /// Those that tell whether a key may be in a set.
    pub const FILTERS: [Kind; 7] =
        [Kind::Blocked, Kind::Bloom, Kind::Fuse, Kind::Ribbon, Kind::Counting, Kind::Scalable, Kind::Layered];

    /// Those of single keys that are planned for a number of them and have no price beyond that: where
    /// nothing else is wished, one of them is best.
    pub const PLANNED: [Kind; 4] = [Kind::Blocked, Kind::Bloom, Kind::Fuse, Kind::Ribbon];

    /// Its name in files and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Blocked => "blocked",
            Kind::Bloom => "bloom",
            Kind::Fuse => "fuse",
            Kind::Ribbon => "ribbon",
            Kind::Counting => "counting",
            Kind::Layered => "layered",
            Kind::Scalable => "scalable",
            Kind::CountMin => "count-min",
            Kind::CountMinConservative => "count-min-conservative",
        }
    }

    /// Whether it counts how often keys come, and is no filter.
    pub fn counts(self) -> bool {
        matches!(self, Kind::CountMin | Kind::CountMinConservative)
    }

    /// Whether it is built of all of its keys at once, and takes no more.
    pub fn is_static(self) -> bool {
        matches!(self, Kind::Fuse | Kind::Ribbon)
    }

    pub(super) fn has_no_rate(self) -> Error {
        SizeFault::NoRate(self).into()
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Kind {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        let found = Kind::ALL.into_iter().find(|kind| kind.name() == name);
        found.ok_or_else(|| Error::UnknownKind(name.into()))
    }
}
