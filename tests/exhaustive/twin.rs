//! The naive twin of the core. It keeps nothing but the history, and answers every question by reading all of it again.
//!
//! It says what the specification demands, in the order of the specification: who may report ([`writers`]), what is held
//! and for which commit user ([`entries`]), what is due ([`commits`]), and from all that what is to be said to one event.
#![allow(
    clippy::wildcard_enum_match_arm,
    reason = "each question to a history is about a few kinds of events"
)]

use std::hash::{Hash, Hasher};

use paimon_writer_coordinator::coordinator::command::{Answer, Timer};
use paimon_writer_coordinator::error::ErrorKind;
use paimon_writer_coordinator::settings::Settings;

use crate::rows::Written;
use crate::told::{Attempt, Question, Remembered, Said, Step, Told, sorted};

mod commits;
mod entries;
mod writers;

/// Reads a history, or the beginning of one.
#[derive(Clone, Copy)]
pub struct Twin<'a> {
    settings: &'a Settings,
    steps: &'a [Step],
    /// Written down only because so many questions ask for it: see [`Twin::find_restored_at`].
    restored_at: Option<usize>,
}

/// One of the questions to a history that ends with the newest event.
type WhatToSay = dyn Fn(Twin<'_>) -> Vec<Said>;

/// A request that has not been answered.
struct Asked<'a> {
    request: i64,
    from: Attempt,
    question: &'a Question,
}

/// Adds an event to the history, and what is to be said to it.
pub fn tell(settings: &Settings, history: &mut Vec<Step>, told: Told) {
    let counts = Twin::new(settings, history).counts(&told);
    history.push(Step { told, counts, said: Vec::new() });
    // What is said first changes what is true afterwards: one question after the other.
    let questions: [&WhatToSay; 7] = [
        &|twin| twin.opens(),
        &|twin| twin.failure().map(Said::JobFailed).into_iter().collect(),
        &|twin| twin.deletes_tag(),
        &|twin| twin.settles(),
        &|twin| twin.commits().map(Said::Commit).into_iter().collect(),
        &|twin| twin.settled_checkpoints(),
        &|twin| twin.answers(),
    ];
    for question in questions {
        let said = question(Twin::new(settings, history));
        history.last_mut().expect("just added").said.extend(said);
    }
}

impl<'a> Twin<'a> {
    pub fn new(settings: &'a Settings, steps: &'a [Step]) -> Self {
        let twin = Self { settings, steps, restored_at: None };
        Self { restored_at: twin.find_restored_at(), ..twin }
    }

    /// The twin as it was before a step.
    fn before(self, at: usize) -> Self {
        let restored_at = self.restored_at.filter(|&restored_at| restored_at < at);
        Self { steps: &self.steps[..at], restored_at, ..self }
    }

    /// Whether a message counts that comes now: its sender is the current attempt, and if it asks whether it may finish,
    /// its end of input is held.
    fn counts(self, told: &Told) -> bool {
        match told {
            Told::Report { from, .. } | Told::Restore { from, .. } => self.listens_to(*from),
            Told::Ask { from, question: Question::MayFinish { end, .. }, .. } => {
                self.listens_to(*from) && self.is_held(end)
            }
            Told::Ask { from, .. } => self.listens_to(*from),
            _ => true,
        }
    }

