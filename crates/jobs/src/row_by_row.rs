//! Rows of a table in memory that are asked one after the other: each in the filter of its own group, or a second time
//! against the keys themselves.
//!
//! [`lookup`](crate::lookup) asks whole batches, and is faster; neither of these questions can be asked of a batch.

use tamis::key::{BadValue, Maker};
use tamis::sketch::Sketch;
use tamis_make::exact::{ANY_GROUP, Questions, Store};
use tamis_make::files::Mapped;
use tamis_make::rows::{Keyless, OnBad, Unusable};
use tamis_read::error::Result;
use tamis_read::table::Asked;
use tamis_read::{Control, Fault};

use crate::classes::Forms;
use crate::variants::Variants;

/// Which group a row is asked in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Of {
    /// All of them; one that has its key is enough.
    Any,
    /// That of this number.
    One(usize),
    /// Its own: the table has the column of the group behind those of the key.
    Own,
}

/// What is asked of a file.
#[derive(Debug)]
pub struct Question<'f> {
    /// The file.
    pub file: &'f Mapped,
    /// Which group is asked.
    pub of: Of,
    /// The forms in which the values of each column are asked, where these are not their texts alone.
    pub forms: Option<Vec<Forms>>,
    /// Rows without a key.
    pub on_bad: OnBad,
    /// Where the keys themselves are, and the memory for comparing with them.
    pub exactly: Option<(&'f Store, u64)>,
}

/// The answer to a row without a key.
const KEYLESS: i8 = 2;

impl Question<'_> {
    /// For each row of each part: 1 where its key is there, or may be; 0 where it is not; 2 where there is no key.
    pub fn codes(&self, table: &Asked, control: &Control) -> Result<Vec<Vec<i8>>> {
        let mut codes: Vec<Vec<i8>> = vec![Vec::new(); table.parts()];
        let mut strict = self.exactly.map(|(store, memory)| Strict::new(store, memory));
        for piece in table.pieces() {
            control.check()?;
            if let Some(strict) = &mut strict
                && strict.questions.is_full(piece.1.len())
            {
                strict.settle(&mut codes, control)?;
            }
            let (part, mut suspects) = (piece.0, Vec::new());
            let codes = &mut codes[part];
            table.tiles(&piece, |rows, cells| {
                let width = cells.len() / rows.max(1);
                for (row, values) in cells.chunks_exact(width.max(1)).enumerate() {
                    let found = self.row(values, |hash, key, group| {
                        if strict.is_some() {
                            suspects.push((codes.len(), hash, key.to_vec(), group));
                        }
                    });
                    codes.push(match found {
                        // What is asked a second time is not there until it is found.
                        Ok(found) => i8::from(found && strict.is_none()),
                        Err(bad) if self.on_bad == OnBad::Fail => {
                            return Err(Fault { at: row, why: Unusable::new(bad, values).into() });
                        }
                        Err(_) => KEYLESS,
                    });
                }
                Ok(())
            })?;
            if let Some(strict) = &mut strict {
                for (row, hash, key, group) in suspects {
                    strict.questions.ask(hash, &key, group)?;
                    strict.rows.push((part, row));
                }
            }
        }
        if let Some(strict) = &mut strict {
            strict.settle(&mut codes, control)?;
        }
        Ok(codes)
    }

    /// Whether the key of these values may be there, in any of its forms; each key that may be is given away, with its
    /// hash and the number of its group.
    fn row(&self, values: &[Option<&[u8]>], mut give: impl FnMut(u64, &[u8], u32)) -> Result<bool, Keyless> {
        let params = self.file.params();
        let mut maker = Maker::new(&params.common.recipe);
        let (parts, group) = values.split_at(params.common.recipe.key.len());
        let groups = match (self.of, group) {
            (Of::Own, [value]) => {
                let name = maker.group(*value).map_err(Keyless::Group)?;
                match params.find(name) {
                    Some(group) => group..group + 1,
                    None => return Ok(false),
                }
            }
            (Of::One(group), _) => group..group + 1,
            _ => 0..params.groups.len(),
        };
        let asked = if self.of == Of::Any { ANY_GROUP } else { groups.start as u32 };
        let mut has = |parts: &[Option<&[u8]>], maker: &mut Maker<'_>| -> Result<bool, BadValue> {
            let key = maker.key(parts)?;
            let (scheme, hash) = (params.common.hash, params.common.hash.identity(key));
            let found = |group| {
                let sketch: tamis::Result<Sketch<&[u64]>> = self.file.sketch(group);
                sketch.is_ok_and(|sketch| sketch.contains_key(scheme, hash, key))
            };
            let found = groups.clone().any(found);
            if found {
                give(hash, key, asked);
            }
            Ok(found)
        };
        let mut found = has(parts, &mut maker).map_err(Keyless::Key)?;
        if let Some(forms) = &self.forms {
            let variants = Variants::of_one(forms, parts);
            for parts in variants.cells().chunks_exact(parts.len()) {
                // A form that makes no key asks nothing.
                found |= has(parts, &mut maker).unwrap_or(false);
            }
        }
        Ok(found)
    }
}

/// Questions that wait for the keys themselves.
struct Strict<'s> {
    store: &'s Store,
    questions: Questions,
    /// The part and the row of each.
    rows: Vec<(usize, usize)>,
}

impl<'s> Strict<'s> {
    fn new(store: &'s Store, memory: u64) -> Strict<'s> {
        Strict { store, questions: Questions::new(memory, &std::env::temp_dir()), rows: Vec::new() }
    }

    fn settle(&mut self, codes: &mut [Vec<i8>], control: &Control) -> Result<()> {
        let answers = self.questions.answer(self.store, control)?;
        for (number, (part, row)) in self.rows.drain(..).enumerate() {
            if answers.get(number as u32) {
                codes[part][row] = 1;
            }
        }
        Ok(())
    }
}
