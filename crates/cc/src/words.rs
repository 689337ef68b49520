//! Nearest known word to a mistyped one, for messages.

/// Longest list of words that a message names.
const LONGEST_LIST: usize = 16;

/// End of a message about an unknown word: `did you mean 'cubic'?`, or the allowed words if no known word is near.
#[must_use]
pub fn hint(word: &str, known: &[&str]) -> String {
    match nearest(word, known) {
        Some(near) => format!("did you mean '{near}'?"),
        None if known.len() > LONGEST_LIST => format!("{} are allowed", known.len()),
        None => format!("allowed: {}", known.join(", ")),
    }
}

/// The known word nearest to `word`. Up to a third of the letters may differ, and one letter in words of fewer than six
/// letters. Case is ignored, and `-`, `_` and a space are equal.
fn nearest<'a>(word: &str, known: &[&'a str]) -> Option<&'a str> {
    let plain = |text: &str| -> Vec<char> {
        text.chars().flat_map(char::to_lowercase).map(|c| if c == '-' || c == ' ' { '_' } else { c }).collect()
    };
    let meant = plain(word);
    let near = known.iter().filter_map(|candidate| {
        let letters = plain(candidate);
        let allowed = (meant.len().min(letters.len()) / 3).max(1);
        let far = meant.len().abs_diff(letters.len());
        if far > allowed {
            return None;
        }
        let edits = distance(&meant, &letters);
        (edits <= allowed).then_some((edits, far, *candidate))
    });
    let begun =
        || known.iter().filter(|candidate| meant.len() > 2 && plain(candidate).starts_with(&meant)).min().copied();
    near.min().map(|(_, _, candidate)| candidate).or_else(begun)
}

/// Number of edits (insert, delete, replace, swap two neighbors) between two words: their optimal string alignment
/// distance.
fn distance(left: &[char], right: &[char]) -> usize {
    let mut before: Vec<usize> = Vec::new();
    let mut above: Vec<usize> = (0..=right.len()).collect();
    for (i, a) in left.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, b) in right.iter().enumerate() {
            let mut cost = (above[j + 1] + 1).min(row[j] + 1).min(above[j] + usize::from(a != b));
            if i > 0 && j > 0 && *a == right[j - 1] && left[i - 1] == *b {
                cost = cost.min(before[j - 1] + 1);
            }
            row.push(cost);
        }
        before = std::mem::replace(&mut above, row);
    }
    above[right.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_word_has_few_edits_or_begins_so() {
        let known = ["target", "interval", "ecn", "limit_packets"];
        for (word, near) in
            [("taget", "target"), ("Interval", "interval"), ("tagret", "target"), ("limit", "limit_packets")]
        {
            assert_eq!(nearest(word, &known), Some(near));
        }
        assert_eq!(nearest("quantum", &known), None);
        assert_eq!(hint("quantum", &known), "allowed: target, interval, ecn, limit_packets");
        assert_eq!(hint("quantum", &["x"; 17]), "17 are allowed");
    }

    #[test]
    fn a_swap_of_neighbors_is_one_edit() {
        let letters = |word: &str| word.chars().collect::<Vec<_>>();
        for (left, right, edits) in [("abcd", "abdc", 1), ("abc", "", 3), ("kitten", "sitting", 3), ("ca", "abc", 3)] {
            assert_eq!(distance(&letters(left), &letters(right)), edits);
        }
    }
}
