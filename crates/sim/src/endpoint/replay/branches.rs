//! Several senders that follow a capture with different random numbers.

use elephan_cc::Controller;

use super::follower::Follower;
use super::script::{Followed, Script};

/// Fewest and most senders that follow a capture together, if the algorithm draws random numbers: a number that few draws
/// give, as that of a rare back-off, needs many of them.
const FEWEST: usize = 16;
const MOST: usize = 256;

/// Senders that follow a capture with different random numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Guesses {
    /// Fewest guesses, which show if the algorithm may be that of the capture.
    Few,
    /// Guesses up to a bound of the work.
    Many,
}

/// Events of all senders together, which bounds the time for a long capture.
const WORK: usize = 16_000_000;

/// Number of events after which the senders that depart most from the capture are replaced.
const STRETCH: usize = 24;

/// Share of a stretch's score that counts in the next one: a random number may show only later.
const MEMORY: f64 = 0.5;

/// Follows a capture with several senders, and returns what the best one did.
pub(super) fn follow_in_branches(script: &Script, algorithm: &Controller, guesses: Guesses) -> Followed {
    let mut seed = 0;
    let count = match guesses {
        Guesses::Few => FEWEST,
        Guesses::Many => (WORK / script.events.len().max(1)).clamp(FEWEST, MOST),
    };
    let mut branches: Vec<Branch> = (0..count).map(|_| Branch::new(script, algorithm.clone(), &mut seed)).collect();
    let mut pieces: Vec<Piece> = Vec::new();
    for events in script.events.chunks(STRETCH) {
        for branch in &mut branches {
            events.iter().for_each(|event| branch.follower.advance(event));
            branch.end_stretch(&mut pieces);
        }
        branches.sort_by(|a, b| b.score.total_cmp(&a.score));
        let (best, worst) = branches.split_at_mut(count.div_ceil(2));
        for (worst, best) in worst.iter_mut().zip(best) {
            release(&mut pieces, worst.piece);
            *worst = best.clone();
            if let Some(piece) = worst.piece {
                pieces[piece].uses += 1;
            }
            worst.follower.draw_anew(&mut seed);
        }
    }
    for branch in &mut branches {
        branch.follower.finish();
        branch.end_stretch(&mut pieces);
    }
    let mut next = branches.first().and_then(|best| best.piece);
    let mut line = Vec::new();
    while let Some(piece) = next {
        line.push(piece);
        next = pieces[piece].before;
    }
    let mut followed = Followed::default();
    for piece in line.into_iter().rev() {
        followed.append(&mut pieces[piece].followed);
    }
    followed.complete(script.segments)
}

/// One of several senders that follow a capture with different random numbers.
#[derive(Clone)]
struct Branch {
    follower: Follower,
    /// Agreement with the capture, of which that of the last stretches counts most.
    score: f64,
    /// The last piece of what this sender did.
    piece: Option<usize>,
}

/// Record of a sender in a stretch, and the piece before it.
struct Piece {
    followed: Followed,
    before: Option<usize>,
    /// Senders and later pieces that continue it.
    uses: usize,
}

/// Forgets what nothing continues any more.
fn release(pieces: &mut [Piece], mut piece: Option<usize>) {
    while let Some(place) = piece {
        pieces[place].uses -= 1;
        if pieces[place].uses > 0 {
            return;
        }
        pieces[place].followed = Followed::default();
        piece = pieces[place].before;
    }
}

impl Branch {
    fn new(script: &Script, algorithm: Controller, seed: &mut u64) -> Self {
        let mut follower = Follower::new(script, algorithm);
        follower.draw_anew(seed);
        Self { follower, score: 0.0, piece: None }
    }

    fn end_stretch(&mut self, pieces: &mut Vec<Piece>) {
        self.score = self.score * MEMORY + std::mem::take(&mut self.follower.score);
        pieces.push(Piece { followed: self.follower.take_followed(), before: self.piece, uses: 1 });
        self.piece = Some(pieces.len() - 1);
    }
}

impl Followed {
    fn append(&mut self, next: &mut Self) {
        self.allowed.append(&mut next.allowed);
        self.at.append(&mut next.at);
        self.window.append(&mut next.window);
        self.in_flight.append(&mut next.in_flight);
        self.repeated.append(&mut next.repeated);
    }
}
