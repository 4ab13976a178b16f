use super::*;

#[test]
fn a_field_that_is_shown_reads_back_as_itself() {
    for (text, shown) in [
        ("email:trim,lower", "email:trim,lower"),
        ("3:prefix=2", "3:prefix=2"),
        ("+3", "3"),
        ("", "(line)"),
        (":", "(line)"),
        (":before=@", "(line):before=@"),
        ("(line)", "(line)"),
        ("xml:lang:", "xml:lang:"),
        ("xml:lang:upper", "xml:lang:upper"),
        ("::", "::"),
    ] {
        let field: Field = text.parse().unwrap();
        assert_eq!(field.to_string(), shown, "{text}");
        assert_eq!(shown.parse::<Field>().unwrap(), field, "{text}");
    }
}

#[test]
fn a_step_with_an_empty_text_leaves_the_value_as_it_is() {
    for step in [Step::Before(String::new()), Step::After(String::new())] {
        let field = Field { column: Column::Line, steps: vec![step] };
        let recipe = Recipe { key: vec![field], group: None, null: None };
        assert_eq!(Maker::new(&recipe).key(&[Some(b"abc")]).unwrap(), b"abc");
    }
}
