//! Prints notes, and what was said before only as a count: a hundred submissions of one site have the same notes.

use std::collections::BTreeMap;

use super::problems;
use super::terminal::{self, Tone};
use crate::submission::{Code, Fault, Problem};

/// So many files are named with the same note; further ones are counted.
const NAMED: usize = 3;

/// What was said so far.
#[derive(Default)]
pub(super) struct Notes {
    /// How many files each note belongs to, by its code's name and what was found.
    files: BTreeMap<(&'static str, String), (&'static Code, usize)>,
}

impl Notes {
    /// Prints the notes of one file: those that say the same of several places once, with all of the places.
    pub(super) fn say(&mut self, source: &str, notes: &[Problem]) {
        for (note, others) in together(notes) {
            let key = (note.fault.code.name, note.fault.found.to_string());
            let (_, count) = self.files.entry(key).or_insert((note.fault.code, 0));
            *count += 1;
            if *count <= NAMED {
                let mut text = problems::for_people(source, note);
                if !others.is_empty() {
                    text.push_str("\nalso at: ");
                    text.push_str(&super::neutral::text(&others.join(", ")));
                }
                terminal::say(Tone::Warning, &text);
            }
        }
    }

    /// Says how many more files have each of the notes.
    pub(super) fn finish(self) {
        for (code, count) in self.files.into_values() {
            let more = count.saturating_sub(NAMED);
            if more > 0 {
                let them = if more == 1 { "submission has" } else { "submissions have" };
                let text =
                    format!("{more} more {them} the same warning: {} [{code}]", code.summary);
                terminal::say(Tone::Note, &text);
            }
        }
    }
}

/// Notes that say the same, with the pointers of all but the first.
fn together(notes: &[Problem]) -> Vec<(&Problem, Vec<&str>)> {
    let mut told: Vec<(&Problem, Vec<&str>)> = Vec::new();
    for note in notes {
        let same = |fault: &Fault| *fault == note.fault;
        match told.iter_mut().find(|(first, _)| same(&first.fault)) {
            Some((_, others)) => others.push(&note.pointer),
            None => told.push((note, Vec::new())),
        }
    }
    told
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::submission::object::URL_PRIVATE_HOST;

    #[test]
    fn the_same_note_at_several_places_is_one() {
        let note = |found: &'static str, pointer: &str| {
            Fault::new(&URL_PRIVATE_HOST, found, "a", "b").at(pointer, None)
        };
        let notes = [note("x", "/one"), note("y", "/two"), note("x", "/three"), note("x", "/four")];
        let told = together(&notes);
        assert_eq!(told.len(), 2);
        assert_eq!((told[0].0.pointer.as_str(), &told[0].1), ("/one", &vec!["/three", "/four"]));
        assert_eq!((told[1].0.pointer.as_str(), told[1].1.len()), ("/two", 0));
    }
}
