//! Why something was refused, as a value: a reason that names no option, and what would help.
//!
//! A front end spells options in its own way (`--bits-per-key`, `bits_per_key=`), so nothing below it
//! does. A reason is the text of an error like any other. What would help is data: options to give or
//! to leave out. A [`Voice`] puts the two together.

use std::error::Error as StdError;

/// An option of a request: the name of its field, such as `bits_per_key`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Opt(pub &'static str);

impl Opt {
    /// This option with a value, as advice: `kind` with `count-min`.
    pub fn with(self, value: impl Into<String>) -> Given {
        Given { option: self, value: Some(value.into()) }
    }
}

/// An option that somebody should give, with the value that is meant or a word for it (`N`, `SHARE`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Given {
    /// The option.
    pub option: Opt,
    /// Its value; none for a switch, or where the reason says which value.
    pub value: Option<String>,
}

impl From<Opt> for Given {
    fn from(option: Opt) -> Given {
        Given { option, value: None }
    }
}

/// A part of a clause.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Word {
    /// Plain words.
    Text(&'static str),
    /// An option.
    Option(Given),
}

impl From<&'static str> for Word {
    fn from(text: &'static str) -> Word {
        Word::Text(text)
    }
}

impl From<Opt> for Word {
    fn from(option: Opt) -> Word {
        Word::Option(option.into())
    }
}

impl From<Given> for Word {
    fn from(given: Given) -> Word {
        Word::Option(given)
    }
}

