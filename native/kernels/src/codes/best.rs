//! The best few of many scores.

use std::cmp::Ordering;

/// The best few of many scores that come one by one, in the order of their rows.
///
/// Twice as many as wanted are taken in before the worse half goes, so that a score costs one comparison, and those
/// that pass it a constant time in the mean. Scores that tie with the last of the best are kept too, however many: equal
/// rows stay together.
pub struct Best {
    wanted: usize,
    taken: Vec<(usize, f32)>,
    /// The least of the best when the worse half last went; infinite while nothing had to go.
    least: f32,
    /// What had to go, or came later, and has just that score.
    ties: Vec<(usize, f32)>,
}

impl Best {
    /// Of at most `rows` scores keep the best `wanted`, and what ties with the last of them.
    pub fn new(wanted: usize, rows: usize) -> Self {
        let least = if wanted == 0 { f32::INFINITY } else { f32::NEG_INFINITY };
        let wanted = wanted.min(rows);
        Self { wanted, taken: Vec::with_capacity(rows.min(2 * wanted)), least, ties: Vec::new() }
    }

    /// Take a row's score in; rows come in ascending order, and scores are finite.
    pub fn offer(&mut self, row: usize, score: f32) {
        if score < self.least {
            return;
        }
        if score == self.least {
            self.ties.push((row, score));
            return;
        }
        self.taken.push((row, score));
        if self.taken.len() >= 2 * self.wanted {
            self.select();
        }
    }

    fn select(&mut self) {
        if self.taken.len() > self.wanted && self.wanted > 0 {
            let (_, &mut (_, worst), behind) = self.taken.select_nth_unstable_by(self.wanted - 1, better);
            if worst > self.least {
                self.ties.clear();
                self.least = worst;
            }
            self.ties.extend(behind.iter().filter(|(_, score)| *score == worst));
            self.taken.truncate(self.wanted);
        }
    }

    /// The best of all that came and what ties with the last of them, in no order.
    pub fn chosen(mut self) -> Vec<(usize, f32)> {
        self.select();
        self.taken.append(&mut self.ties);
        self.taken
    }
}

/// The higher score first, then the lower row. Scores are finite.
pub fn better(one: &(usize, f32), other: &(usize, f32)) -> Ordering {
    other.1.partial_cmp(&one.1).unwrap_or(Ordering::Equal).then(one.0.cmp(&other.0))
}

#[cfg(test)]
mod tests {
    use super::{better, Best};

    #[test]
    fn what_is_chosen_is_the_beginning_of_all_in_order_to_the_last_that_ties() {
        for rows in [0, 1, 2, 5, 100, 1000] {
            for (wanted, levels) in [(0, 7), (1, 7), (2, 3), (10, 1), (10, 1009), (100, 40), (1000, 5), (usize::MAX, 5)]
            {
                let all: Vec<_> = (0..rows).map(|row| (row, (row * 7919 % 1013 % levels) as f32 - 3.0)).collect();
                let mut best = Best::new(wanted, rows);
                all.iter().for_each(|(row, score)| best.offer(*row, *score));
                let (mut chosen, mut expected) = (best.chosen(), all);
                chosen.sort_unstable_by(better);
                expected.sort_by(better);
                if let Some((_, last)) = wanted.checked_sub(1).and_then(|last| expected.get(last)).copied() {
                    expected.retain(|(_, score)| *score >= last);
                } else {
                    expected.truncate(wanted);
                }
                assert_eq!(chosen, expected, "{rows} {wanted} {levels}");
            }
        }
    }
}