    fn last(self) -> &'a Told {
        &self.steps.last().expect("a history that has begun").told
    }

    fn last_counts(self) -> bool {
        self.steps.last().is_some_and(|step| step.counts)
    }

    fn said(self) -> impl DoubleEndedIterator<Item = (usize, &'a Said)> {
        self.steps.iter().enumerate().flat_map(|(at, step)| step.said.iter().map(move |said| (at, said)))
    }

    /// What the restored checkpoint's bytes held.
    fn remembered(self) -> Option<&'a Remembered> {
        self.steps.iter().find_map(|step| match &step.told {
            Told::Begin { remembered, .. } => remembered.as_ref(),
            _ => None,
        })
    }

    fn restored(self) -> Option<i64> {
        self.steps.iter().find_map(|step| match &step.told {
            Told::Begin { restored, .. } => *restored,
            _ => None,
        })
    }

    /// Closed, or failed, which is the same for all that comes afterwards.
    fn is_over(self) -> bool {
        self.steps.iter().any(|step| step.told == Told::Close)
            || self.said().any(|(_, said)| matches!(said, Said::JobFailed(_)))
    }

    /// Commits and takes checkpoints.
    fn is_running(self) -> bool {
        self.restored_at.is_some() && !self.is_over()
    }

    /// The step with which starting or restoring ended: the table has been asked, and if there is something to restore
    /// everybody has told what it restored (h17).
    fn find_restored_at(self) -> Option<usize> {
        let restores = self.remembered().is_some();
        let complete = |twin: Twin<'_>| {
            let opened = twin.steps.iter().any(|step| matches!(step.told, Told::Opened { .. }));
            opened && (!restores || (0..twin.parallelism()).all(|subtask| twin.pieces(subtask).is_some()))
        };
        (1..=self.steps.len())
            .find(|&length| complete(Self { steps: &self.steps[..length], ..self }))
            .map(|length| length - 1)
    }

    fn parallelism(self) -> usize {
        self.settings.parallelism as usize
    }

    fn opens(self) -> Vec<Said> {
        let Told::Begin { remembered, .. } = self.last() else {
            return Vec::new();
        };
        let user = self.users().pop().expect("there is always a commit user");
        vec![Said::Open { user, restored: remembered.is_some() }]
    }

    /// Why the job must fail now, if it must.
    fn failure(self) -> Option<ErrorKind> {
        let earlier = self.before(self.steps.len() - 1);
        if earlier.is_over() {
            return None;
        }
        match self.last() {
            Told::CommitFailed { retryable } => {
                let attempts = self.in_flight().expect("a commit is in flight").attempt;
                (!retryable || attempts > self.settings.commit_retries).then_some(ErrorKind::CommitFailed)
            }
            // The bound on a missing entry is over (s03).
            Told::Fired(Timer::LateEntry) => {
                let gate = self.completed_but_not_committed().first().copied();
                gate.filter(|&gate| !self.missing(gate).is_empty()).map(|_| ErrorKind::MissingEntry)
            }
            Told::Report { entry, .. } if self.last_counts() => earlier.objection_to(entry),
            _ => None,
        }
    }

    /// Checkpoints whose future is neither completed nor failed.
    fn held_checkpoints(self) -> Vec<i64> {
        let settled = |checkpoint: i64| {
            self.said().any(|(_, said)| match said {
                Said::Completed { checkpoint: of, .. } | Said::Declined { checkpoint: of } => {
                    *of == checkpoint
                }
                _ => false,
            })
        };
        let asked = self.steps.iter().filter_map(|step| match step.told {
            Told::Checkpoint(checkpoint) => Some(checkpoint),
            _ => None,
        });
        asked.filter(|&checkpoint| !settled(checkpoint)).collect()
    }

    /// What becomes of the futures that are not settled (s09, s10, s13, h13).
    fn settled_checkpoints(self) -> Vec<Said> {
        let fate = |checkpoint: i64| {
            let given_up = self.last() == &Told::Aborted(checkpoint)
                || matches!(self.last(), Told::Fired(Timer::HeldCheckpoint(future)) if future.0 == checkpoint);
            if given_up || !self.is_running() {
                return Some(Said::Declined { checkpoint });
            }
            let remembered = || Said::Completed { checkpoint, remembered: self.to_remember() };
            (!self.holds_checkpoints()).then(remembered)
        };
        self.held_checkpoints().into_iter().filter_map(fate).collect()
    }

    /// Everything that is not known to be in the table, and what the next coordinator must know about the table (s08).
    fn to_remember(self) -> Remembered {
        let ended = (0..self.parallelism()).filter_map(|subtask| self.ended(subtask));
        Remembered {
            parallelism: self.parallelism(),
            users: self.users(),
            committed_through: self.committed_through(),
            watermark: self.watermark(),
            final_commit_done: self.final_commit_is_done(),
            ended: sorted(ended.map(|(_, writer)| writer).collect()),
            committed_ends: sorted(self.committed_ends()),
            entries: sorted(self.held().into_iter().map(|held| self.entry_to_remember(held)).collect()),
        }
    }

    /// Requests without an answer. A name is free again once its request is answered.
    fn asked(self) -> Vec<Asked<'a>> {
        let answered = |asked_at: usize, name: i64| {
            self.said().any(|(at, said)| {
                at >= asked_at && matches!(said, Said::Answered { request, .. } if *request == name)
            })
        };
        let mut open = Vec::new();
        for (at, step) in self.steps.iter().enumerate() {
            if let Told::Ask { request, from, question } = &step.told
                && !answered(at, *request)
            {
                open.push(Asked { request: *request, from: *from, question });
            }
        }
        open
    }

    fn answers(self) -> Vec<Said> {
        let say = |asked: &Asked<'_>| {
            let held_too_long = matches!(
                self.last(), Told::Fired(Timer::HeldRequest(request)) if request.0 == asked.request);
            let answer = self.answer(asked).or_else(|| {
                held_too_long.then_some(match asked.question {
                    Question::Confirm(_) => Answer::Resend,
                    Question::MayFinish { .. } | Question::MayClose { .. } => Answer::Wait,
                })
            })?;
            let committed_through = self.committed_through();
            Some(Said::Answered { request: asked.request, answer, committed_through })
        };
        self.asked().iter().filter_map(say).collect()
    }

    /// The answer as things stand; none while waiting may still help (h01, h07, h11, h25).
    fn answer(self, asked: &Asked<'_>) -> Option<Answer> {
        if self.is_over() || !self.listens_to(asked.from) {
            return Some(Answer::Rejected);
        }
        match asked.question {
            Question::Confirm(entry) => self.is_held(entry).then_some(Answer::Held),
            Question::MayFinish { end, .. } if !self.is_held(end) => Some(Answer::Resend),
            Question::MayFinish { .. } => {
                let others_go_on = !self.final_commit_has_begun() && !self.final_commit_is_due();
                let go = self.final_commit_is_done() || others_go_on;
                (self.is_running() && go).then_some(Answer::Go)
            }
            Question::MayClose { completed } => {
                (self.is_running() && self.committed_through() >= *completed).then_some(Answer::Go)
            }
        }
    }

    pub fn has_commit_in_flight(self) -> bool {
        self.in_flight().is_some()
    }

    /// Everything on which later answers depend: histories that agree in it need not both be continued.
    pub fn hash_state(self, hasher: &mut impl Hasher) {
        self.held().hash(hasher);
        self.known_completed().hash(hasher);
        self.remembered().hash(hasher);
        let switch = self.switch();
        switch.map(|switch| (switch.restored, switch.all_had_ended, switch.end_is_in_table)).hash(hasher);
        self.users().hash(hasher);
        (self.is_running(), self.is_over(), self.watermark(), self.final_commit_is_done()).hash(hasher);
        (self.committed_through(), self.committed_ends(), self.in_flight()).hash(hasher);
        for order in self.landed() {
            (order.identifier, order.entries.iter().map(Written::key).collect::<Vec<_>>()).hash(hasher);
        }
        for subtask in 0..self.parallelism() {
            (self.ended(subtask), self.is_there(subtask), self.newest_attempt(subtask)).hash(hasher);
            self.pieces(subtask).hash(hasher);
        }
        self.held_checkpoints().hash(hasher);
        for asked in self.asked() {
            (asked.request, asked.from, format!("{:?}", asked.question)).hash(hasher);
        }
    }

    /// Whether these timers must be set. A timer that outlives its coordinator is ignored.
    pub fn sets(self, timers: &[Timer]) -> bool {
        self.is_over() || self.timers() == timers
    }

    /// The timers that must be set.
    pub fn timers(self) -> Vec<Timer> {
        use paimon_writer_coordinator::coordinator::command::{FutureId, RequestId};
        let mut timers: Vec<Timer> = Vec::new();
        if self.waits_for_a_late_entry() {
            timers.push(Timer::LateEntry);
        }
        if self.waits_to_try_again() {
            timers.push(Timer::Retry);
        }
        timers.extend(self.held_checkpoints().into_iter().map(|id| Timer::HeldCheckpoint(FutureId(id))));
        timers.extend(self.asked().iter().map(|asked| Timer::HeldRequest(RequestId(asked.request))));
        sorted(timers)
    }
}
