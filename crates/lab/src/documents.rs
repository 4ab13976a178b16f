//! "Which documents have all of these words?": an index of their words against a linear search, which looks at
//! the words of every document. What the index names and what it should have named: precision and recall.

use std::collections::HashSet;
use std::path::Path;
use std::time::Instant;

use serde_json::{Value, json};
use tamis::key::{Field, Maker, Recipe, TextRule, keywords_of};
use tamis_jobs::locate::{Sought, Wanted};
use tamis_jobs::request::{BuildJob, Keys, Sizes};
use tamis_make::{build, files, number};
use tamis_read::Control;
use tamis_read::error::{Error, Result};
use tamis_report::{Column, Csv, Section, Table, cells};

use crate::Findings;
use crate::distinct::Texts;
use crate::generate::Random;

/// What it is called beside other searches.
pub const NAME: &str = "documents";

/// How the words of documents are made into keywords.
const WORDS: &str = ":words,stop=en,min=3,stem=en";

/// Questions of each number of words.
const QUESTIONS: usize = 200;

/// Words in a question, at most.
const MOST_WORDS: usize = 4;

/// Documents that are taken of a table, at most.
const MOST_DOCUMENTS: usize = 2000;

/// Documents, where no table is at hand: 1,000 of 20 to 400 words, some of which are in most of them and most
/// of which are in few.
pub fn generated() -> Texts {
    let (mut random, mut texts) = (Random::new(5), Texts::default());
    for _ in 0..1000 {
        let length = 20 + random.below(381);
        let word = |random: &mut Random| {
            let number = random.below(20_000) * random.below(20_000) / 20_000 * random.below(20_000) / 20_000;
            syllables(number)
        };
        let words: Vec<String> = (0..length).map(|_| word(&mut random)).collect();
        texts.push(words.join(" ").as_bytes());
    }
    texts
}

/// A word for each number.
fn syllables(mut number: u64) -> String {
    const SYLLABLES: [&str; 16] =
        ["ba", "do", "ki", "lu", "me", "no", "pa", "ri", "so", "tu", "va", "wo", "xi", "zu", "ga", "fe"];
    let mut word = String::from("q");
    loop {
        word.push_str(SYLLABLES[(number % 16) as usize]);
        number /= 16;
        if number == 0 {
            return word;
        }
    }
}

/// Questions of one number of words, asked of an index of one rate.
#[derive(Debug, Clone, PartialEq)]
pub struct Asked {
    /// The rate that the index was planned for.
    pub fpr: f64,
    /// Its length in bytes.
    pub bytes: u64,
    /// The words of each question.
    pub words: usize,
    /// Questions.
    pub questions: u64,
    /// Documents that have all words, summed over the questions: those that linear search finds.
    pub relevant: u64,
    /// Documents that the index names.
    pub named: u64,
    /// Documents that it names and that have all words.
    pub right: u64,
    /// Seconds of a question, by linear search.
    pub linear: f64,
    /// Seconds of a question, by the index, on one thread.
    pub index: f64,
}

impl Asked {
    /// Of the documents that are named, the share that has the words.
    pub fn precision(&self) -> f64 {
        self.right as f64 / self.named.max(1) as f64
    }

    /// Of the documents that have the words, the share that is named.
    pub fn recall(&self) -> f64 {
        self.right as f64 / self.relevant.max(1) as f64
    }
}

/// What was measured.
#[derive(Debug, Clone, PartialEq)]
pub struct Documents {
    /// Where the documents come from.
    pub name: String,
    /// How many there are.
    pub documents: u64,
    /// Bytes of their texts.
    pub bytes: u64,
    /// By rate and number of words.
    pub runs: Vec<Asked>,
}

