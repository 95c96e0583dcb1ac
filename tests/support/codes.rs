//! Order codes as docs/design.md describes them, read plainly: strings of `0` and `1`, one step after the other. Slow, and
//! written without a look at the module's own code, so that a test which uses it compares two accounts of one format.

const WIDTHS: [usize; 7] = [7, 10, 12, 17, 20, 24, 32];
const TIME_CLASSES: [&str; 4] = ["001", "01", "10", "110"];
const MS_WIDTHS: [usize; 4] = [30, 33, 36, 38];
const S_WIDTHS: [usize; 4] = [20, 25, 27, 31];
const HEAD: usize = 63;
const LATEST: i64 = (1 << 53) - 1;

/// Members lie above this score, marker and index entries at it and below.
pub const TOP_OF_INDEX: f64 = -4.0;

#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    Int,
    Float,
    Bounded(i64, i64),
}

/// How a `coded` board of one schema stores its members.
#[derive(Clone, Debug)]
pub struct Coder {
    /// Of each field, and whether it runs against the first one.
    fields: Vec<(Kind, bool)>,
    /// How many ms a unit of the tie time has, and whether it is complemented.
    clock: Option<(i64, bool)>,
    since: i64,
}

/// A member, as its element has it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Coded {
    /// As `RANK.ADD` takes them.
    pub scores: Vec<String>,
    pub time: Option<i64>,
    pub name: Vec<u8>,
}

pub type Element = (Vec<u8>, f64);

fn bits(number: u64, width: usize) -> String {
    let all = format!("{number:064b}");
    assert!(!all[..64 - width].contains('1'), "{number} has more than {width} bits");
    all[64 - width..].to_string()
}

fn number(bits: &str) -> u64 {
    bits.bytes().fold(0, |number, bit| number << 1 | u64::from(bit == b'1'))
}

fn complement(code: &str) -> String {
    code.chars().map(|bit| if bit == '1' { '0' } else { '1' }).collect()
}

fn base(class: usize) -> u64 {
    WIDTHS[..class].iter().map(|width| 1 << width).sum()
}

fn natural(n: u64) -> Option<String> {
    let class = (0..WIDTHS.len()).find(|class| n < base(class + 1))?;
    Some(bits(class as u64, 3) + &bits(n - base(class), WIDTHS[class]))
}

fn integer(value: i64) -> String {
    let n = if value < 0 { -(i128::from(value)) - 1 } else { i128::from(value) } as u64;
    let body = natural(n).unwrap_or_else(|| "111".to_string() + &bits(n, 63));
    if value < 0 {
        "0".to_string() + &complement(&body)
    } else {
        "1".to_string() + &body
    }
}

/// How many low bits of a double its whole part leaves open.
fn open(whole: u64) -> usize {
    if whole == 0 {
        62
    } else {
        52 - whole.ilog2() as usize
    }
}

fn float(value: f64) -> String {
    if value < 0.0 {
        return complement(&float(-value));
    }
    let value = value.abs();
    if value >= base(7) as f64 {
        return "1111".to_string() + &bits(value.to_bits(), 63);
    }
    let whole = value.floor() as u64;
    let code = "1".to_string() + &natural(whole).expect("below the last class");
    if value == value.floor() {
        return code + "0";
    }
    let quotient = |t: u64| (whole * 1000 + t) as f64 / 1000.0;
    let t = (0..1000).rev().find(|t| quotient(*t) <= value).expect("0 does not exceed it");
    if quotient(t) == value {
        return code + "1" + &bits(t, 10) + "0";
    }
    let open = open(whole);
    code + "1" + &bits(t, 10) + "1" + &bits(value.to_bits() & ((1 << open) - 1), open)
}

fn widths(unit: i64) -> [usize; 4] {
    if unit == 1 {
        MS_WIDTHS
    } else {
        S_WIDTHS
    }
}

fn time(at: i64, since: i64, unit: i64) -> String {
    let distance = at / unit - since / unit;
    if distance < 0 {
        return "000".to_string() + &bits((distance + (1 << 53)) as u64, 53);
    }
    let mut first = 0;
    for (class, width) in TIME_CLASSES.iter().zip(widths(unit)) {
        if distance < first + (1 << width) {
            return class.to_string() + &bits((distance - first) as u64, width);
        }
        first += 1 << width;
    }
    "111".to_string() + &bits(distance as u64, 53)
}

