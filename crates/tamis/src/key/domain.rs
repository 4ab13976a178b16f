//! The registrable domain of a host: its public suffix and one label more, by a list of suffixes.
//!
//! What a public suffix is changes every week, so that a recipe names its list by a digest. A list that
//! was released once stays in the program; others can be [added](SuffixList::add) from a file.

use alloc::borrow::{Cow, ToOwned};
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::error::Error;
use crate::hash::{of_digits, xxh3};

/// The lists in the program, from newest to oldest: `data/README.md` says where they come from.
const RELEASED: [&str; 1] = [include_str!("../../data/suffixes-2026-08-19.txt")];

/// A list of public suffixes: the rules, sorted, and the digest by which recipes name it.
#[derive(Clone)]
pub struct SuffixList {
    digest: u64,
    /// None of a list that this program does not have.
    rules: Option<Arc<Vec<String>>>,
}

/// The lists that were added, and whether each was asked for since.
#[cfg(feature = "std")]
fn known() -> std::sync::MutexGuard<'static, Vec<(SuffixList, bool)>> {
    static KNOWN: std::sync::Mutex<Vec<(SuffixList, bool)>> = std::sync::Mutex::new(Vec::new());
    KNOWN.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

impl SuffixList {
    /// The newest list in the program.
    pub fn newest() -> SuffixList {
        #[cfg(feature = "std")]
        {
            static NEWEST: std::sync::OnceLock<SuffixList> = std::sync::OnceLock::new();
            NEWEST.get_or_init(|| SuffixList::read(RELEASED[0])).clone()
        }
        #[cfg(not(feature = "std"))]
        SuffixList::read(RELEASED[0])
    }

    /// The list that a step without a name means: the one that was added last, or else the newest.
    pub fn usual() -> SuffixList {
        #[cfg(feature = "std")]
        if let Some((list, asked)) = known().last_mut() {
            *asked = true;
            return list.clone();
        }
        SuffixList::newest()
    }

    /// A list in the form in which public suffix lists are published: a rule in each line, with
    /// comments after `//`.
    pub fn read(text: &str) -> SuffixList {
        let mut rules: Vec<String> = SuffixList::rules_of(text).map(str::to_lowercase).collect();
        rules.sort_unstable();
        rules.dedup();
        let mut whole = rules.join("\n");
        whole.push('\n');
        let digest = xxh3(whole.as_bytes(), 0);
        // Hosts are written in either form; the digest is that of the list as it was published.
        let ascii = rules.iter().filter(|rule| !rule.is_ascii()).filter_map(|rule| to_ascii(rule));
        let ascii: Vec<String> = ascii.collect();
        rules.extend(ascii);
        rules.sort_unstable();
        SuffixList { digest, rules: Some(Arc::new(rules)) }
    }

    /// Whether every line of a text is a rule, a comment or empty, and there is a rule.
    pub fn is_one(text: &str) -> bool {
        let mut rules = SuffixList::rules_of(text).peekable();
        let is_rule = |rule: &str| {
            let rule = rule.strip_prefix('!').unwrap_or(rule);
            let is_name = is_host(rule.strip_prefix("*.").unwrap_or(rule)) || rule == "*";
            is_name && rule.parse::<core::net::IpAddr>().is_err() // a log begins with addresses
        };
        rules.peek().is_some() && rules.all(is_rule)
    }

    /// The first word of each line that is no comment.
    fn rules_of(text: &str) -> impl Iterator<Item = &str> {
        let lines = text.lines().filter(|line| !line.starts_with("//"));
        lines.filter_map(|line| line.split_whitespace().next())
    }

    /// Makes a list known: recipes that name it by its digest are read from now on, and new ones name it.
    #[cfg(feature = "std")]
    pub fn add(text: &str) -> SuffixList {
        let list = SuffixList::read(text);
        let mut known = known();
        known.retain(|(other, _)| *other != list);
        known.push((list.clone(), false));
        list
    }

    /// Whether a recipe has named this list, by its digest or as the usual one, since it was added.
    #[cfg(feature = "std")]
    pub fn is_asked(&self) -> bool {
        known().iter().any(|(list, asked)| list == self && *asked)
    }

    /// The list of this digest. Without its rules, where the program does not have it.
    fn named(digest: u64) -> SuffixList {
        #[cfg(feature = "std")]
        if let Some((list, asked)) = known().iter_mut().find(|(list, _)| list.digest == digest) {
            *asked = true;
            return list.clone();
        }
        let older = RELEASED[1..].iter().map(|text| SuffixList::read(text));
        let mut released = core::iter::once(SuffixList::newest()).chain(older);
        released.find(|list| list.digest == digest).unwrap_or(SuffixList { digest, rules: None })
    }

    /// That this program has its rules.
    pub(super) fn check(&self) -> Result<(), Error> {
        match self.rules {
            Some(_) => Ok(()),
            None => Err(Error::SuffixList { digest: self.digest }),
        }
    }

    /// The list whose digest is written so.
    pub(super) fn of_digest(text: &str) -> Option<SuffixList> {
        of_digits(text).map(SuffixList::named)
    }

