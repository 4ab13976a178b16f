//! Messages that are spelled elsewhere: options stand in them as marks, which the front end that shows them
//! replaces by its own words.
//!
//! A job that another program started, on another machine, cannot know how that program calls its
//! options. What it reports is one text (engines such as Spark hand on nothing else), with each option as
//! `⟦name⟧` or `⟦name=value⟧`.

use tamis_read::refusal::{Opt, Voice};

use tamis_make::opt;

const OPEN: char = '⟦';
const CLOSE: char = '⟧';
const PLAN_FIRST: &str = "plan first";

/// Spells options as marks.
#[derive(Debug, Clone, Copy)]
pub struct Marks;

impl Voice for Marks {
    fn option(&self, option: Opt) -> String {
        format!("{OPEN}{}{CLOSE}", option.0)
    }

    fn with(&self, option: Opt, value: &str) -> String {
        format!("{OPEN}{}={value}{CLOSE}", option.0)
    }

    fn plan_first(&self) -> String {
        format!("{OPEN}{PLAN_FIRST}{CLOSE}")
    }
}

/// The text with its marks spelled in this voice. What only looks like a mark stays as it is.
pub fn spelled(text: &str, voice: &dyn Voice) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(OPEN) {
        out += &rest[..at];
        rest = &rest[at..];
        let inner = &rest[OPEN.len_utf8()..];
        match inner.split_once(CLOSE).and_then(|(mark, after)| Some((spell(mark, voice)?, after))) {
            Some((words, after)) => {
                out += &words;
                rest = after;
            }
            None => {
                out.push(OPEN);
                rest = inner;
            }
        }
    }
    out + rest
}

fn spell(mark: &str, voice: &dyn Voice) -> Option<String> {
    if mark == PLAN_FIRST {
        return Some(voice.plan_first());
    }
    let (name, value) = mark.split_once('=').map_or((mark, None), |(name, value)| (name, Some(value)));
    let option = *opt::ALL.iter().find(|option| option.0 == name)?;
    Some(value.map_or_else(|| voice.option(option), |value| voice.with(option, value)))
}

#[cfg(test)]
mod tests {
    use tamis_read::refusal::{Fields, Help, advice};

    use super::*;

    #[test]
    fn marks_are_spelled_by_whoever_shows_them_and_nothing_else_is_changed() {
        let help = [
            Help::give(opt::KEYWORDS.with("COLUMN:split='='")),
            Help::LeaveOut(vec![opt::KIND, opt::HASH]),
            Help::PlanFirst,
        ];
        let marked = advice(&help, &Marks).unwrap();
        assert_eq!(spelled(&marked, &Fields), advice(&help, &Fields).unwrap());
        for plain in ["", "no marks", "⟦", "⟦not an option⟧", "a⟧b", "⟦⟦", "⟦other=1⟧ and so on"]
        {
            assert_eq!(spelled(plain, &Fields), plain);
        }
        assert_eq!(spelled("⟦x ⟦fpr⟧", &Fields), "⟦x fpr");
    }
}