fn bounded_width(lo: i64, hi: i64) -> usize {
    64 - (i128::from(hi) - i128::from(lo)).to_string().parse::<u64>().expect("a width").leading_zeros() as usize
}

/// The score for a number: the doubles in their own order.
pub fn score_of(u: u64) -> f64 {
    if u >= 1 << 63 {
        f64::from_bits(u - (1 << 63) + (1 << 52))
    } else {
        -f64::from_bits((1 << 63) - 1 - u + (1 << 52))
    }
}

/// The number of a score; none for zeros, infinities and subnormal scores.
pub fn number_of(score: f64) -> Option<u64> {
    let magnitude = score.abs().to_bits() as i128 - (1 << 52);
    let u = if score > 0.0 { (1 << 63) + magnitude } else { (1 << 63) - 1 - magnitude };
    (score.is_normal()).then(|| u64::try_from(u).expect("a number of 64 bits"))
}

/// Whether a name is wrapped whatever its code.
pub fn is_special(name: &[u8]) -> bool {
    matches!(name.first(), Some(0..=2))
}

fn groups(tail: &str) -> Vec<u8> {
    let mut padded = tail.to_string();
    while padded.is_empty() || !padded.len().is_multiple_of(7) {
        padded.push('0');
    }
    let mut groups: Vec<u8> =
        padded.as_bytes().chunks(7).map(|group| number(std::str::from_utf8(group).unwrap()) as u8 * 2 + 1).collect();
    *groups.last_mut().expect("at least one group") -= 1;
    groups
}

/// The tail and the name of an element that begins with byte 2.
pub fn split(element: &[u8]) -> Option<(&[u8], &[u8])> {
    let rest = element.strip_prefix(b"\x02")?;
    let last = rest.iter().position(|byte| byte % 2 == 0)?;
    Some(rest.split_at(last + 1))
}

/// The element of a member that is found by its entries.
pub fn wrap(tail: &[u8], name: &[u8]) -> Vec<u8> {
    [b"\x02", tail, name].concat()
}

/// The index entries that lead to an element with this tail.
pub fn entries_of(tail: &[u8], name: &[u8]) -> Vec<Element> {
    let chunks: Vec<&[u8]> = tail.chunks(8).collect();
    let mut entries = Vec::new();
    for (at, chunk) in chunks.iter().enumerate() {
        let mut payload: String = chunk.iter().map(|byte| bits(u64::from(byte / 2), 7)).collect();
        payload += &"0".repeat(56 - payload.len());
        let is_first = u64::from(at == 0) << 60;
        let has_more = u64::from(at + 1 < chunks.len()) << 59;
        let u = (1 << 61) + is_first + has_more + ((chunk.len() as u64 - 1) << 56) + number(&payload);
        entries.push(([&[1, u8::try_from(at).expect("few entries")], name].concat(), score_of(u)));
    }
    entries
}

/// What an element that may be an index entry says: its number, its name, the groups of its tail, whether another follows.
pub fn read_entry(element: &[u8], score: f64) -> Option<(u8, &[u8], Vec<u8>, bool)> {
    let [1, at, name @ ..] = element else { return None };
    let text = bits(number_of(score)?.checked_sub(1 << 61).filter(|rest| *rest < 1 << 61)?, 61);
    let (is_first, has_more, count) = (&text[..1] == "1", &text[1..2] == "1", number(&text[2..5]) as usize + 1);
    let groups: Vec<u8> = (0..8).map(|group| number(&text[5 + group * 7..12 + group * 7]) as u8).collect();
    let is_right = is_first == (*at == 0) && (!has_more || count == 8) && groups[count..].iter().all(|it| *it == 0);
    is_right.then(|| (*at, name, groups[..count].to_vec(), has_more))
}

/// Reads a code from its beginning.
struct Reader<'a>(&'a str);