    /// The registrable domain of a host: in lower case, without a dot at its end. None of an address,
    /// of a suffix itself, and of what is not the name of a host.
    pub(super) fn registrable<'v>(&self, host: &'v [u8]) -> Option<Cow<'v, str>> {
        let rules = self.rules.as_ref()?;
        let host = core::str::from_utf8(host).ok()?;
        let host = host.strip_suffix('.').unwrap_or(host);
        if !is_host(host) || host.parse::<core::net::IpAddr>().is_ok() {
            return None;
        }
        let is_lower = |c: char| c.is_ascii() && !c.is_ascii_uppercase();
        let host =
            if host.chars().all(is_lower) { Cow::Borrowed(host) } else { Cow::Owned(host.to_lowercase()) };
        let at = registrable_at(rules, &host)?;
        Some(match host {
            Cow::Borrowed(host) => Cow::Borrowed(&host[at..]),
            Cow::Owned(host) => Cow::Owned(host[at..].into()),
        })
    }
}

/// Whether a text can be the name of a host: labels of letters, digits, hyphens and underscores. An address
/// of a page or of mail is none, and would have a domain that nobody registers.
fn is_host(text: &str) -> bool {
    let belongs = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_') || !c.is_ascii();
    text.split('.').all(|label| !label.is_empty() && label.chars().all(belongs))
}

/// Where the registrable domain of a host begins. An exception wins over all other rules, then the
/// rule with the most labels; without any, the last label is the suffix.
fn registrable_at(rules: &[String], host: &str) -> Option<usize> {
    let has = |sign: &str, name: &str| {
        let order = |rule: &String| match rule.strip_prefix(sign) {
            Some(rule) => rule.cmp(name),
            None => rule.as_str().cmp(sign),
        };
        rules.binary_search_by(order).is_ok()
    };
    // From the whole host to its last label: the first that is found has the most labels.
    let starts = || core::iter::once(0).chain(host.match_indices('.').map(|(dot, _)| dot + 1));
    if let Some(exception) = starts().find(|&start| has("!", &host[start..])) {
        return Some(exception);
    }
    let mut before = None;
    for start in starts() {
        let name = &host[start..];
        let Some((_, parent)) = name.split_once('.') else { break };
        if has("", name) || has("*.", parent) {
            break;
        }
        before = Some(start);
    }
    before
}

/// A rule in the form in which names are sent: each label in Punycode that is not ASCII.
fn to_ascii(rule: &str) -> Option<String> {
    if let Some(rule) = rule.strip_prefix('!') {
        return to_ascii(rule).map(|rule| alloc::format!("!{rule}"));
    }
    let label = |label: &str| match label.is_ascii() {
        true => Some(label.to_owned()),
        false => punycode(label).map(|code| alloc::format!("xn--{code}")),
    };
    let labels: Option<Vec<String>> = rule.split('.').map(label).collect();
    Some(labels?.join("."))
}

/// The Punycode of a label (RFC 3492): its ASCII characters, then where the others stand, as
/// differences in digits of a base that adapts.
fn punycode(label: &str) -> Option<String> {
    let mut code: String = label.chars().filter(char::is_ascii).collect();
    let all = u32::try_from(label.chars().count()).ok()?;
    let basic = u32::try_from(code.len()).ok()?;
    if basic > 0 {
        code.push('-');
    }
    let (mut done, mut least, mut delta, mut bias) = (basic, 128, 0u32, 72);
    while done < all {
        let next = label.chars().map(u32::from).filter(|&c| c >= least).min()?;
        delta = delta.checked_add((next - least).checked_mul(done + 1)?)?;
        for c in label.chars().map(u32::from) {
            if c < next {
                delta = delta.checked_add(1)?;
            }
            if c == next {
                put_number(&mut code, delta, bias);
                bias = adapted(delta, done + 1, done == basic);
                delta = 0;
                done += 1;
            }
        }
        (delta, least) = (delta + 1, next + 1);
    }
    Some(code)
}

/// Writes a difference in digits whose base depends on how large differences were so far.
fn put_number(code: &mut String, mut number: u32, bias: u32) {
    let digit =
        |value: u32| char::from(if value < 26 { b'a' + value as u8 } else { b'0' + (value - 26) as u8 });
    for k in (36u32..).step_by(36) {
        let threshold = k.saturating_sub(bias).clamp(1, 26);
        if number < threshold {
            break;
        }
        code.push(digit(threshold + (number - threshold) % (36 - threshold)));
        number = (number - threshold) / (36 - threshold);
    }
    code.push(digit(number));
}

/// The bias for the next difference.
fn adapted(delta: u32, done: u32, first: bool) -> u32 {
    let mut delta = delta / if first { 700 } else { 2 };
    delta += delta / done;
    let mut k = 0;
    while delta > 35 * 26 / 2 {
        delta /= 35;
        k += 36;
    }
    k + 36 * delta / (delta + 38)
}

impl PartialEq for SuffixList {
    fn eq(&self, other: &SuffixList) -> bool {
        self.digest == other.digest
    }
}

impl Eq for SuffixList {}

impl fmt::Debug for SuffixList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SuffixList({self})")
    }
}

/// The digest, as files have it.
impl fmt::Display for SuffixList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.digest)
    }
}

impl Serialize for SuffixList {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

impl<'d> Deserialize<'d> for SuffixList {
    fn deserialize<D: Deserializer<'d>>(from: D) -> Result<SuffixList, D::Error> {
        let text = String::deserialize(from)?;
        SuffixList::of_digest(&text)
            .ok_or_else(|| serde::de::Error::custom("the digest of a suffix list has 16 hexadecimal digits"))
    }
}
