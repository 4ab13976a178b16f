//! Opening a container.

use alloc::vec::Vec;
use core::ops::{Deref, Range};

use super::header::{Entry, Header};
use super::{ENTRY_BYTES, Extents, HEADER_BYTES, Tally, checksum};
use crate::about::About;
use crate::chunks::chunks;
use crate::countmin::Heavy;
use crate::error::{Damage, Error, Part, Result, ShapeFault};
use crate::params::{Common, Name, Numbers, Params};
use crate::sizing::Kind;
use crate::sketch::{Beside, Sketch};

/// An opened container over bytes that begin at a cache line or page: a memory map, mostly.
#[derive(Debug)]
pub struct Container<B> {
    bytes: B,
    params: Params,
    tallies: Vec<Tally>,
    /// First byte and length of the data area.
    data: (usize, usize),
    /// The words of each section within it.
    sections: Vec<Range<usize>>,
    heavy: Option<Heavy>,
    about: About,
    /// As it stands in the file.
    header: Header,
    /// First byte of the journal.
    journal: usize,
}

impl<B: Deref<Target = [u8]>> Container<B> {
    /// Checks all but the sections, and finds them.
    pub fn open(bytes: B) -> Result<Container<B>> {
        let Parts { header, extents, description, directory, names, heavy, about } = Parts::of(&bytes)?;
        let common: Common = serde_json::from_slice(description)
            .map_err(|error| Error::Corrupt(Damage::Description(error.into())))?;
        if header.version < common.version() {
            let (recipe, file) = (common.version(), header.version);
            return Err(Error::Corrupt(Damage::RecipeVersion { recipe, file }));
        }
        let about = about.map(About::decode).transpose()?.unwrap_or_default();
        let Directory { groups, tallies, places } = Directory::decode(directory, names, common.kind)?;
        let params = Params::from_numbers(common, groups)?;
        let sections = sections_at(&params, &places, extents.data)?;
        let kind = params.common.kind;
        if heavy.is_some() && !kind.counts() {
            return Err(Error::Corrupt(Damage::HeavyFilter));
        }
        let heavy = heavy.map(|bytes| Heavy::decode(bytes, params.groups.len())).transpose();
        let heavy = heavy.map_err(|fault| Error::Corrupt(Damage::Heavy(fault)))?;
        let data = (extents.data.0 as usize, (extents.data.1 - extents.data.0) as usize);
        if bytemuck::try_cast_slice::<u8, u64>(&bytes[data.0..data.0 + data.1]).is_err() {
            return Err(ShapeFault::Unaligned.into());
        }
        let journal = extents.journal.0 as usize;
        let container = Container { bytes, params, tallies, data, sections, heavy, about, header, journal };
        if container.tallies.iter().any(|tally| tally.removed() > tally.rows) {
            return Err(Error::Corrupt(Damage::Removed));
        }
        if kind == Kind::Scalable {
            container.sketches()?; // the keys of the newest layer stand outside the parameters
        }
        Ok(container)
    }

    /// Its parameters.
    pub fn params(&self) -> &Params {
        &self.params
    }

    /// What each group's sketch says of itself.
    pub fn tallies(&self) -> &[Tally] {
        &self.tallies
    }

    /// The bytes of the file.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// A digest of the file: of all before the data area, which holds a checksum of every section.
    /// What is recorded about the file is no part of it: the digest is that of the file without.
    pub fn digest(&self) -> u128 {
        let head = &self.bytes[..self.data.0];
        if self.about.is_empty() {
            return crate::hash::xxh3_wide(head);
        }
        let mut header =
            Header { version: self.params.common.version(), about_len: 0, about_sum: 0, ..self.header };
        header.file_len = header.extents().map_or(0, |extents| extents.journal.1);
        crate::hash::xxh3_wide(&[&header.encode()[..], &head[HEADER_BYTES..]].concat())
    }

    /// The version of the format that it is written in.
    pub fn version(&self) -> u32 {
        self.header.version
    }

    /// What is recorded about the file.
    pub fn about(&self) -> &About {
        &self.about
    }