/// One thing that would help.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Help {
    /// Leave out these options.
    LeaveOut(Vec<Opt>),
    /// Leave out one of these options.
    LeaveOutOne(Vec<Opt>),
    /// Give these options.
    Give(Vec<Given>),
    /// Give one of these options.
    GiveOne(Vec<Given>),
    /// Give a larger value of one of these options.
    GiveMore(Vec<Opt>),
    /// Give a smaller value of one of these options.
    GiveLess(Vec<Opt>),
    /// Build the file with these options.
    BuildWith(Vec<Given>),
    /// Build the file without these options.
    BuildWithout(Vec<Opt>),
    /// Save parameters of all of the data first, and build each part with them.
    PlanFirst,
    /// Something that is no option: a clause in the imperative ("unpack it first").
    Do(&'static str),
    /// The same with options, which may be those of another job ("see them by filter", `invert`).
    DoWith(&'static str, Vec<Given>),
    /// Give this option for a purpose ("leave such rows out").
    GiveTo(Given, &'static str),
    /// Give these for a purpose that the input tells ("read \"a\" in the first line").
    GiveFor(Vec<Given>, String),
    /// Call the output so.
    NameIt(String),
    /// In this case ("if it has columns") give one of these options.
    GiveIf(&'static str, Vec<Given>),
    /// A clause that none of the others can say, with options in it.
    Clause(Vec<Word>),
}

impl Help {
    /// Leave out this option.
    pub fn leave_out(option: Opt) -> Help {
        Help::LeaveOut(vec![option])
    }

    /// Give this option.
    pub fn give(option: impl Into<Given>) -> Help {
        Help::Give(vec![option.into()])
    }

    /// Give a larger value of this option.
    pub fn give_more(option: Opt) -> Help {
        Help::GiveMore(vec![option])
    }

    /// Give a smaller value of this option.
    pub fn give_less(option: Opt) -> Help {
        Help::GiveLess(vec![option])
    }

    /// Build the file with this option.
    pub fn build_with(option: impl Into<Given>) -> Help {
        Help::BuildWith(vec![option.into()])
    }
}

/// Why something was refused. Each crate has small enums of its own for it.
///
/// `Display` gives the reason in plain words, without the name of an option.
pub trait Refusal: StdError + Send + Sync + 'static {
    /// The reason as this front end says it: otherwise than `Display` only where it cannot do without
    /// the name of an option.
    fn reason(&self, voice: &dyn Voice) -> String {
        let _ = voice;
        self.to_string()
    }

    /// What would help: one of these.
    fn help(&self) -> Vec<Help> {
        Vec::new()
    }
}

impl dyn Refusal {
    /// This refusal as a value of a certain type, if it is one.
    pub fn as_a<R: Refusal>(&self) -> Option<&R> {
        let error: &(dyn StdError + 'static) = self;
        error.downcast_ref()
    }
}

impl<R: Refusal> From<R> for Box<dyn Refusal> {
    fn from(refusal: R) -> Box<dyn Refusal> {
        Box::new(refusal)
    }
}

/// How a front end spells options.
pub trait Voice {
    /// The option by itself.
    fn option(&self, option: Opt) -> String;

    /// The option with a value.
    fn with(&self, option: Opt, value: &str) -> String;

    /// How parameters are saved and then used.
    fn plan_first(&self) -> String;

    /// Whether this front end has the option: advice that needs another one helps nobody, and is not given.
    fn has(&self, option: Opt) -> bool {
        let _ = option;
        true
    }
}

/// Spells options as the fields of a request: for logs and for whoever has no other way.
#[derive(Debug, Clone, Copy)]
pub struct Fields;

impl Voice for Fields {
    fn option(&self, option: Opt) -> String {
        option.0.to_owned()
    }

    fn with(&self, option: Opt, value: &str) -> String {
        format!("{}={value}", option.0)
    }

    fn plan_first(&self) -> String {
        "plan all of the data, and build each part with these parameters".to_owned()
    }
}

/// The reason, and what would help, in this voice. A reason that has a colon of its own is followed by a
/// semicolon.
pub fn say(refusal: &dyn Refusal, voice: &dyn Voice) -> String {
    let reason = refusal.reason(voice);
    match advice(&refusal.help(), voice) {
        Some(advice) if reason.contains(": ") => format!("{reason}; {advice}"),
        Some(advice) => format!("{reason}: {advice}"),
        None => reason,
    }
}

/// What would help, as one clause; nothing where nothing would.
pub fn advice(help: &[Help], voice: &dyn Voice) -> Option<String> {
    let clauses: Vec<String> =
        help.iter().filter_map(|help| had(help, voice)).map(|help| clause(&help, voice)).collect();
    listed(&clauses, "or", true)
}

/// Advice as far as it can be followed: of options of which one is enough, those that there are; nothing
/// where one is missing that is needed.
fn had(help: &Help, voice: &dyn Voice) -> Option<Help> {
    let has = |option: &Opt| voice.has(*option);
    let some = |options: &[Opt]| -> Option<Vec<Opt>> {
        let found: Vec<Opt> = options.iter().copied().filter(has).collect();
        (!found.is_empty()).then_some(found)
    };
    let some_given = |given: &[Given]| -> Option<Vec<Given>> {
        let found: Vec<Given> = given.iter().filter(|given| has(&given.option)).cloned().collect();
        (!found.is_empty()).then_some(found)
    };
    let all_given = |given: &[Given]| given.iter().all(|given| has(&given.option));
    let followed = match help {
        Help::LeaveOutOne(options) => return some(options).map(Help::LeaveOutOne),
        Help::GiveMore(options) => return some(options).map(Help::GiveMore),
        Help::GiveLess(options) => return some(options).map(Help::GiveLess),
        Help::GiveOne(given) => return some_given(given).map(Help::GiveOne),
        Help::GiveIf(case, given) => return some_given(given).map(|given| Help::GiveIf(case, given)),
        Help::LeaveOut(options) | Help::BuildWithout(options) => options.iter().all(has),
        Help::Give(given) | Help::BuildWith(given) | Help::DoWith(_, given) | Help::GiveFor(given, _) => {
            all_given(given)
        }
        Help::GiveTo(given, _) => has(&given.option),
        Help::Clause(words) => words.iter().all(|word| match word {
            Word::Text(_) => true,
            Word::Option(given) => has(&given.option),
        }),
        Help::PlanFirst | Help::Do(_) | Help::NameIt(_) => true,
    };
    followed.then(|| help.clone())
}

fn clause(help: &Help, voice: &dyn Voice) -> String {
    let options = |options: &[Opt], last: &str| {
        let names: Vec<String> = options.iter().map(|option| voice.option(*option)).collect();
        listed(&names, last, false).unwrap_or_default()
    };
    let given = |options: &[Given], last: &str| {
        let name = |given: &Given| match &given.value {
            Some(value) => voice.with(given.option, value),
            None => voice.option(given.option),
        };
        listed(&options.iter().map(name).collect::<Vec<_>>(), last, false).unwrap_or_default()
    };
    let word = |word: &Word| match word {
        Word::Text(text) => (*text).to_owned(),
        Word::Option(option) => given(std::slice::from_ref(option), "or"),
    };
    match help {
        Help::LeaveOut(names) => format!("leave out {}", options(names, "and")),
        Help::LeaveOutOne(names) => format!("leave out {}", options(names, "or")),
        Help::Give(names) => format!("give {}", given(names, "and")),
        Help::GiveOne(names) => format!("give {}", given(names, "or")),
        Help::GiveMore(names) => format!("give a larger {}", options(names, "or")),
        Help::GiveLess(names) => format!("give a smaller {}", options(names, "or")),
        Help::BuildWith(names) => format!("build it with {}", given(names, "and")),
        Help::BuildWithout(names) => format!("build it without {}", options(names, "and")),
        Help::PlanFirst => voice.plan_first(),
        Help::Do(clause) => (*clause).to_owned(),
        Help::NameIt(name) => format!("name it {name}"),
        Help::DoWith(clause, names) => format!("{clause} with {}", given(names, "and")),
        Help::GiveTo(option, purpose) => {
            format!("give {} to {purpose}", given(std::slice::from_ref(option), "or"))
        }
        Help::GiveFor(options, purpose) => format!("give {} to {purpose}", given(options, "and")),
        Help::GiveIf(case, names) => format!("{case}, give {}", given(names, "or")),
        Help::Clause(words) => words.iter().map(word).collect(),
    }
}

/// "a, b and c"; clauses that have commas within are kept apart by a comma before the last word, too.
fn listed(parts: &[String], last: &str, clauses: bool) -> Option<String> {
    let (end, before) = parts.split_last()?;
    if before.is_empty() {
        return Some(end.clone());
    }
    let comma = if clauses { "," } else { "" };
    Some(format!("{}{comma} {last} {end}", before.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("the keys of each group share a total size")]
    struct Shared;

    impl Refusal for Shared {
        fn help(&self) -> Vec<Help> {
            vec![
                Help::leave_out(Opt("keys")),
                Help::GiveOne(vec![Opt("fpr").into(), Opt("bits_per_key").with("N")]),
                Help::Do("build each group by itself"),
            ]
        }
    }

    #[test]
    fn a_refusal_is_known_by_its_type() {
        let why: Box<dyn Refusal> = Shared.into();
        assert!(why.as_a::<Shared>().is_some() && why.as_a::<crate::BadRow>().is_none());
    }

    #[test]
    fn advice_says_what_an_option_is_for_and_when_to_give_it() {
        let purpose = Help::GiveTo(Opt("bad_rows").with("skip"), "leave such rows out");
        let case = Help::GiveIf("if it has columns", vec![Opt("format").with("csv"), Opt("key").into()]);
        assert_eq!(
            advice(&[purpose, case], &Fields).unwrap(),
            "give bad_rows=skip to leave such rows out, or if it has columns, give format=csv or key"
        );
    }

    #[test]
    fn a_clause_of_its_own_has_options_in_it() {
        let words = vec!["let it grow (".into(), Opt("kind").with("scalable").into(), ")".into()];
        assert_eq!(advice(&[Help::Clause(words)], &Fields).unwrap(), "let it grow (kind=scalable)");
    }

    /// Speaks for a front end with few options.
    struct Few;

    impl Voice for Few {
        fn option(&self, option: Opt) -> String {
            Fields.option(option)
        }

        fn with(&self, option: Opt, value: &str) -> String {
            Fields.with(option, value)
        }

        fn plan_first(&self) -> String {
            Fields.plan_first()
        }

        fn has(&self, option: Opt) -> bool {
            ["fpr", "size"].contains(&option.0)
        }
    }

    #[test]
    fn advice_that_cannot_be_followed_is_not_given() {
        assert_eq!(
            say(&Shared, &Few),
            "the keys of each group share a total size: give fpr, or build each group by itself"
        );
        let needs =
            |options: &[&'static str]| Help::Give(options.iter().map(|name| Opt(name).into()).collect());
        assert_eq!(advice(&[needs(&["fpr", "on"])], &Few), None);
        assert_eq!(advice(&[needs(&["fpr", "size"])], &Few).as_deref(), Some("give fpr and size"));
        assert_eq!(advice(&[Help::leave_out(Opt("on"))], &Few), None);
        assert_eq!(advice(&[Help::Clause(vec!["let it ".into(), Opt("on").into()])], &Few), None);
    }

    #[test]
    fn a_refusal_is_said_in_the_words_of_whoever_speaks() {
        assert_eq!(
            say(&Shared, &Fields),
            "the keys of each group share a total size: leave out keys, give fpr or bits_per_key=N, or build \
             each group by itself"
        );
    }
}
