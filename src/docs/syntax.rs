//! A one-line notation for a command's arguments, and the tree that `COMMAND DOCS` wants.
//!
//! `word` an argument, `WORD` a token, `[…]` optional, `a|b` one of, `{…}` a block, `…  ...` once or more.
//! A token takes the one argument that follows it inside its brackets: `[KEEP n]`.

/// Named as in `RM_SetCommandInfo`.
#[allow(missing_docs)]
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
#[allow(missing_docs)]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Arg {
    pub name: String,
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
    let open = args.iter().any(|arg| arg.optional || arg.multiple || open_inside(arg));
    if open {
        -least
    } else {
        least
    }
}

fn open_inside(arg: &Arg) -> bool {
    arg.children.iter().any(|child| child.optional || child.multiple || open_inside(child))
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
        match *word {
            "]" | "}" => break,
            "|" => alternatives.push(Vec::new()),
            "..." => {
                if let Some(last) = alternatives.last_mut().and_then(|args| args.last_mut()) {
                    last.multiple = true;
                }
            }
            "[" => {
                let mut arg = one(sequence(words));
                arg.optional = true;
                push(&mut alternatives, arg);
            }
            "{" => {
                let arg = one(sequence(words));
                push(&mut alternatives, arg);
            }
            word => push(&mut alternatives, leaf(word)),
        }
    }
    if alternatives.len() == 1 {
        return alternatives.pop().unwrap_or_default();
    }
    let children: Vec<Arg> = alternatives.into_iter().map(one).collect();
    let name = children.first().map(|child| child.name.clone()).unwrap_or_default();
    vec![Arg { name, kind: ArgType::OneOf, token: None, optional: false, multiple: false, children }]
}

fn push(alternatives: &mut [Vec<Arg>], arg: Arg) {
    if let Some(args) = alternatives.last_mut() {
        args.push(arg);
    }
}

/// Several arguments as one: a token with its value, or a block.
fn one(mut args: Vec<Arg>) -> Arg {
    if let [token, value] = args.as_slice() {
        if token.kind == ArgType::PureToken
            && value.token.is_none()
            && value.kind != ArgType::PureToken
            && !value.optional
        {
            return Arg { token: token.token.clone(), ..value.clone() };
        }
    }
    if args.len() == 1 {
        if let Some(arg) = args.pop() {
            return arg;
        }
    }
    let name = args.first().map(|arg| arg.name.clone()).unwrap_or_default();
    Arg { name, kind: ArgType::Block, token: None, optional: false, multiple: false, children: args }
}

fn leaf(word: &str) -> Arg {
    let is_token = word.chars().all(|c| c.is_ascii_uppercase());
    let kind = match word {
        _ if is_token => ArgType::PureToken,
        "key" | "archive" | "other" | "hash" => ArgType::Key,
        "score" | "delta" | "percentile" => ArgType::Double,
        "ms" => ArgType::UnixTime,
        "n" | "lo" | "hi" | "offset" | "count" | "start" | "stop" | "page" | "size" | "distance" | "nummembers"
        | "cursor" | "limit" => ArgType::Integer,
        _ => ArgType::String,
    };
    let token = is_token.then(|| word.to_owned());
    Arg { name: word.to_ascii_lowercase(), kind, token, optional: false, multiple: false, children: Vec::new() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(args: &[Arg]) -> String {
        args.iter().map(show).collect::<Vec<_>>().join(" ")
    }

    fn show(arg: &Arg) -> String {
        let token = arg.token.as_deref().unwrap_or_default();
        let inner = match arg.kind {
            ArgType::PureToken => token.to_owned(),
            ArgType::OneOf => arg.children.iter().map(show).collect::<Vec<_>>().join("|"),
            ArgType::Block => format!("{{{}}}", shown(&arg.children)),
            _ if token.is_empty() => arg.name.clone(),
            _ => format!("{token} {}", arg.name),
        };
        let more = if arg.multiple { " ..." } else { "" };
        if arg.optional {
            format!("[{inner}{more}]")
        } else {
            format!("{inner}{more}")
        }
    }

    #[test]
    fn trees() {
        let cases = [
            ("key member", "key member", 3),
            ("key [NX|XX] [KEEP n]", "key [NX|XX] [KEEP n]", -2),
            ("key {score ... member} ...", "key {score ... member} ...", -4),
            ("key member [member ...]", "key member [member ...]", -3),
            ("key [min max]", "key [{min max}]", -2),
            ("key [LIMIT offset count]", "key [{LIMIT offset count}]", -2),
            ("key [KEEP n|NOKEEP]", "key [KEEP n|NOKEEP]", -2),
        ];
        for (syntax, tree, count) in cases {
            let args = parse(syntax);
            assert_eq!(shown(&args), tree);
            assert_eq!(arity(&args), count, "{syntax}");
        }
    }
}
