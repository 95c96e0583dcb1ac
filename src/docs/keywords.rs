//! The upper-case words of a command's syntax line: what the parser of options goes by, so that documentation and parser
//! cannot differ. The table is made when the module is compiled.

#[cfg(test)]
mod tests;

/// The most keywords of a command: each has a bit in a `u64`.
const MOST: usize = 64;

#[derive(Debug)]
pub struct Keywords {
    list: [Keyword; MOST],
    count: usize,
    /// The bits of the keywords of each length, so that few have to be compared with a word.
    of_length: [u64; MOST],
}

#[derive(Clone, Copy, Debug)]
pub struct Keyword {
    pub word: &'static str,
    /// The bit of this keyword.
    pub bit: u64,
    /// The bits of all keywords that cannot be given before it: the alternatives in its brackets, and itself unless the
    /// line says that it may be repeated.
    pub conflicts: u64,
}

impl Keywords {
    /// The keywords of a line in the notation of `syntax`. A word that is there twice counts where it is first.
    pub const fn of(line: &'static str) -> Keywords {
        let text = line.as_bytes();
        let none = Keyword { word: "", bit: 0, conflicts: 0 };
        let mut keywords = Keywords { list: [none; MOST], count: 0, of_length: [0; MOST] };
        // The brackets around each keyword, and which of their alternatives it is in.
        let (mut brackets, mut alternatives) = ([0; MOST], [0; MOST]);
        // Brackets are numbered as they open; 0 is the line itself.
        let (mut open, mut depth, mut last_opened, mut last_closed) = ([0; MOST], 0, 0, 0);
        let (mut current, mut repeats) = ([0; MOST], [false; MOST]);
        let mut at = 0;
        while at < text.len() {
            let mut length = 1;
            match text[at] {
                b'[' | b'{' => {
                    last_opened += 1;
                    depth += 1;
                    open[depth] = last_opened;
                }
                b']' | b'}' => {
                    last_closed = open[depth];
                    depth -= 1;
                }
                b'|' => current[open[depth]] += 1,
                // Dots say that what is before them may be repeated. Words between them and the bracket set this to 0.
                b'.' => repeats[last_closed] = last_closed != 0,
                b'A'..=b'Z' => {
                    while at + length < text.len() && text[at + length].is_ascii_uppercase() {
                        length += 1;
                    }
                    let word = part(text, at, length);
                    if !keywords.has(word.as_bytes()) {
                        brackets[keywords.count] = open[depth];
                        alternatives[keywords.count] = current[open[depth]];
                        keywords.list[keywords.count] = Keyword { word, bit: 1 << keywords.count, conflicts: 0 };
                        keywords.of_length[length] |= 1 << keywords.count;
                        keywords.count += 1;
                    }
                    last_closed = 0;
                }
                b' ' => {}
                _ => last_closed = 0,
            }
            at += length;
        }
        let mut one = 0;
        while one < keywords.count {
            let mut other = 0;
            while other < keywords.count {
                let excludes = brackets[one] == brackets[other] && alternatives[one] != alternatives[other];
                if (excludes || one == other) && !repeats[brackets[one]] {
                    keywords.list[one].conflicts |= keywords.list[other].bit;
                }
                other += 1;
            }
            one += 1;
        }
        keywords
    }

    const fn has(&self, word: &[u8]) -> bool {
        let mut at = 0;
        while at < self.count {
            let known = self.list[at].word.as_bytes();
            let mut same = 0;
            while same < known.len() && same < word.len() && known[same] == word[same] {
                same += 1;
            }
            if same == known.len() && same == word.len() {
                return true;
            }
            at += 1;
        }
        false
    }

    /// The keyword that this word is, in any case of letters.
    #[inline]
    pub fn find(&self, word: &[u8]) -> Option<&Keyword> {
        let mut bits = *self.of_length.get(word.len())?;
        while bits != 0 {
            let keyword = self.list.get(bits.trailing_zeros() as usize)?;
            if keyword.word.as_bytes().eq_ignore_ascii_case(word) {
                return Some(keyword);
            }
            bits &= bits - 1;
        }
        None
    }

    pub fn iter(&self) -> impl Iterator<Item = &Keyword> {
        self.list.iter().take(self.count)
    }
}

const fn part(text: &'static [u8], at: usize, length: usize) -> &'static str {
    match std::str::from_utf8(text.split_at(at).1.split_at(length).0) {
        Ok(word) => word,
        Err(_) => "",
    }
}
