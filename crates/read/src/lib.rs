//! Where rows come from: text (delimited, or one key per line), NDJSON and Parquet, plain or
//! compressed, from files, folders, globs and standard input; and tables in memory.

use std::fmt;
use std::ops::{ControlFlow, Range};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tamis::key::Column;

mod arch;
pub mod calendar;
pub mod canonical;
mod chunks;
mod columns;
pub mod control;
mod cursor;
mod delimited;
mod detect;
pub mod error;
#[doc(hidden)]
pub mod fuzz;
mod input;
mod inputs;
mod lines;
mod message;
mod ndjson;
mod ordered;
mod origin;
pub mod pace;
mod parquet;
mod reader;
pub mod refusal;
pub mod render;
mod scan;
pub mod table;
#[cfg(test)]
mod tests;

pub use arch::text::Places;
pub use control::Control;
pub use error::{Error, Result};
pub use lines::{Fault, Lines, windows};
pub use message::Messages;
#[doc(hidden)]
pub use ndjson::fuzz_ndjson;
pub use ordered::{Next, Position, Sift};
pub use reader::Compression;
pub use table::{Cells, Table};

use chunks::Sizes;
use input::{Input, Understood};
pub use pace::Flow;

/// How the bytes of a file are cut into rows and values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// One key per line.
    Lines,
    /// Values separated by commas (or another delimiter), with RFC 4180 quoting.
    Csv,
    /// Values separated by tabs.
    Tsv,
    /// One JSON object per line.
    Ndjson,
    /// Apache Parquet.
    Parquet,
}

impl Format {
    /// All of them.
    pub const ALL: [Format; 5] = [Format::Lines, Format::Csv, Format::Tsv, Format::Ndjson, Format::Parquet];

    /// Its name in requests.
    pub fn name(self) -> &'static str {
        match self {
            Format::Lines => "lines",
            Format::Csv => "csv",
            Format::Tsv => "tsv",
            Format::Ndjson => "ndjson",
            Format::Parquet => "parquet",
        }
    }

    /// What records of Parquet become, by the name of the file they go to.
    pub fn for_output(path: Option<&Path>) -> Format {
        let plain = path.map(|path| match Compression::of_name(path) {
            Some(_) => path.with_extension(""),
            None => path.to_owned(),
        });
        let extension = plain.and_then(|path| Some(path.extension()?.to_string_lossy().to_lowercase()));
        match extension.as_deref() {
            Some("ndjson" | "jsonl" | "json") => Format::Ndjson,
            Some("tsv" | "tab") => Format::Tsv,
            _ => Format::Csv,
        }
    }
}

/// What the user said about the input; all else is recognised.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// The format, where recognising it would go wrong.
    pub format: Option<Format>,
    /// The delimiter of delimited text.
    pub delimiter: Option<u8>,
    /// Delimited text has no header line.
    pub no_header: bool,
    /// Quotes are ordinary characters.
    pub no_quotes: bool,
}

impl Options {
    /// Whether a value is quoted in this line and does not end in it, where the format is given.
    pub fn leaves_open(&self, line: &[u8]) -> bool {
        let usual = match self.format {
            Some(Format::Csv) => b',',
            Some(Format::Tsv) => b'\t',
            _ => return false,
        };
        let dialect =
            delimited::Dialect { delimiter: self.delimiter.unwrap_or(usual), quotes: !self.no_quotes };
        delimited::cut(line, dialect).open.is_some()
    }
}

/// What takes rows. Each thread has one of its own.
pub trait Sink: Send {
    /// Takes the values of the asked columns, in the asked order; `None` is a null.
    ///
    /// An error names what is wrong with the row; the scan adds file and line, and stops.
    fn row(&mut self, values: &[Option<&[u8]>]) -> Result<(), String>;

    /// The same where it matters where the row stands in the text, with its line end.
    #[inline(always)]
    fn record(&mut self, place: Range<usize>, values: &[Option<&[u8]>]) -> Result<(), String> {
        let _ = place;
        self.row(values)
    }

    /// Takes lines, each of which is a row of one value.
    fn lines(&mut self, mut lines: Lines<'_, '_>) -> Result<(), Fault> {
        lines.try_for_each(|(line, place)| {
            let at = place.start;
            self.record(place, &[Some(line)]).map_err(|message| Fault { at, message })
        })
    }

    /// Hears of a row that has no values to take (too few fields, no JSON object): its place in the
    /// text, with its line end, and why.
    ///
    /// An error stops the scan, as that of [`row`](Self::row) does; without one it goes on with
    /// the next row.
    fn bad_row(&mut self, place: Range<usize>, why: fmt::Arguments<'_>) -> Result<(), String> {
        let _ = place;
        Err(why.to_string())
    }
}

impl Sink for &mut dyn Sink {
    fn row(&mut self, values: &[Option<&[u8]>]) -> Result<(), String> {
        (**self).row(values)
    }

