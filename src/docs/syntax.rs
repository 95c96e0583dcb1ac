//! A one-line notation for a command's arguments, and the tree that `COMMAND DOCS` wants.
//!
//! | notation | meaning |
//! |---|---|
//! | `word` | an argument, called `word` |
//! | `WORD` | a token, called `word` |
//! | `[a b]` | an optional part |
//! | `{a b}` | a part |
//! | `a\|b` | a choice |
//! | `a ...` | `a`, once or more |
//! | `name:a` | `a`, but `COMMAND DOCS` calls it `name`: `keep:n`, `condition:[NX\|XX]` |
//!
//! A token belongs to what follows it inside its brackets: `[KEEP n]`, `[LIMIT offset count]`. Such a part is called like
//! its value, or like the token if it has several. A choice, and any other part of several arguments, needs a name.

/// Named as in `RM_SetCommandInfo`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArgType {
    String,
    Integer,
    Double,
    Key,
    UnixTime,
    PureToken,
    OneOf,
    Block,
}

/// An argument, with fields named as in `RM_SetCommandInfo`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Arg {
    pub name: String,
    /// What the reference calls it, where that differs from its name.
    pub display: Option<String>,
    pub kind: ArgType,
    pub token: Option<String>,
    pub optional: bool,
    pub multiple: bool,
    pub children: Vec<Arg>,
}

/// The arguments that a line of syntax describes.
pub fn parse(syntax: &str) -> Vec<Arg> {
    let spaced: String = syntax
        .chars()
        .flat_map(|c| match c {
            '[' | ']' | '{' | '}' | '|' => vec![' ', c, ' '],
            _ => vec![c],
        })
        .collect();
    let words: Vec<&str> = spaced.split_whitespace().collect();
    sequence(&mut words.as_slice())
}

/// As the server counts: the command's name included, negative for "at least".
pub fn arity(args: &[Arg]) -> i32 {
    let least = 1 + least(args);
    if args.iter().any(is_open) {
        -least
    } else {
        least
    }
}

/// Whether it may be written with more arguments or with fewer.
fn is_open(arg: &Arg) -> bool {
    let mut lengths = arg.children.iter().map(least_of);
    let first = lengths.next();
    let uneven = arg.kind == ArgType::OneOf && lengths.any(|length| Some(length) != first);
    arg.optional || arg.multiple || uneven || arg.children.iter().any(is_open)
}

fn least(args: &[Arg]) -> i32 {
    args.iter().filter(|arg| !arg.optional).map(least_of).sum()
}

fn least_of(arg: &Arg) -> i32 {
    let own = i32::from(arg.token.is_some() && arg.kind != ArgType::PureToken);
    own + match arg.kind {
        ArgType::Block => least(&arg.children),
        ArgType::OneOf => arg.children.iter().map(least_of).min().unwrap_or(0),
        _ => 1,
    }
}

/// Reads up to a closing bracket or the end.
fn sequence(words: &mut &[&str]) -> Vec<Arg> {
    let mut alternatives: Vec<Vec<Arg>> = vec![Vec::new()];
    while let Some((word, rest)) = words.split_first() {
        *words = rest;
        let (name, what) = word.split_once(':').map_or((None, *word), |(name, what)| (Some(name), what));
        let what = match (what, words.split_first()) {
            // The name of a group: its bracket is the next word.
            ("", Some((bracket, rest))) => {
                *words = rest;
                *bracket
            }
            _ => what,
        };
        match what {
            "]" | "}" => break,
            "|" => alternatives.push(Vec::new()),
            "..." => {
                if let Some(last) = alternatives.last_mut().and_then(|args| args.last_mut()) {
                    last.multiple = true;
                }
            }
            "[" => push(&mut alternatives, Arg { optional: true, ..one(sequence(words)) }.named(name)),
            "{" => push(&mut alternatives, one(sequence(words)).named(name)),
            word => push(&mut alternatives, leaf(word).named(name)),
        }
    }
    if alternatives.len() == 1 {
        return alternatives.pop().unwrap_or_default();
    }
    vec![Arg::group(ArgType::OneOf, alternatives.into_iter().map(one).collect())]
}

fn push(alternatives: &mut [Vec<Arg>], arg: Arg) {
    if let Some(args) = alternatives.last_mut() {
        args.push(arg);
    }
}

/// Several arguments as one: a token with its value or values, or a block.
fn one(mut args: Vec<Arg>) -> Arg {
    let begins_with_token = args.first().is_some_and(|arg| arg.kind == ArgType::PureToken);
    let needs_more = args.get(1).is_some_and(|arg| arg.kind != ArgType::PureToken && !arg.optional);
    if begins_with_token && needs_more {
        let token = args.remove(0);
        let value = one(args);
        if value.token.is_none() {
            let name = if value.name.is_empty() { token.name } else { value.name };
            return Arg { token: token.token, name, ..value };
        }
        return Arg::group(ArgType::Block, vec![token, value]);
    }
    match (args.len(), args.pop()) {
        (1, Some(arg)) => arg,
        (_, last) => {
            args.extend(last);
            Arg::group(ArgType::Block, args)
        }
    }
}

impl Arg {
    /// A group, which has no name of its own.
    fn group(kind: ArgType, children: Vec<Arg>) -> Arg {
        Arg { name: String::new(), display: None, kind, token: None, optional: false, multiple: false, children }
    }

    fn named(self, name: Option<&str>) -> Arg {
        let Some(name) = name else { return self };
        let has_value = !matches!(self.kind, ArgType::PureToken | ArgType::OneOf | ArgType::Block);
        let display = if has_value { Some(self.name) } else { None };
        Arg { name: name.to_owned(), display, ..self }
    }
}

fn leaf(word: &str) -> Arg {
    let is_token = word.chars().all(|c| c.is_ascii_uppercase());
    let kind = match word {
        _ if is_token => ArgType::PureToken,
        "key" | "archive" | "other" | "hash" => ArgType::Key,
        "score" | "delta" | "percentile" => ArgType::Double,
        "ms" => ArgType::UnixTime,
        "n" | "i" | "lo" | "hi" | "offset" | "count" | "start" | "stop" | "page" | "size" | "distance"
        | "nummembers" | "cursor" | "limit" | "index" | "token" | "numkeys" | "max_burst" | "period" | "quantity" => {
            ArgType::Integer
        }
        _ => ArgType::String,
    };
    let token = is_token.then(|| word.to_owned());
    let name = word.to_ascii_lowercase();
    Arg { name, display: None, kind, token, optional: false, multiple: false, children: Vec::new() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(args: &[Arg]) -> String {
        args.iter().map(show).collect::<Vec<_>>().join(" ")
    }

    fn show(arg: &Arg) -> String {
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
}