/// Indexes texts as documents in a folder, at this rate and at a hundredth of it, and asks for their words.
pub fn measure(name: String, texts: &Texts, fpr: f64, folder: &Path, control: &Control) -> Result<Documents> {
    let key: Field = WORDS.parse()?;
    let recipe = Recipe { key: vec![key.clone()], ..Recipe::lines() };
    let mut maker = Maker::new(&recipe);
    let home = folder.join("documents");
    std::fs::create_dir_all(&home).map_err(Error::io(&home))?;
    let (mut words, mut bytes): (Vec<HashSet<Vec<u8>>>, u64) = (Vec::new(), 0);
    for text in texts.iter() {
        // A text without words is in no index.
        let Ok(record) = maker.record(&[Some(text)]) else { continue };
        let path = home.join(format!("{:06}.txt", words.len()));
        words.push(keywords_of(record).map(<[u8]>::to_vec).collect());
        std::fs::write(&path, text).map_err(Error::io(&path))?;
        bytes += text.len() as u64;
        if words.len() == MOST_DOCUMENTS {
            break;
        }
    }
    let mut runs = Vec::new();
    for fpr in [fpr, fpr / 100.0] {
        let job = BuildJob {
            inputs: vec![home.display().to_string()],
            keys: Keys {
                key: vec![key.clone()],
                group: Some("(file)".parse()?),
                record: Some(TextRule::ByName),
                ..Keys::default()
            },
            sizes: Sizes { fpr: Some(fpr), ..Sizes::default() },
            ..BuildJob::default()
        };
        let index = folder.join("index.tamis");
        let job = job.resolve().map_err(|why| Error::input(&index, why))?;
        build::build(&job.job, &index, control)?;
        let length = index.metadata().map_err(Error::io(&index))?.len();
        let file = files::open(&index)?;
        for count in 1..=MOST_WORDS {
            let mut asked = Asked {
                fpr,
                bytes: length,
                words: count,
                questions: 0,
                relevant: 0,
                named: 0,
                right: 0,
                linear: 0.0,
                index: 0.0,
            };
            for question in questions(&words, count) {
                control.check()?;
                let start = Instant::now();
                let has = |document: &HashSet<Vec<u8>>| question.iter().all(|word| document.contains(word));
                let relevant: Vec<bool> = words.iter().map(has).collect();
                asked.linear += start.elapsed().as_secs_f64();
                let mut sought = Sought::new(&file)?;
                let start = Instant::now();
                question.iter().for_each(|word| sought.push_key(word));
                let named = sought.locate(Wanted::All, 1, control)?.groups;
                asked.index += start.elapsed().as_secs_f64();
                asked.questions += 1;
                asked.relevant += relevant.iter().filter(|&&relevant| relevant).count() as u64;
                asked.named += named.len() as u64;
                // The names of the documents are in the order of their numbers.
                asked.right += named.iter().filter(|&&group| relevant[group]).count() as u64;
            }
            asked.linear /= asked.questions.max(1) as f64;
            asked.index /= asked.questions.max(1) as f64;
            runs.push(asked);
        }
    }
    Ok(Documents { name, documents: words.len() as u64, bytes, runs })
}

/// Questions of this many words, half of them with all words from one document, half with words of any.
fn questions(documents: &[HashSet<Vec<u8>>], count: usize) -> Vec<Vec<Vec<u8>>> {
    let mut random = Random::new(17 + count as u64);
    let sorted: Vec<Vec<&Vec<u8>>> = documents
        .iter()
        .map(|words| {
            let mut words: Vec<_> = words.iter().collect();
            words.sort_unstable();
            words
        })
        .collect();
    let mut questions = Vec::new();
    for number in 0..QUESTIONS.min(QUESTIONS * documents.len()) {
        let any = |random: &mut Random| &sorted[random.below(sorted.len() as u64) as usize];
        let one = any(&mut random);
        let word = |random: &mut Random| {
            let document = if number % 2 == 0 { one } else { any(random) };
            document[random.below(document.len() as u64) as usize].clone()
        };
        questions.push((0..count).map(|_| word(&mut random)).collect());
    }
    questions
}

impl Documents {
    /// Whether no document was missing in an answer.
    pub fn is_sound(&self) -> bool {
        self.runs.iter().all(|run| run.right == run.relevant)
    }

