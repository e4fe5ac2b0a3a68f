//! Any source as a chat template, on a small budget: a text within it or an error, and never a panic.

#![no_main]

use std::time::{Duration, Instant};

use arbitrary::Arbitrary;
use dragoman_template::{Budget, ChatTemplate, TemplateInput};
use jiter::JsonValue;
use libfuzzer_sys::fuzz_target;

const MESSAGES: &str = r#"[{"role": "system", "content": "Be brief."}, {"role": "user", "content":
    [{"type": "text", "text": " h\u00e9 \ud83d\ude00 "}]}, {"role": "assistant", "content": null, "tool_calls":
    [{"type": "function", "function": {"name": "get", "arguments": {"a": [1, -2.5, true, null], "b": {"c": "d"}}}}]},
    {"role": "tool", "content": "12345678901234567890"}, {"role": "assistant", "content": "bye"}]"#;

/// Pieces of templates. What a target makes of them is mostly no template, and often one.
const PIECES: &[&str] = &[
    "{% for message in messages %}",
    "{% for k, v in x.items() %}",
    "{% endfor %}",
    "{% if loop.first %}",
    "{% elif x %}",
    "{% else %}",
    "{% endif %}",
    "{% set x = ",
    "{% set ns = namespace(a=1, b=[]) %}",
    "{% set ns.a = ns.a + 1 %}",
    "{% macro m(a, b=2) %}",
    "{% endmacro %}",
    "{% generation %}",
    "{% endgeneration %}",
    "{% filter upper %}",
    "{% endfilter %}",
    "{% break %}",
    "{% continue %}",
    "{% set x %}",
    "{% endset %}",
    "{{ m(",
    "{{ ",
    " }}",
    "{%- ",
    " -%}",
    " %}",
    "{# ",
    " #}",
    "{% raw %}",
    "{% endraw %}",
    "messages",
    "messages[0]",
    "message",
    ".content",
    ".role",
    "['content']",
    "x",
    "loop.index",
    "loop.previtem",
    "ns.b",
    "tools",
    "none",
    "true",
    "1",
    "-2",
    "3.5",
    "10**",
    "1e308",
    "'a'",
    "\"é😀\"",
    "[1, 'b']",
    "{'k': 1}",
    "(",
    ")",
    "[",
    "]",
    "[::-1]",
    "[1:]",
    "[-3:9:2]",
    " ~ ",
    " + ",
    " * ",
    " / ",
    " // ",
    " % ",
    " ** ",
    " - ",
    " == ",
    " < ",
    " in ",
    " not in ",
    " and ",
    " or ",
    "not ",
    " if ",
    " else ",
    " is ",
    "defined",
    "string",
    "mapping",
    "divisibleby(3)",
    "|",
    "tojson",
    "tojson(indent=4)",
    "length",
    "join(', ')",
    "trim",
    "upper",
    "title",
    "capitalize",
    "replace('a', 'b')",
    "first",
    "last",
    "list",
    "items",
    "dictsort",
    "sort",
    "groupby('role')",
    "map(attribute='role')",
    "selectattr('role', 'equalto', 'user')",
    "batch(2)",
    "slice(3)",
    "round(2)",
    "int",
    "float",
    "default('d')",
    "indent(4)",
    "string",
    "center(9)",
    "wordcount",
    "sum",
    "unique",
    "reverse",
    "min",
    "urlencode",
    "format(1, 'b')",
    "xmlattr",
    "truncate(5)",
    "wordwrap(3)",
    ".split('e')",
    ".strip()",
    ".startswith('a')",
    ".format(1, a=2)",
    ".join(x)",
    ".zfill(8)",
    ".rsplit(None, 1)",
    ".get('a')",
    ".update({'z': 1})",
    ".append(1)",
    ".pop()",
    "'%s %5.2f %x' % ('a', 1.5, 255)",
    "'{:>8,.2f}'.format(1234.5)",
    "range(",
    "range(9)",
    "dict(a=1)",
    "joiner(', ')",
    "cycler('a', 'b')",
    "raise_exception('e')",
    "strftime_now('%Y %j %')",
    "lipsum()",
    ", ",
    "=",
    "\n",
    " ",
];

#[derive(Debug, Arbitrary)]
enum Piece<'a> {
    Known(u8),
    Text(&'a str),
    Repeated(u8, u8),
}

fn pick(number: u8) -> &'static str {
    PIECES[usize::from(number) % PIECES.len()]
}

fn source(pieces: &[Piece<'_>]) -> String {
    let mut source = String::new();
    for piece in pieces {
        match piece {
            Piece::Known(number) => source.push_str(pick(*number)),
            Piece::Text(text) => source.push_str(text),
            Piece::Repeated(number, count) => source.push_str(&pick(*number).repeat(usize::from(*count))),
        }
    }
    source
}

fuzz_target!(|input: (Vec<Piece>, bool, bool)| {
    let (pieces, add_generation_prompt, continue_final_message) = input;
    let Ok(template) = ChatTemplate::new(&source(&pieces), &[]) else { return };
    let messages = JsonValue::parse(MESSAGES.as_bytes(), false).expect("messages");
    let given = TemplateInput {
        messages: &messages,
        tools: None,
        documents: None,
        add_generation_prompt,
        continue_final_message,
        kwargs: &[],
        now: None,
    };
    let budget = Budget { fuel: 50_000, output_bytes: 1 << 18, time: Duration::from_secs(1) };
    let begin = Instant::now();
    let rendered = template.render(&given, &budget);
    assert!(begin.elapsed() < Duration::from_secs(8), "over the budget's time: {:?}", begin.elapsed());
    if let Ok(rendered) = rendered {
        assert!(rendered.text.len() <= budget.output_bytes, "over the budget's bytes");
        let characters = rendered.text.chars().count();
        for (start, end) in rendered.assistant_spans {
            assert!(start <= end && end <= characters, "{start}..{end} of {characters}");
        }
    }
});