    /// Whether the keys of each group are known to be a count, and not a plan: they were counted when the file
    /// was built, and no rows came or went since.
    pub fn keys_are_counted(&self) -> bool {
        let rows = self.tallies.iter().fold(0u64, |all, tally| all.saturating_add(tally.rows));
        self.about.counted == Some(rows) && self.tallies.iter().all(|tally| tally.beside.removed() == 0)
    }

    /// The data area: all sections.
    pub fn data(&self) -> &[u64] {
        bytemuck::cast_slice(&self.bytes[self.data.0..self.data.0 + self.data.1])
    }

    /// Keys of a large share, where they are kept.
    pub fn heavy(&self) -> Option<&Heavy> {
        self.heavy.as_ref()
    }

    /// The progress of a job that can be resumed; empty in all other files.
    pub fn journal(&self) -> &[u8] {
        &self.bytes[self.journal..]
    }

    /// The words of a group's sketch.
    pub fn section(&self, group: usize) -> &[u64] {
        &self.data()[self.sections[group].clone()]
    }

    /// A group's sketch.
    pub fn sketch(&self, group: usize) -> Result<Sketch<&[u64]>> {
        let (common, params) = (&self.params.common, &self.params.groups[group]);
        let beside = self.tallies[group].beside;
        Sketch::from_words((common.kind, common.hash), params, beside, self.section(group))
    }

    /// All sketches, in the order of the groups.
    pub fn sketches(&self) -> Result<Vec<Sketch<&[u64]>>> {
        (0..self.params.groups.len()).map(|group| self.sketch(group)).collect()
    }

    /// Checks that every heavy key of a group has the weight that it is kept for.
    pub fn verify_heavy(&self, group: usize) -> Result<()> {
        let (Some(heavy), Sketch::CountMin(sketch)) = (&self.heavy, self.sketch(group)?) else {
            return Ok(());
        };
        let (least, scheme) = (sketch.least(heavy.share), self.params.common.hash);
        scheme.hashes_keys()?;
        match heavy.groups[group].iter().all(|key| sketch.estimate_hash(scheme.identity(key)) >= least) {
            true => Ok(()),
            false => Err(Error::Corrupt(Damage::HeavyShare)),
        }
    }

    /// Reads the section of a group and checks it against its checksum.
    pub fn verify(&self, group: usize) -> Result<()> {
        let (section, tally) = (self.section(group), self.tallies[group]);
        let name = &self.params.groups[group].group;
        let (kind, shape) = (self.params.common.kind, &self.params.groups[group].shape);
        if super::seal(shape, section, tally.rows, tally.beside) != tally {
            return Err(Error::Checksum { part: Part::Sketch { kind, group: name.clone() } });
        }
        let beyond = shape.bits() % 64;
        if (kind == Kind::Bloom || kind.counts())
            && beyond > 0
            && section.last().is_some_and(|last| last >> beyond != 0)
        {
            return Err(Error::Corrupt(Damage::BitsBeyond(name.clone())));
        }
        if matches!(self.sketch(group)?, Sketch::CountMin(sketch) if !sketch.is_consistent()) {
            return Err(Error::Corrupt(Damage::Sums(name.clone())));
        }
        let next = self.sections.get(group + 1).map_or(self.data().len(), |next| next.start);
        if self.data()[self.sections[group].end..next].iter().any(|&word| word != 0) {
            return Err(Error::Corrupt(Damage::GroupPadding(name.clone())));
        }
        Ok(())
    }
}

/// The parts of a file, whose checksums and padding were checked.
struct Parts<'f> {
    header: Header,
    extents: Extents,
    description: &'f [u8],
    directory: &'f [u8],
    names: &'f [u8],
    /// The list of heavy keys, where there is one.
    heavy: Option<&'f [u8]>,
    /// What is recorded about the file, where something is.
    about: Option<&'f [u8]>,
}

