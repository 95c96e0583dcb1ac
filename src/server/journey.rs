//! Where boards went, from what happened to them, in its order.

use std::collections::{HashMap, HashSet};
use std::os::raw::c_int;

/// The database of a board that was moved, as long as it is not known.
pub const SOME_DB: c_int = -1;

/// A key of one of the server's databases.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Place {
    pub db: c_int,
    pub key: Box<[u8]>,
}

#[derive(Debug)]
pub enum Event {
    Gone(Place),
    /// Something else, maybe a copy of the same board, came to this place.
    Overwritten(Place),
    Renamed(Place, Place),
}

#[derive(Debug, PartialEq, Eq)]
pub enum Fate {
    At(Place),
    Deleted,
    Overwritten,
}

/// The boards that something happened to, by the places they had before.
pub fn journeys(events: Vec<Event>) -> Vec<(Place, Fate)> {
    let mut journeys = Journeys::default();
    for event in events {
        match event {
            Event::Gone(place) => journeys.end(place, Fate::Deleted),
            Event::Overwritten(place) => journeys.end(place, Fate::Overwritten),
            Event::Renamed(from, to) => {
                if from != to {
                    if journeys.arrived.contains_key(&to) {
                        journeys.end(to.clone(), Fate::Overwritten);
                    }
                    journeys.go(from, Fate::At(to));
                }
            }
        }
    }
    journeys.all
}

#[derive(Default)]
struct Journeys {
    all: Vec<(Place, Fate)>,
    /// Which journey has come to a place.
    arrived: HashMap<Place, usize>,
    /// Places whose boards have gone: what is there now, if anything, is not the board of before.
    left: HashSet<Place>,
}

impl Journeys {
    /// Only where a board of before is: an empty place cannot be overwritten.
    fn end(&mut self, place: Place, fate: Fate) {
        if self.arrived.contains_key(&place) || !self.left.contains(&place) {
            self.go(place, fate);
        }
    }

    fn go(&mut self, from: Place, fate: Fate) {
        let journey = self.arrived.remove(&from).unwrap_or_else(|| {
            self.left.insert(from.clone());
            self.all.push((from, Fate::Deleted));
            self.all.len() - 1
        });
        if let Fate::At(to) = &fate {
            self.arrived.insert(to.clone(), journey);
        }
        if let Some((_, known)) = self.all.get_mut(journey) {
            *known = fate;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(name: &str) -> Place {
        Place { db: 0, key: name.as_bytes().into() }
    }

    /// `a>b` a rename, `-a` a deletion, `=a` something else comes.
    fn event(text: &str) -> Event {
        match text.split_once('>') {
            Some((from, to)) => Event::Renamed(place(from), place(to)),
            None if text.starts_with('-') => Event::Gone(place(&text[1..])),
            None => Event::Overwritten(place(&text[1..])),
        }
    }

    fn shown(journeys: Vec<(Place, Fate)>) -> String {
        let name = |place: &Place| String::from_utf8_lossy(&place.key).into_owned();
        let texts = journeys.iter().map(|(from, fate)| match fate {
            Fate::At(to) => format!("{}>{}", name(from), name(to)),
            Fate::Deleted => format!("-{}", name(from)),
            Fate::Overwritten => format!("={}", name(from)),
        });
        texts.collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn boards_are_followed() {
        let cases = [
            ("-a", "-a"),
            ("=a", "=a"),
            ("a>b", "a>b"),
            ("=b a>b", "=b a>b"),
            ("a>a", ""),
            ("a>b b>c", "a>c"),
            ("a>b -b", "-a"),
            ("a>b c>b", "=a c>b"),
            ("a>b =b c>b", "=a c>b"),
            ("p>t q>p t>q", "p>q q>p"),
            ("p>t =p q>p =q t>q", "p>q q>p"),
            ("a>b -a", "a>b"),
            ("-a b>a", "-a b>a"),
        ];
        for (events, expected) in cases {
            let got = shown(journeys(events.split(' ').map(event).collect()));
            let mut got: Vec<&str> = got.split(' ').collect();
            let mut expected: Vec<&str> = expected.split(' ').collect();
            got.sort_unstable();
            expected.sort_unstable();
            assert_eq!(got, expected, "{events}");
        }
    }
}
