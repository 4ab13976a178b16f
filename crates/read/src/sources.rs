//! Inputs that were found and understood: the door through which jobs read.

use std::fmt;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tamis::about::Classes;
use tamis::key::Column;

use crate::bad_input::BadInput;
use crate::chunks::{LineNumbers, Sizes};
use crate::columns::NoColumn;
use crate::format::{Form, Format};
use crate::input::{Explained, Input, Rows, Understood};
use crate::options::Options;
use crate::pace::Flow;
use crate::reader::Bytes;
use crate::row_ends::RowEnds;
use crate::sink::{Next, Position, Sift, Sink};
use crate::supply::Inputs;
use crate::table::{Asked, InTable, Pieces, Table};
use crate::{Control, Error, Result, chunks, columns, feeder, inputs, named, ordered, remote};

/// Inputs that were found, opened and recognised.
pub struct Sources {
    pub(crate) inputs: Vec<Input>,
    pub(crate) sizes: Sizes,
    /// Rows in memory, in place of inputs.
    pub(crate) table: Option<Asked>,
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
    let paths = inputs::expand(inputs)?;
    if columns.contains(&Column::File) {
        named::refuse_same(&paths)?;
    }
    paths.into_iter().map(understand).collect()
}

impl Sources {
    /// Finds the inputs (files, globs, folders, `-`), recognises each, and finds the columns.
    pub fn open(inputs: &[String], options: &Options, columns: &[Column]) -> Result<Sources> {
        Sources::open_with(inputs, options, columns, Flow::stdin)
    }

    pub(crate) fn open_with(
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
        let table = Some(Asked::new(table, columns)?);
        Ok(Sources { inputs: Vec::new(), sizes: Sizes::default(), table })
    }

    /// The files that these names mean, without opening them; names of nothing bring none. Names of what lies
    /// elsewhere stay what they are: nobody is asked.
    pub fn named(names: &[String]) -> Vec<PathBuf> {
        let expanded = names.iter().map(|name| match remote::is_remote(Path::new(name)) {
            true => Ok(vec![PathBuf::from(name)]),
            false => inputs::expand(std::slice::from_ref(name)),
        });
        expanded.filter_map(Result::ok).flatten().collect()
    }

    /// Text in memory, which is understood as a file of this name would be.
    pub fn of_text(name: &Path, text: Vec<u8>, options: &Options, columns: &[Column]) -> Result<Sources> {
        let bytes: Bytes = Box::new(std::io::Cursor::new(text));
        let inputs = vec![Input::open(name.to_owned(), Some(bytes.into()), options, columns)?];
        Ok(Sources { inputs, sizes: Sizes::default(), table: None })
    }

    /// How a text is understood that begins like this; `name` is that of its file. The head ends with a
    /// whole row, or is all there is. Its quotes are [watched](Options::watch) for.
    pub fn understand_text(
        name: &Path,
        head: Vec<u8>,
        options: &Options,
        columns: &[Column],
    ) -> Result<(Explained, Vec<u8>)> {
        let text = options.watch.is_some().then(|| head.clone());
        let input = Sources::of_text(name, head, options, columns)?.inputs.remove(0);
        if let (Some(watch), Some(text), Rows::Delimited(dialect, _)) = (&input.watch, text, &input.rows) {
            watch.look(text.get(input.beginning.bytes..).unwrap_or_default(), *dialect);
        }
        Ok((input.explained, input.prelude))
    }