impl<'f> Parts<'f> {
    fn of(file: &'f [u8]) -> Result<Parts<'f>> {
        let header = Header::decode(file)?;
        if header.file_len != file.len() as u64 {
            return Err(Error::Length { expected: header.file_len, got: file.len() as u64 });
        }
        let extents = header
            .extents()
            .filter(|extents| extents.journal.1 == header.file_len)
            .ok_or_else(|| Error::Corrupt(Damage::Lengths))?;
        // From here on every extent lies within the file.
        let part = |(start, end): (u64, u64)| &file[start as usize..end as usize];
        let sealed = |extent, sum, name: Part| match part(extent) {
            bytes if checksum(bytes) == sum => Ok(bytes),
            _ => Err(Error::Checksum { part: name }),
        };
        let description = sealed(extents.description, header.description_sum, Part::Description)?;
        let directory = sealed(extents.directory, header.directory_sum, Part::Directory)?;
        let names = sealed(extents.names, header.names_sum, Part::Names)?;
        // A part that is not there has no checksum.
        let optional = |extent: (u64, u64), sum, name| match extent.0 == extent.1 && sum == 0 {
            true => Ok(None),
            false => sealed(extent, sum, name).map(Some),
        };
        let heavy = optional(extents.heavy, header.heavy_sum, Part::HeavyKeys)?;
        let about = optional(extents.about, header.about_sum, Part::About)?;
        optional(extents.journal, header.journal_sum, Part::Journal)?;
        let gaps = [
            (extents.description.1, extents.directory.0),
            (extents.directory.1, extents.names.0),
            (extents.names.1, extents.data.0),
            (extents.heavy.1, extents.about.0),
            (extents.about.1, extents.journal.0),
        ];
        if gaps.into_iter().any(|gap| part(gap).iter().any(|&byte| byte != 0)) {
            return Err(Error::Corrupt(Damage::Padding));
        }
        Ok(Parts { header, extents, description, directory, names, heavy, about })
    }
}

/// What the directory says of each group.
struct Directory {
    groups: Vec<(Name, Numbers)>,
    tallies: Vec<Tally>,
    /// Where its section is said to stand, and its length.
    places: Vec<(u64, u64)>,
}

impl Directory {
    fn decode(directory: &[u8], names: &[u8], kind: Kind) -> Result<Directory> {
        let count = directory.len() / ENTRY_BYTES;
        let mut groups = Vec::with_capacity(count);
        let mut tallies = Vec::with_capacity(count);
        let mut places = Vec::with_capacity(count);
        // Names follow each other: were they to share bytes, a small file could ask for much memory.
        let mut named = 0u64;
        for bytes in chunks::<_, ENTRY_BYTES>(directory).0 {
            let number = groups.len();
            let entry = Entry::decode(bytes);
            if kind != Kind::Ribbon && entry.shorter != 0 {
                return Err(Error::Corrupt(Damage::EntryReserved(number)));
            }
            let name = names
                .get(named as usize..)
                .and_then(|rest| rest.get(..entry.name_len as usize))
                .filter(|_| entry.name_offset == named)
                .ok_or_else(|| Error::Corrupt(Damage::EntryName(number)))?;
            named += u64::from(entry.name_len);
            let Entry { keys, fpr, slots, width, hashes, shorter, rows, ones, seed, sum, .. } = entry;
            groups.push((Name(name.to_vec()), Numbers { keys, fpr, slots, width, hashes, shorter }));
            tallies.push(Tally { rows, ones, beside: Beside::from_number(kind, seed), sum });
            places.push((entry.offset, entry.len));
        }
        if named != names.len() as u64 {
            return Err(Error::Corrupt(Damage::Names));
        }
        Ok(Directory { groups, tallies, places })
    }
}

/// The words of each section, where the places of the directory are those of the parameters.
fn sections_at(params: &Params, places: &[(u64, u64)], data: (u64, u64)) -> Result<Vec<Range<usize>>> {
    let (starts, words) = params.layout();
    if 8 * words as u64 != data.1 - data.0 {
        return Err(Error::Corrupt(Damage::Sections));
    }
    let sections = params.groups.iter().zip(starts).enumerate().map(|(i, (group, start))| {
        let words = group.shape.words();
        if places[i] != (data.0 + 8 * start as u64, 8 * words) {
            return Err(Error::Corrupt(Damage::Section(i)));
        }
        Ok(start..start + words as usize)
    });
    sections.collect()
}