    fn record(&mut self, place: Range<usize>, values: &[Option<&[u8]>]) -> Result<(), String> {
        (**self).record(place, values)
    }

    fn lines(&mut self, lines: Lines<'_, '_>) -> Result<(), Fault> {
        (**self).lines(lines)
    }

    fn bad_row(&mut self, place: Range<usize>, why: fmt::Arguments<'_>) -> Result<(), String> {
        (**self).bad_row(place, why)
    }
}

/// How the records of all inputs are written.
#[derive(Debug, Clone)]
pub struct Form {
    /// Their format: no longer Parquet.
    pub format: Format,
    /// The delimiter of delimited text.
    pub delimiter: u8,
    /// Whether quotes quote.
    pub quotes: bool,
    /// Whether a header names the columns.
    pub header: bool,
    /// The columns, where they have names.
    pub columns: Vec<String>,
    /// What stands before the first record: a byte order mark, a header.
    pub prelude: Vec<u8>,
}

/// How one input was understood.
#[derive(Debug, Clone)]
pub struct Explained {
    /// The file, or `-`.
    pub path: PathBuf,
    /// Its format.
    pub format: Format,
    /// Its compression: gz, zst, bz2 or xz.
    pub compression: Option<&'static str>,
    /// The delimiter of delimited text.
    pub delimiter: Option<u8>,
    /// Whether the first rows told the delimiter, in a file that is called CSV and has no commas.
    pub delimiter_by_look: bool,
    /// Whether the first line names the columns.
    pub header: bool,
    /// The columns there are, where that can be told.
    pub columns: Vec<String>,
}

/// Inputs that were found, opened and recognised.
pub struct Sources {
    inputs: Vec<Input>,
    sizes: Sizes,
    /// Rows in memory, in place of inputs.
    table: Option<table::Asked>,
}

impl fmt::Debug for Sources {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.explain()).finish()
    }
}

fn understand(
    inputs: &[String],
    options: &Options,
    columns: &[Column],
    stdin: impl Fn() -> Flow,
) -> Result<Vec<Understood>> {
    let understand = |path: PathBuf| {
        let stdin = (path.as_os_str() == inputs::STDIN).then(&stdin);
        Input::understand(path, stdin, options, columns)
    };
    inputs::expand(inputs)?.into_iter().map(understand).collect()
}

impl Sources {
    /// Finds the inputs (files, globs, folders, `-`), recognises each, and finds the columns.
    pub fn open(inputs: &[String], options: &Options, columns: &[Column]) -> Result<Sources> {
        Sources::open_with(inputs, options, columns, Flow::stdin)
    }

    fn open_with(
        inputs: &[String],
        options: &Options,
        columns: &[Column],
        stdin: impl Fn() -> Flow,
    ) -> Result<Sources> {
        let inputs = understand(inputs, options, columns, stdin)?
            .into_iter()
            .map(|understood| understood.input)
            .collect::<Result<_>>()?;
        Ok(Sources { inputs, sizes: Sizes::default(), table: None })
    }

    /// A table in memory, in which the columns are found.
    pub fn of_table(table: Arc<dyn Table>, columns: &[Column]) -> Result<Sources> {
        let table = Some(table::Asked::new(table, columns)?);
        Ok(Sources { inputs: Vec::new(), sizes: Sizes::default(), table })
    }

    /// Text in memory, which is understood as a file of this name would be.
    pub fn of_text(name: &Path, text: Vec<u8>, options: &Options, columns: &[Column]) -> Result<Sources> {
        let bytes: reader::Bytes = Box::new(std::io::Cursor::new(text));
        let inputs = vec![Input::open(name.to_owned(), Some(bytes.into()), options, columns)?];
        Ok(Sources { inputs, sizes: Sizes::default(), table: None })
    }

    /// How a text is understood that begins like this; `name` is that of its file. The head ends with a
    /// whole row, or is all there is.
    pub fn understand_text(
        name: &Path,
        head: Vec<u8>,
        options: &Options,
        columns: &[Column],
    ) -> Result<(Explained, Vec<u8>)> {
        let sources = Sources::of_text(name, head, options, columns)?;
        let prelude = sources.prelude(0).to_vec();
        Ok((sources.inputs[0].explained.clone(), prelude))
    }

    /// Finds columns among these names; an error says which is not there, and which are.
    pub fn find_columns(asked: &[Column], names: &[String]) -> Result<Vec<usize>> {
        columns::find(asked, names).map_err(|message| Error::told(format!("the table: {message}")))
    }

    /// Inputs that were found already, some of which are streams of which the bytes are given.
    pub fn of(
        inputs: Vec<(PathBuf, Option<Flow>)>,
        options: &Options,
        columns: &[Column],
    ) -> Result<Sources> {
        let open = |(path, flow)| Input::open(path, flow, options, columns);
        let inputs = inputs.into_iter().map(open).collect::<Result<_>>()?;
        Ok(Sources { inputs, sizes: Sizes::default(), table: None })
    }