    /// What was measured, as a table.
    pub fn table(&self) -> Table {
        let names = [
            "words",
            "rate",
            "index",
            "questions",
            "have all words",
            "named",
            "precision",
            "recall",
            "linear search",
            "index search",
        ];
        let row = |run: &Asked| {
            vec![
                run.words.to_string(),
                number::rate(run.fpr),
                number::bytes(run.bytes),
                number::count(run.questions),
                number::count(run.relevant),
                number::count(run.named),
                number::rate(run.precision()),
                number::rate(run.recall()),
                number::seconds(run.linear),
                number::seconds(run.index),
            ]
        };
        Table {
            caption: format!(
                "Documents that have all words: {}, {} with {}",
                self.name,
                number::counted(self.documents, "document"),
                number::bytes(self.bytes)
            ),
            columns: names.map(Column::right).to_vec(),
            rows: self.runs.iter().map(row).collect(),
            notes: vec![WHAT.into()],
        }
    }

    /// The same for programs.
    pub fn json(&self) -> Value {
        let run = |run: &Asked| {
            json!({
                "words": run.words, "fpr": run.fpr, "index_bytes": run.bytes, "questions": run.questions,
                "relevant": run.relevant, "named": run.named, "right": run.right, "precision": run.precision(),
                "recall": run.recall(), "linear_seconds": run.linear, "index_seconds": run.index,
            })
        };
        json!({
            "data_set": self.name, "documents": self.documents, "bytes": self.bytes,
            "runs": self.runs.iter().map(run).collect::<Vec<_>>(),
        })
    }

    /// One line for each rate and number of words.
    fn csv(&self) -> Csv<'static> {
        let columns = [
            "data_set",
            "documents",
            "words",
            "fpr",
            "index_bytes",
            "questions",
            "relevant",
            "named",
            "right",
            "precision",
            "recall",
            "linear_seconds",
            "index_seconds",
        ];
        let row = |run: &Asked| {
            cells![
                self.name.clone(),
                self.documents,
                run.words as u64,
                run.fpr,
                run.bytes,
                run.questions,
                run.relevant,
                run.named,
                run.right,
                run.precision(),
                run.recall(),
                run.linear,
                run.index,
            ]
        };
        Csv::new(columns, self.runs.iter().map(row).collect::<Vec<_>>())
    }

    /// Adds this to what was found of other searches.
    pub fn join(&self, findings: &mut Findings) {
        findings.page.sections.push(Section::Table(self.table()));
        findings.tables.push(self.table());
        findings.more.push((NAME, self.csv()));
        findings.json["documents"] = self.json();
        findings.holds &= self.is_sound();
    }
}

/// How the numbers come about.
const WHAT: &str = "Each document is a file, indexed as one record of its words, a blocked filter each. Half of the \
questions take their words from one document, half from any. Linear search looks at the words of all documents, extracted \
before and in memory as hash tables; the index is searched on one thread.";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_index_misses_no_document_and_a_lower_rate_is_more_precise() {
        let folder = tempfile::tempdir().unwrap();
        let mut texts = Texts::default();
        generated().iter().take(60).for_each(|text| texts.push(text));
        texts.push(b"the of and"); // no word is left of it
        let found = measure("some".into(), &texts, 0.05, folder.path(), &Control::default()).unwrap();
        assert_eq!((found.documents, found.runs.len()), (60, 2 * MOST_WORDS));
        assert!(found.is_sound());
        for run in &found.runs {
            assert_eq!(run.recall(), 1.0);
            assert!(run.named >= run.right && run.relevant > 0);
        }
        let (coarse, fine) = (&found.runs[0], &found.runs[MOST_WORDS]);
        assert_eq!((coarse.words, fine.words), (1, 1));
        assert!(coarse.precision() <= fine.precision());
        assert!(fine.precision() > 0.9, "{fine:?}");
        let mut csv = Vec::new();
        found.csv().write(&mut csv).unwrap();
        assert_eq!(String::from_utf8(csv).unwrap().lines().count(), 1 + found.runs.len());
    }
}