    /// Looks for columns among these names, `(file)` beside them; an error says which is not there, and
    /// which are.
    pub fn find_columns(asked: &[Column], names: &[String]) -> Result<()> {
        let (files, others): (Vec<_>, Vec<_>) =
            asked.iter().cloned().partition(|column| *column == Column::File);
        if !files.is_empty() && names.iter().any(|name| name == "(file)") {
            return Err(InTable::new(NoColumn::FileIsAColumn).into());
        }
        columns::find(&others, names).map_err(InTable::new)?;
        Ok(())
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

    /// The lines beside one of a text file, and that one, with their numbers, as they stand there; of long
    /// ones the beginning. Nothing of what is no regular file.
    pub fn lines_around(path: &Path, line: u64, beside: u64) -> Result<Vec<(u64, Vec<u8>)>> {
        chunks::lines_between(path, line.saturating_sub(beside).max(1), line.saturating_add(beside))
    }

    /// How each input was understood.
    pub fn explain(&self) -> Vec<Explained> {
        self.inputs.iter().map(|input| input.explained.clone()).collect()
    }

    /// The classes of the values of these columns, with which those begin that the inputs were opened for. What
    /// stands in text is text, and so are the numbers of JSON: they are keys as they are written.
    pub fn classes(&self, first: &[Column]) -> Classes {
        if let Some(table) = &self.table {
            return table.classes(first.len());
        }
        let of_rows = first.iter().filter(|column| **column != Column::File).count();
        let names = if of_rows < first.len() { Classes::TEXT } else { Classes::NONE };
        self.inputs.iter().fold(names, |all, input| all.and(input.classes(of_rows)))
    }

    /// Makes sure that the rows can be scanned more than once: standard input is kept in an
    /// unnamed temporary file while it is read the first time.
    pub fn keep(&mut self) {
        self.inputs.iter_mut().for_each(|input| input.origin.keep());
    }

    /// Whether none of the rows comes again: all are streams that are not [kept](Self::keep).
    pub fn come_once(&self) -> bool {
        !self.inputs.is_empty() && self.inputs.iter().all(|input| input.origin.comes_once())
    }

    /// Whether reading rows once more takes much longer than reading as many bytes: where they are packed, or lie
    /// elsewhere.
    pub fn are_dear(&self) -> bool {
        let is_dear = |input: &Input| {
            let packed = input.compression.is_some() || matches!(input.rows, Rows::Parquet(..));
            packed || input.origin.object().is_some()
        };
        self.inputs.iter().any(is_dear)
    }

    /// Whether any input is a stream, which may come slowly and never end.
    pub fn are_streams(&self) -> bool {
        self.inputs.iter().any(|input| !input.origin.is_file())
    }

    /// Reads this many bytes at a time; the result does not depend on it.
    pub fn in_chunks_of(&mut self, bytes: usize) {
        self.sizes.chunk = bytes;
    }

    /// Where the rows of an input of text end, seen from the beginning of a row.
    pub fn row_ends(&self, input: usize) -> RowEnds {
        RowEnds::new(self.inputs[input].dialect())
    }

    /// Takes rows that are longer than this for bad ones.
    pub fn in_rows_of(&mut self, bytes: usize) {
        self.sizes.row = bytes;
    }

    /// The format of the first input.
    pub fn format(&self) -> Option<Format> {
        self.inputs.first().map(|input| input.explained.format)
    }

    /// How the records of these inputs are written; must be known before they are
    /// [sifted](Self::sift). Records of Parquet become text, CSV where nothing else is wanted, or rows of
    /// Parquet; all others stay as they are, or become rows of Parquet. Inputs whose records cannot follow
    /// each other in one file are refused.
    pub fn form(&mut self, wanted: Option<Format>) -> Result<Form> {
        let mut forms = Vec::new();
        for input in &mut self.inputs {
            forms.push(input.form(wanted)?);
        }
        let mut first = forms.remove(0);
        let likeness = |form: &Form| (form.format, form.delimiter, form.header);
        for (form, input) in forms.iter().zip(self.inputs.iter().skip(1)) {
            let same = likeness(form) == likeness(&first) && (!form.header || form.columns == first.columns);
            let types = match (&mut first.schema, &form.schema) {
                (Some(first), Some(schema)) => first.takes(schema),
                _ => true,
            };
            if !same || !types {
                return Err(Error::input(&input.path, BadInput::OtherForm(self.inputs[0].path.clone())));
            }
        }
        Ok(first)
    }

    /// Begins an input of plain text at this place, where a row must begin; never before its first.
    pub fn begin_at(&mut self, position: Position) {
        let beginning = &mut self.inputs[position.input].beginning;
        let bytes = beginning.bytes.max(usize::try_from(position.offset).unwrap_or(usize::MAX));
        beginning.uncounted += bytes - beginning.bytes;
        beginning.bytes = bytes;
    }

    /// Reads nothing of an input.
    pub fn leave_out(&mut self, input: usize) {
        self.inputs[input].left_out = true;
    }

    /// The line ends before the first row of an input.
    pub fn lines_before(&self, input: usize) -> u64 {
        self.inputs[input].beginning.lines
    }

    /// Numbers the lines of an input as one before whose first row these are.
    pub fn count_lines_after(&mut self, input: usize, lines: u64) {
        self.inputs[input].beginning.lines = lines;
    }

    fn pieces<S: Sink>(&self, sinks: &[S]) -> Inputs<'_> {
        let lines = match sinks.iter().any(Sink::sets_aside) {
            true => LineNumbers::Always,
            false => LineNumbers::WhenNeeded,
        };
        Inputs { inputs: &self.inputs, sizes: self.sizes, lines }
    }

    /// Gives every record, with its place in the text, to one of the sifters, on as many threads
    /// as there are sifters; what they make of them goes to `take`, in the order of the input.
    pub fn sift<S: Sift>(
        &self,
        sifters: Vec<S>,
        mut take: impl FnMut(Next<'_, S::Batch>) -> Result<ControlFlow<()>> + Send,
        control: &Control,
    ) -> Result<Vec<S>> {
        match &self.table {
            Some(table) => ordered::sift(&Pieces::of(table), sifters, &mut take, control),
            None => ordered::sift(&self.pieces(&sifters), sifters, &mut take, control),
        }
    }

    /// Gives every row to one of the sinks, on as many threads as there are sinks.
    ///
    /// The error of a row that cannot be used is that of the first such row in the order of the
    /// inputs, whatever the number of threads.
    pub fn scan<S: Sink>(&self, sinks: Vec<S>, control: &Control) -> Result<Vec<S>> {
        match &self.table {
            Some(table) => feeder::scan(&Pieces::of(table), sinks, control),
            None => feeder::scan(&self.pieces(&sinks), sinks, control),
        }
    }

    /// The same by a call for each row that is resolved at run time. [`scan`](Self::scan) compiles all
    /// readers once more for each type of sink: worth its seconds only where the time per row matters most.
    pub fn scan_dyn<S: Sink>(&self, mut sinks: Vec<S>, control: &Control) -> Result<Vec<S>> {
        self.scan_each(sinks.iter_mut().map(|sink| sink as &mut dyn Sink).collect(), control)?;
        Ok(sinks)
    }

    /// Compiled here once, with all readers.
    fn scan_each(&self, sinks: Vec<&mut dyn Sink>, control: &Control) -> Result<()> {
        self.scan(sinks, control).map(drop)
    }
}