impl Reader<'_> {
    /// Zeros stand behind the end of every code.
    fn take(&mut self, width: usize, inverted: bool) -> String {
        let (taken, rest) = self.0.split_at(width.min(self.0.len()));
        self.0 = rest;
        let taken = taken.to_string() + &"0".repeat(width - taken.len());
        if inverted {
            complement(&taken)
        } else {
            taken
        }
    }

    fn natural(&mut self, inverted: bool) -> Option<u64> {
        let class = number(&self.take(3, inverted)) as usize;
        let width = *WIDTHS.get(class)?;
        Some(base(class) + number(&self.take(width, inverted)))
    }

    fn integer(&mut self, inverted: bool) -> i64 {
        let negative = self.take(1, inverted) == "0";
        let inverted = inverted != negative;
        let n = self.natural(inverted).unwrap_or_else(|| number(&self.take(63, inverted)));
        if negative {
            -(n as i64) - 1
        } else {
            n as i64
        }
    }

    fn float(&mut self, inverted: bool) -> f64 {
        let negative = self.take(1, inverted) == "0";
        let inverted = inverted != negative;
        let value = match self.natural(inverted) {
            None => f64::from_bits(number(&self.take(63, inverted))),
            Some(whole) if self.take(1, inverted) == "0" => whole as f64,
            Some(whole) => {
                let thousandths = number(&self.take(10, inverted));
                if self.take(1, inverted) == "0" {
                    (whole * 1000 + thousandths) as f64 / 1000.0
                } else {
                    let low = number(&self.take(open(whole), inverted));
                    f64::from_bits((whole as f64).to_bits() >> open(whole) << open(whole) | low)
                }
            }
        };
        if negative {
            -value
        } else {
            value
        }
    }

    fn time(&mut self, since: i64, unit: i64, inverted: bool) -> i64 {
        let mut prefix = self.take(2, inverted);
        if prefix == "00" || prefix == "11" {
            prefix += &self.take(1, inverted);
        }
        let distance = match TIME_CLASSES.iter().position(|class| *class == prefix) {
            Some(class) => {
                let first: i64 = widths(unit)[..class].iter().map(|width| 1 << width).sum();
                first + number(&self.take(widths(unit)[class], inverted)) as i64
            }
            None => number(&self.take(53, inverted)) as i64 - if prefix == "000" { 1 << 53 } else { 0 },
        };
        (since / unit + distance).saturating_mul(unit)
    }
}

impl Coder {
    /// For a schema as `RANK.CREATE` takes it; `SINCE` in it counts, or else this one.
    pub fn new(schema: &str, since: i64) -> Coder {
        let words: Vec<&str> = schema.split_whitespace().collect();
        let mut coder = Coder { fields: Vec::new(), clock: None, since };
        let mut orders = Vec::new();
        let mut at = 0;
        let word = |at: usize| words.get(at).copied().unwrap_or_default();
        let whole = |at: usize| word(at).parse::<i64>().expect("a whole number");
        while at < words.len() {
            match word(at) {
                "FIELD" => {
                    at += 2;
                    let ascending = word(at) == "ASC";
                    at += usize::from(["ASC", "DESC"].contains(&word(at)));
                    let (kind, width) = match word(at) {
                        "INT" => (Kind::Int, 1),
                        "FLOAT" => (Kind::Float, 1),
                        "BITS" => (Kind::Bounded(0, (1 << whole(at + 1)) - 1), 2),
                        "DIGITS" => (Kind::Bounded(0, 10_i64.pow(whole(at + 1) as u32) - 1), 2),
                        "RANGE" => (Kind::Bounded(whole(at + 1), whole(at + 2)), 3),
                        _ => (Kind::Float, 0),
                    };
                    at += width;
                    // The largest range is that of INT.
                    let kind = if kind == Kind::Bounded(i64::MIN, i64::MAX) { Kind::Int } else { kind };
                    orders.push(ascending);
                    coder.fields.push((kind, ascending != orders[0]));
                }
                "TIES" => {
                    let unit = if word(at + 2) == "S" { 1000 } else { 1 };
                    let ascending = word(at + 1) != "LAST";
                    coder.clock = (word(at + 1) != "SHARED").then_some((unit, ascending != orders[0]));
                    at += 2;
                }
                "SINCE" => {
                    coder.since = whole(at + 1);
                    at += 2;
                }
                _ => at += 1,
            }
        }
        coder
    }

