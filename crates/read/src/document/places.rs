//! Where the lines of Markdown stand, so that indented code is told from text that continues.

/// The entries of lists and the paragraph that are open where a line begins.
#[derive(Debug, Default)]
pub(super) struct Places {
    /// The columns at which the texts of the open entries begin, each beyond the one before.
    entries: Vec<usize>,
    /// How many quotations the last line stood in.
    quotations: usize,
    paragraph: bool,
}

impl Places {
    /// Whether a line is indented code: four columns or more beyond where text begins in its entry or its
    /// quotation, and not in a paragraph, which an indented line continues. Entries that do not reach as far
    /// as the line are closed.
    pub(super) fn is_code(&mut self, line: &[u8]) -> bool {
        let (mut column, mut begin, mut quotations) = (Column::default(), 0, 0);
        let mut bytes = line.iter().peekable();
        let is_blank = loop {
            match bytes.next() {
                None => break true,
                Some(b'>') if column.0 < self.text_begin(begin, column.0) + 4 => {
                    column.pass(b'>');
                    begin =
                        column.0 + usize::from(bytes.peek().is_some_and(|next| next.is_ascii_whitespace()));
                    quotations += 1;
                }
                Some(blank) if blank.is_ascii_whitespace() => column.pass(*blank),
                Some(_) => break false,
            }
        };
        // A quotation begins a place of its own, whatever stood before it.
        self.paragraph &= !is_blank && quotations <= self.quotations;
        self.quotations = quotations;
        if is_blank {
            return false;
        }
        let indented = column.0 >= self.text_begin(begin, column.0) + 4;
        indented && !self.paragraph
    }

    /// Where text begins that stands at this column: in the innermost entry that reaches so far.
    fn text_begin(&mut self, begin: usize, column: usize) -> usize {
        while self.entries.last().is_some_and(|&entry| entry > column) {
            self.entries.pop();
        }
        self.entries.last().map_or(begin, |&entry| begin.max(entry))
    }

    /// Takes a line of text, which begins with marks of this length: those of entries open them.
    pub(super) fn follow(&mut self, line: &[u8], marks: usize) {
        let mut column = Column::default();
        let mut at = 0;
        while at < marks {
            column.pass(line[at]);
            at += 1;
            let ends_mark = matches!(line[at - 1], b'-' | b'*' | b'+' | b'.' | b')');
            if ends_mark {
                let mut text = column;
                line[at..marks]
                    .iter()
                    .take_while(|byte| byte.is_ascii_whitespace())
                    .for_each(|&blank| text.pass(blank));
                // Code follows the mark where the text is further away.
                let blanks = text.0 - column.0;
                self.entries.push(column.0 + if (1..=4).contains(&blanks) { blanks } else { 1 });
            }
        }
        let is_heading = line[..marks].ends_with(b"#");
        self.paragraph = !is_heading && !line[marks..].trim_ascii().is_empty();
    }

    /// Whether the last line stands in an entry of a list.
    pub(super) fn are_in_list(&self) -> bool {
        !self.entries.is_empty()
    }

    /// Takes a line that is neither text nor empty.
    pub(super) fn end_paragraph(&mut self) {
        self.paragraph = false;
    }
}

/// A column of a line, from 0. A tab goes to the next that is a multiple of four.
#[derive(Debug, Default, Clone, Copy)]
struct Column(usize);

impl Column {
    fn pass(&mut self, byte: u8) {
        self.0 += if byte == b'\t' { 4 - self.0 % 4 } else { 1 };
    }
}
