//! The fields of one line: where each begins and ends, or which of them is not as servers write it.

use memchr::{memchr, memchr2, memmem, memrchr};

use super::{AGENT, BYTES, FIELDS, IDENT, MOST, Marks, Pick, REFERER, REQUEST, STATUS, TIME, USER, Wrong};
use crate::arch::text::mask;

/// The fields of a line as they stand there.
pub(super) type Found<'l> = [&'l [u8]; MOST];

/// Cuts a line into its fields, as many as are wanted. What is not there stays as it is.
#[inline(always)]
pub(super) fn cut<'l>(
    line: &'l [u8],
    marks: Marks,
    wanted: usize,
    found: &mut Found<'l>,
) -> Result<Escaped, Wrong> {
    match usual(line, marks, wanted, found) {
        Some(()) => Ok(Escaped(0)),
        None => find(line, wanted, found),
    }
}

/// Does what [`find`] does, of a line as servers nearly always write it: nothing is escaped, and all that is
/// wanted has its usual place between the quotes. Of other lines, none.
#[inline(always)]
fn usual<'l>(line: &'l [u8], marks: Marks, wanted: usize, found: &mut Found<'l>) -> Option<()> {
    let mark = |number: usize| Some((marks.places.get(number)? - marks.start) as usize);
    let mut blanks = mask(line.first_chunk()?, b' ');
    if wanted > AGENT + 1 || blanks.count_ones() < TIME as u32 {
        return None;
    }
    let mut start = 0;
    for field in &mut found[..TIME] {
        let end = blanks.trailing_zeros() as usize;
        *field = &line[start..end];
        start = end + 1;
        blanks &= blanks - 1;
    }
    let rest;
    (found[TIME], rest) = usually_timed(&line[start..])?;
    let (open, close) = (mark(0)?, mark(1)?);
    if open != line.len() - rest.len() || line[close] != b'"' {
        return None;
    }
    found[REQUEST] = &line[open + 1..close];
    let [b' ', status @ .., b' '] = line.get(close + 1..close + 6)? else { return None };
    found[STATUS] = status;
    let digits = &line[close + 6..];
    let end = digits.iter().position(|byte| !byte.is_ascii_digit()).unwrap_or(digits.len());
    found[BYTES] = &digits[..end];
    if end == 0 || !status.iter().all(u8::is_ascii_digit) || !matches!(digits.get(end), None | Some(b' ')) {
        return None;
    }
    if wanted <= REFERER {
        return Some(());
    }
    let places @ [open, close, second, last] = [mark(2)?, mark(3)?, mark(4)?, mark(5)?];
    let between =
        open == line.len() - digits.len() + end + 1 && second == close + 2 && line[close + 1] == b' ';
    if !between
        || places.iter().any(|&place| line[place] != b'"')
        || !matches!(line.get(last + 1), None | Some(b' '))
    {
        return None;
    }
    found[REFERER] = &line[open + 1..close];
    found[AGENT] = &line[second + 1..last];
    Some(())
}

/// Finds the fields of any line, one after the other.
#[inline(always)]
fn find<'l>(line: &'l [u8], wanted: usize, found: &mut Found<'l>) -> Result<Escaped, Wrong> {
    let mut escaped = Escaped(0);
    let mut rest = line;
    for field in &mut found[..TIME] {
        (*field, rest) = word(rest);
    }
    (found[TIME], rest) = match usually_timed(rest).or_else(|| timed(rest)) {
        Some(time) => time,
        None => after_user(line, rest, found)?,
    };
    for (field, value) in found.iter_mut().enumerate().take(wanted).skip(REQUEST) {
        let wrong = |fault: &'static str| Wrong { field, fault };
        (*value, rest) = match rest {
            [b'"', text @ ..] => {
                let Some((end, has_escapes)) = quoted(text) else {
                    return Err(wrong("opens a quote that does not close in this line"));
                };
                escaped.0 |= u32::from(has_escapes) << field;
                match &text[end + 1..] {
                    [] => (&text[..end], &[][..]),
                    [b' ', after @ ..] => (&text[..end], after),
                    _ => return Err(wrong("goes on after its closing quote")),
                }
            }
            [] if field >= FIELDS => break,
            [] => return Err(wrong("is missing")),
            _ if field == REQUEST => return Err(wrong("does not begin with a quote")),
            _ => {
                let (value, after) = word(rest);
                if field < REFERER && value != b"-" && !value.iter().all(u8::is_ascii_digit) {
                    return Err(wrong("is not a number"));
                }
                // Servers can be told to write any field without quotes.
                escaped.0 |= u32::from(field >= REFERER && memchr(b'\\', value).is_some()) << field;
                (value, after)
            }
        };
    }
    Ok(escaped)
}

