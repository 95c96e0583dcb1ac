//! Trees of arguments.

use super::*;

fn shown(args: &[Argument]) -> String {
    args.iter().map(show).collect::<Vec<_>>().join(" ")
}

fn show(arg: &Argument) -> String {
    let name = if arg.name.is_empty() { "?" } else { &arg.name };
    let inner = match arg.kind {
        ArgType::PureToken => String::new(),
        ArgType::OneOf => format!("({})", arg.children.iter().map(show).collect::<Vec<_>>().join("|")),
        ArgType::Block => format!("{{{}}}", shown(&arg.children)),
        _ => arg.display.as_ref().map_or(String::new(), |display| format!("({display})")),
    };
    let token = arg.token.as_ref().map_or(String::new(), |token| format!("{token}="));
    let flags = [if arg.optional { "?" } else { "" }, if arg.multiple { "..." } else { "" }].concat();
    format!("{token}{name}{inner}{flags}")
}

#[test]
fn trees() {
    let cases = [
        ("key member", "key member", 3),
        ("key [KEEP keep:n]", "key KEEP=keep(n)?", -2),
        ("key condition:[NX|XX]", "key condition(NX=nx|XX=xx)?", -2),
        ("key entry:{score ... member} ...", "key entry{score... member}...", -4),
        ("key member ...", "key member...", -3),
        ("key range:[min max]", "key range{min max}?", -2),
        ("key [LIMIT offset count]", "key LIMIT=limit{offset count}?", -2),
        ("key bound:[KEEP keep:n|NOKEEP]", "key bound(KEEP=keep(n)|NOKEEP=nokeep)?", -2),
        ("key [DATA hash [OWNED]]", "key DATA=data{hash OWNED=owned?}?", -2),
        ("key type:{INT|BITS bits:n|RANGE lo hi}", "key type(INT=int|BITS=bits(n)|RANGE=range{lo hi})", -3),
        ("key [TIES ties:{SHARED|LAST}]", "key TIES=ties(SHARED=shared|LAST=last)?", -2),
        ("key x:[WITHRANK [PERIOD unit]]", "key x{WITHRANK=withrank PERIOD=unit?}?", -2),
        // Without names.
        ("key {limit window|rule} ...", "key ?(?{limit window}|rule)...", -3),
    ];
    for (syntax, tree, count) in cases {
        let args = parse(syntax);
        assert_eq!(shown(&args), tree);
        assert_eq!(arity(&args), count, "{syntax}");
    }
}