    /// The files meant by what the user named, in order.
    pub fn find(inputs: &[String]) -> Result<Vec<PathBuf>> {
        inputs::expand(inputs)
    }

    /// Whether a file or folder of this path lies, or would lie, in a folder that was named, or is
    /// matched by a glob.
    pub fn would_find(inputs: &[String], path: &Path) -> bool {
        inputs::would_find(inputs, path)
    }

    /// What stands before the first row of an input: a byte order mark, a header.
    pub fn prelude(&self, input: usize) -> &[u8] {
        &self.inputs[input].prelude
    }

    /// How the inputs are understood and, if they have the columns, the inputs themselves.
    pub fn look(
        inputs: &[String],
        options: &Options,
        columns: &[Column],
    ) -> Result<(Vec<Explained>, Result<Sources>)> {
        let understood = understand(inputs, options, columns, Flow::stdin)?;
        let explained = understood.iter().map(|understood| understood.explained.clone()).collect();
        let inputs: Result<_> = understood.into_iter().map(|understood| understood.input).collect();
        Ok((explained, inputs.map(|inputs| Sources { inputs, sizes: Sizes::default(), table: None })))
    }

    /// How each input was understood.
    pub fn explain(&self) -> Vec<Explained> {
        self.inputs.iter().map(|input| input.explained.clone()).collect()
    }

    /// Makes sure that the rows can be scanned more than once: standard input is kept in an
    /// unnamed temporary file while it is read the first time.
    pub fn keep(&mut self) {
        self.inputs.iter_mut().for_each(|input| input.origin.keep());
    }

    /// Whether any input is a stream, which may come slowly and never end.
    pub fn are_streams(&self) -> bool {
        self.inputs.iter().any(|input| !input.origin.is_file())
    }

    /// Reads so much at a time; the result does not depend on it.
    pub fn in_chunks_of(&mut self, bytes: usize) {
        self.sizes.chunk = bytes;
    }

    /// Refuses rows that are longer than this.
    pub fn in_rows_of(&mut self, bytes: usize) {
        self.sizes.row = bytes;
    }

    /// How the records of these inputs are written; must be known before they are
    /// [sifted](Self::sift). Records of Parquet become text, in the wanted format or this usual
    /// one; all others stay as they are. Inputs whose records cannot follow each other in one
    /// file are refused.
    pub fn form(&mut self, wanted: Option<Format>, usual: Format) -> Result<Form> {
        let mut forms = Vec::new();
        for input in &mut self.inputs {
            forms.push(input.form(wanted, usual)?);
        }
        let first = forms.remove(0);
        let likeness = |form: &Form| (form.format, form.delimiter, form.header);
        for (form, input) in forms.iter().zip(self.inputs.iter().skip(1)) {
            let same = likeness(form) == likeness(&first) && (!form.header || form.columns == first.columns);
            if !same {
                let message = format!(
                    "its format or its columns are not those of {}: sieve them one after the other",
                    self.inputs[0].path.display()
                );
                return Err(Error::told_of(input.path.clone(), message));
            }
        }
        Ok(first)
    }

    /// Begins an input of plain text at this place, where a row must begin; never before its first.
    pub fn begin_at(&mut self, position: Position) {
        let beginning = &mut self.inputs[position.input].beginning;
        beginning.bytes = beginning.bytes.max(usize::try_from(position.offset).unwrap_or(usize::MAX));
    }

    /// Reads nothing of an input.
    pub fn leave_out(&mut self, input: usize) {
        self.inputs[input].left_out = true;
    }

    /// Gives every record, with its place in the text, to one of the sifters, on as many threads
    /// as there are sifters; what they make of them goes to `take`, in the order of the input.
    pub fn sift<S: Sift>(
        &self,
        sifters: Vec<S>,
        mut take: impl FnMut(Next<'_, S::Batch>) -> Result<ControlFlow<()>> + Send,
        control: &Control,
    ) -> Result<Vec<S>> {
        if let Some(table) = &self.table {
            return table.sift(sifters, &mut take, control);
        }
        ordered::sift(&self.inputs, self.sizes, sifters, &mut take, control)
    }

    /// Gives every row to one of the sinks, on as many threads as there are sinks.
    ///
    /// The error of a row that cannot be used is that of the first such row in the order of the
    /// inputs, whatever the number of threads.
    pub fn scan<S: Sink>(&self, sinks: Vec<S>, control: &Control) -> Result<Vec<S>> {
        if let Some(table) = &self.table {
            return table.scan(sinks, control);
        }
        scan::scan(&self.inputs, self.sizes, sinks, control)
    }

    /// The same by a call for each row that is resolved at run time. [`scan`](Self::scan) compiles all readers
    /// anew for a kind of sink: worth its seconds only where the time per row matters most.
    pub fn scan_dyn<S: Sink>(&self, mut sinks: Vec<S>, control: &Control) -> Result<Vec<S>> {
        self.scan(sinks.iter_mut().map(|sink| sink as &mut dyn Sink).collect(), control)?;
        Ok(sinks)
    }
}
