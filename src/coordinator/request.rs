//! What writers ask: is my report held, and may I finish?

use bytes::Bytes;

use crate::error::{Error, Result};
use crate::wire::{self, END_OF_INPUT, Request, RequestKind};

use super::Coordinator;
use super::command::{Answer, Command, RequestId, Timer};
use super::phase::Phase;

/// A request that is held until it can be answered.
#[derive(Debug)]
pub(super) struct Asked {
    request: Request,
}

impl Coordinator {
    pub(super) fn request(&mut self, id: RequestId, bytes: Bytes) -> Result<()> {
        let request = match wire::decode_request(bytes)
            .and_then(|request| self.writer_index(request.subtask).map(|_| request))
        {
            Ok(request) => request,
            Err(error) => {
                self.answer(id, Answer::Rejected);
                return Err(Error::new(
                    error.kind,
                    format!("A request came that is not one of ours: {}", error.message),
                ));
            }
        };
        let writer = &self.writers[request.subtask as usize];
        if writer.is_over(request.attempt) {
            self.answer(id, Answer::Rejected);
            return Ok(());
        }
        let undelivered = request.kind == RequestKind::MayFinish { ended: true } && !self.is_held(&request);
        if matches!(request.kind, RequestKind::MayFinish { .. }) && !undelivered {
            // Only a completed checkpoint lets a task end, so whoever asks knows of one.
            self.checkpoint_completed(request.checkpoint_id);
            self.writers[request.subtask as usize].finishing |=
                request.kind == RequestKind::MayFinish { ended: true };
            self.start_due_commit();
        }
        match self.answer_to(&request) {
            Some(answer) => self.answer(id, answer),
            None => {
                let after_millis = self.settings.request_hold_millis;
                let timer = Timer::HeldRequest(id);
                self.commands.push(Command::SetTimer { timer, after_millis });
                self.asked.insert(id, Asked { request });
            }
        }
        Ok(())
    }

    /// The answer as things stand, or `None` while they may still change for the better.
    fn answer_to(&self, request: &Request) -> Option<Answer> {
        match request.kind {
            RequestKind::Confirm => self.is_held(request).then_some(Answer::Held),
            RequestKind::MayFinish { ended: true } if !self.is_held(request) => Some(Answer::Resend),
            RequestKind::MayFinish { ended } => {
                let done = if ended {
                    self.may_finish_after_end()
                } else {
                    self.committed_through >= request.checkpoint_id
                };
                let go = if ended && self.is_unused(request) { Answer::GoUnused } else { Answer::Go };
                (matches!(self.phase, Phase::Running) && done).then_some(go)
            }
        }
    }

    /// Whether what the writer says was dismissed, and so is in no commit that was ever begun (h09). With checkpoints its
    /// files may be in another copy of its entry, so this is never so.
    fn is_unused(&self, request: &Request) -> bool {
        !self.takes_checkpoints()
            && !self.end_of_input_is_fixed(request.incarnation)
            && self.writers[request.subtask as usize].dismissed == Some(request.delivery)
    }

    /// A writer whose input has ended stays only for the final commit: if others go on, they may need its slot.
    fn may_finish_after_end(&self) -> bool {
        self.final_commit_done || !(self.final_commit_has_begun() || self.final_commit_is_due())
    }

    /// Whether the very report that the request means is held, or is in the table.
    fn is_held(&self, request: &Request) -> bool {
        let Request { checkpoint_id, incarnation, .. } = *request;
        if checkpoint_id == END_OF_INPUT || matches!(request.kind, RequestKind::MayFinish { .. }) {
            let slot = self.ledger.slot(self.unit_id(END_OF_INPUT), incarnation);
            return self.end_of_input_is_fixed(incarnation)
                || slot.is_some_and(|slot| slot.delivery == Some(request.delivery))
                || self.writers[request.subtask as usize].dismissed == Some(request.delivery);
        }
        let slot = self.ledger.slot(self.unit_id(checkpoint_id), incarnation);
        slot.is_some_and(|slot| slot.delivery == Some(request.delivery))
            || self.is_in_flight(checkpoint_id, incarnation)
            || self.writers[request.subtask as usize]
                .committed
                .is_some_and(|(writer, through)| writer == incarnation && checkpoint_id <= through)
    }

    /// Answers requests that an event has decided.
    pub(super) fn answer_those_who_wait(&mut self) {
        let decided: Vec<(RequestId, Answer)> = self
            .asked
            .iter()
            .filter_map(|(&id, asked)| self.answer_to(&asked.request).map(|answer| (id, answer)))
            .collect();
        for (id, answer) in decided {
            self.answer_held(id, answer);
        }
    }

    /// Requests of attempts that are over will never be decided.
    pub(super) fn reject_requests_of_the_gone(&mut self, index: usize) {
        let writer = &self.writers[index];
        let is_gone =
            |request: &Request| request.subtask as usize == index && writer.is_over(request.attempt);
        let asked = self.asked.iter().filter(|(_, asked)| is_gone(&asked.request));
        let gone: Vec<RequestId> = asked.map(|(&id, _)| id).collect();
        for id in gone {
            self.answer_held(id, Answer::Rejected);
        }
    }

    pub(super) fn request_held_too_long(&mut self, id: RequestId) {
        if let Some(asked) = self.asked.remove(&id) {
            let answer = match asked.request.kind {
                RequestKind::Confirm => Answer::Resend,
                RequestKind::MayFinish { .. } => Answer::Wait,
            };
            self.answer(id, answer);
        }
    }

    fn answer_held(&mut self, request: RequestId, answer: Answer) {
        self.asked.remove(&request);
        self.commands.push(Command::CancelTimer(Timer::HeldRequest(request)));
        self.answer(request, answer);
    }

    pub(super) fn answer(&mut self, request: RequestId, answer: Answer) {
        let committed_through = self.committed_through;
        self.commands.push(Command::Answer { request, answer, committed_through });
    }
}