    pub fn code<T: AsRef<str>>(&self, scores: &[T], at: i64) -> String {
        let mut code = String::new();
        assert_eq!(scores.len(), self.fields.len());
        for ((kind, inverted), score) in self.fields.iter().zip(scores) {
            let score = score.as_ref();
            let piece = match kind {
                Kind::Int => integer(score.parse().expect("an integer")),
                Kind::Float => float(score.parse::<f64>().expect("a float") + 0.0),
                Kind::Bounded(lo, hi) => {
                    let distance = i128::from(score.parse::<i64>().expect("an integer")) - i128::from(*lo);
                    bits(u64::try_from(distance).expect("in range"), bounded_width(*lo, *hi))
                }
            };
            code += &if *inverted { complement(&piece) } else { piece };
        }
        if let Some((unit, inverted)) = self.clock {
            let piece = time(at, self.since, unit);
            code += &if inverted { complement(&piece) } else { piece };
        }
        code
    }

    /// The element of a member, and its index entries.
    pub fn stored<T: AsRef<str>>(&self, scores: &[T], at: i64, name: &[u8]) -> (Element, Vec<Element>) {
        let code = self.code(scores, at);
        let head = code.chars().chain("0".repeat(HEAD).chars()).take(HEAD).collect::<String>();
        let score = score_of((1 << 62) + number(&head));
        if code.len() <= HEAD && !is_special(name) {
            return ((name.to_vec(), score), Vec::new());
        }
        let tail = groups(code.get(HEAD..).unwrap_or_default());
        ((wrap(&tail, name), score), entries_of(&tail, name))
    }

    /// The member that has this element; none if no member could.
    pub fn decode(&self, element: &[u8], score: f64) -> Option<Coded> {
        let head = number_of(score)?.checked_sub(1 << 62).filter(|head| *head < 1 << 63)?;
        let (tail, name) = if element.first() == Some(&2) { split(element)? } else { (&[][..], element) };
        let code: String = bits(head, HEAD) + &tail.iter().map(|byte| bits(u64::from(byte / 2), 7)).collect::<String>();
        let mut reader = Reader(&code);
        let mut scores = Vec::new();
        for (kind, inverted) in &self.fields {
            scores.push(match *kind {
                Kind::Int => reader.integer(*inverted).to_string(),
                Kind::Float => Some(reader.float(*inverted)).filter(|value| value.is_finite())?.to_string(),
                Kind::Bounded(lo, hi) => {
                    let distance = number(&reader.take(bounded_width(lo, hi), *inverted));
                    let value = i128::from(lo) + i128::from(distance);
                    Some(value).filter(|value| *value <= i128::from(hi))?.to_string()
                }
            });
        }
        let time = self.clock.map(|(unit, inverted)| reader.time(self.since, unit, inverted));
        if time.is_some_and(|time| !(0..=LATEST).contains(&time)) {
            return None;
        }
        let is_same = self.stored(&scores, time.unwrap_or(0), name).0 == (element.to_vec(), score);
        is_same.then(|| Coded { scores, time, name: name.to_vec() })
    }
}

#[test]
fn the_plain_reading_gives_what_the_documents_give() {
    assert_eq!(integer(0), "10000000000");
    assert_eq!(integer(-1), "01111111111");
    assert_eq!(integer(128), "10010000000000");
    assert_eq!(float(0.0), "100000000000");
    assert_eq!(float(1.5), "10000000001101111101000");
    assert_eq!(float(-1.5), complement(&float(1.5)));
    assert_eq!(score_of((1 << 62) - 1), TOP_OF_INDEX);
    let coder = Coder::new("FIELD a INT FIELD b ASC FLOAT TIES FIRST S SINCE 1700000000000", 0);
    for scores in [["5", "0.1"], ["-9223372036854775808", "1e300"], ["9223372036854775807", "-0.3000000000000001"]] {
        for (at, name) in
            [(1_700_000_000_000, &b"a"[..]), (0, b"\x01a"), (LATEST / 1000 * 1000, b""), (1_800_000_000_000, b"\x02")]
        {
            let ((element, score), _) = coder.stored(&scores, at, name);
            let member = coder.decode(&element, score).expect("it decodes");
            assert_eq!((member.time, member.name.as_slice()), (Some(at), name));
            assert_eq!(coder.code(&member.scores, at), coder.code(&scores, at));
        }
    }
}
