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

#[cfg(test)]
mod tests;

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
pub struct Argument {
    pub name: String,
    /// What the reference calls it, where that differs from its name.
    pub display: Option<String>,
    pub kind: ArgType,
    pub token: Option<String>,
    pub optional: bool,
    pub multiple: bool,
    pub children: Vec<Argument>,
}

/// The arguments that a line of syntax describes.
pub fn parse(syntax: &str) -> Vec<Argument> {
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
pub fn arity(args: &[Argument]) -> i32 {
    let least = 1 + least(args);
    if args.iter().any(is_open) {
        -least
    } else {
        least
    }
}

/// Whether it may be written with more arguments or with fewer.
fn is_open(arg: &Argument) -> bool {
    let mut lengths = arg.children.iter().map(least_of);
    let first = lengths.next();
    let uneven = arg.kind == ArgType::OneOf && lengths.any(|length| Some(length) != first);
    arg.optional || arg.multiple || uneven || arg.children.iter().any(is_open)
}

fn least(args: &[Argument]) -> i32 {
    args.iter().filter(|arg| !arg.optional).map(least_of).sum()
}

fn least_of(arg: &Argument) -> i32 {
    let own = i32::from(arg.token.is_some() && arg.kind != ArgType::PureToken);
    own + match arg.kind {
        ArgType::Block => least(&arg.children),
        ArgType::OneOf => arg.children.iter().map(least_of).min().unwrap_or(0),
        _ => 1,
    }
}

/// Reads up to a closing bracket or the end.
fn sequence(words: &mut &[&str]) -> Vec<Argument> {
    let mut alternatives: Vec<Vec<Argument>> = vec![Vec::new()];
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
            "[" => push(&mut alternatives, Argument { optional: true, ..one(sequence(words)) }.named(name)),
            "{" => push(&mut alternatives, one(sequence(words)).named(name)),
            word => push(&mut alternatives, leaf(word).named(name)),
        }
    }
    if alternatives.len() == 1 {
        return alternatives.pop().unwrap_or_default();
    }
    vec![Argument::group(ArgType::OneOf, alternatives.into_iter().map(one).collect())]
}

fn push(alternatives: &mut [Vec<Argument>], arg: Argument) {
    if let Some(args) = alternatives.last_mut() {
        args.push(arg);
    }
}

/// Several arguments as one: a token with its value or values, or a block.
fn one(mut args: Vec<Argument>) -> Argument {
    let begins_with_token = args.first().is_some_and(|arg| arg.kind == ArgType::PureToken);
    let needs_more = args.get(1).is_some_and(|arg| arg.kind != ArgType::PureToken && !arg.optional);
    if begins_with_token && needs_more {
        let token = args.remove(0);
        let value = one(args);
        if value.token.is_none() {
            let name = if value.name.is_empty() { token.name } else { value.name };
            return Argument { token: token.token, name, ..value };
        }
        return Argument::group(ArgType::Block, vec![token, value]);
    }
    match (args.len(), args.pop()) {
        (1, Some(arg)) => arg,
        (_, last) => {
            args.extend(last);
            Argument::group(ArgType::Block, args)
        }
    }
}

impl Argument {
    /// A group, which has no name of its own.
    fn group(kind: ArgType, children: Vec<Argument>) -> Argument {
        Argument { name: String::new(), display: None, kind, token: None, optional: false, multiple: false, children }
    }

    fn named(self, name: Option<&str>) -> Argument {
        let Some(name) = name else { return self };
        let has_value = !matches!(self.kind, ArgType::PureToken | ArgType::OneOf | ArgType::Block);
        let display = if has_value { Some(self.name) } else { None };
        Argument { name: name.to_owned(), display, ..self }
    }
}

fn leaf(word: &str) -> Argument {
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
    Argument { name, display: None, kind, token, optional: false, multiple: false, children: Vec::new() }
}