/// Which fields have a backslash in them, a bit each.
#[derive(Debug, Clone, Copy)]
pub(super) struct Escaped(u32);

impl Escaped {
    /// Whether a value may have one. Fields that are never quoted are short, and looked through.
    #[inline(always)]
    pub(super) fn may(self, pick: Pick, value: &[u8]) -> bool {
        let field = match pick {
            Pick::Field(field) => field,
            Pick::Request(_) => REQUEST,
        };
        match field {
            REQUEST | REFERER.. => self.0 >> field & 1 == 1,
            _ => memchr(b'\\', value).is_some(),
        }
    }
}

/// What stands before the next blank, and what stands after it.
#[inline(always)]
fn word(text: &[u8]) -> (&[u8], &[u8]) {
    if let [b'-', b' ', rest @ ..] = text {
        return (&text[..1], rest);
    }
    match memchr(b' ', text) {
        Some(end) => (&text[..end], &text[end + 1..]),
        None => (text, &[]),
    }
}

/// The same as [`timed`], of a time as it is written unless somebody wants otherwise: it has one length.
#[inline(always)]
fn usually_timed(text: &[u8]) -> Option<(&[u8], &[u8])> {
    const LENGTH: usize = "10/Oct/2025:13:55:36 -0700".len();
    let (head, _) = text.split_at_checked(LENGTH + 4)?;
    let usual = head[0] == b'[' && head[3] == b'/' && head[7] == b'/' && head[LENGTH + 1..] == *b"] \"";
    // Without a branch for each byte.
    let brackets = head[1..=LENGTH].iter().fold(false, |any, byte| any | matches!(byte, b'[' | b']'));
    (usual && !brackets).then(|| (&text[1..=LENGTH], &text[LENGTH + 3..]))
}

/// A time in brackets, and the request that follows it: up to its quote, which no client can write into a
/// field before.
#[inline(always)]
fn timed(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let rest = text.strip_prefix(b"[")?;
    let end = memchr(b']', rest)?;
    let after = rest[end + 1..].strip_prefix(b" ")?;
    let time = &rest[..end];
    (after.first() == Some(&b'"') && memchr(b'[', time).is_none()).then_some((time, after))
}

/// The same of a line with blanks in the name of its user, which a client can send; or what is wrong with it.
/// Only where `ident` is a dash, as it is everywhere today: otherwise a line with one more field at its
/// beginning would be read as something else.
#[cold]
fn after_user<'l>(
    line: &'l [u8],
    rest: &'l [u8],
    found: &mut Found<'l>,
) -> Result<(&'l [u8], &'l [u8]), Wrong> {
    if rest.is_empty() {
        let field = found[..TIME].iter().position(|field| field.is_empty()).unwrap_or(TIME);
        return Err(Wrong { field, fault: "is missing" });
    }
    let user = found[USER].as_ptr() as usize - line.as_ptr() as usize;
    let after = &line[user..];
    // The first quote of a line is that of the request.
    let time = memmem::find(after, b"] \"").and_then(|close| {
        let open = memmem::rfind(&after[..close], b" [")?;
        (found[IDENT] == b"-" && memrchr(b'"', &after[..close]).is_none())
            .then_some((&after[..open], &after[open + 1..]))
    });
    if let Some((name, time)) = time {
        found[USER] = name;
        if let Some(timed) = timed(time) {
            return Ok(timed);
        }
    }
    let wrong = |field, fault| Err(Wrong { field, fault });
    match rest.first() {
        Some(b'[') => match memchr(b']', rest).map(|end| &rest[end + 1..]) {
            None => wrong(TIME, "does not end with ]"),
            Some([] | [b' ']) => wrong(REQUEST, "is missing"),
            Some([b' ', ..]) => wrong(REQUEST, "does not begin with a quote"),
            Some(_) => wrong(TIME, "goes on after its closing ]"),
        },
        _ => wrong(TIME, "does not begin with ["),
    }
}

/// Where the next quote is that is not escaped, and whether there is a backslash before it.
#[inline(always)]
fn quoted(text: &[u8]) -> Option<(usize, bool)> {
    let (mut at, mut escaped) = (0, false);
    loop {
        at += memchr2(b'"', b'\\', text.get(at..)?)?;
        if text[at] == b'"' {
            return Some((at, escaped));
        }
        escaped = true;
        at += 2; // what is escaped is no quote
    }
}
