//! `CoordinatorClient`: a writer asks whether its entries are held, and whether it may finish.

use bytes::Bytes;
use paimon_writer_coordinator::coordinator::command::Answer;

use crate::messages::{Asked, Blocked, ToManager, ToTask};
use crate::support::{MAX, encode_entry, encode_request};
use crate::writer::{Surroundings, Task};

impl Task {
    pub(crate) fn advance_blocked(&mut self, around: &mut Surroundings<'_>) -> bool {
        let Some(asked) = self.asked else {
            self.ask(around);
            return true;
        };
        if let Some((request, answer, committed_through)) = self.replies.pop_front() {
            if request == asked.request {
                self.asked = None;
                self.answered(answer, committed_through);
            }
            return true;
        }
        matches!(self.blocked, Some(Blocked::Finish)) && self.decline()
    }

    /// A task that is closing, or has, takes no barrier any more.
    pub(crate) fn decline(&mut self) -> bool {
        let Some(message) = self.inbox.pop_front() else {
            return false;
        };
        if let ToTask::Trigger { checkpoint_id, .. } = message {
            self.outbox.push_back(ToManager::Decline { checkpoint_id });
        }
        true
    }

    fn ask(&mut self, around: &mut Surroundings<'_>) {
        *around.next_request += 1;
        let request = *around.next_request;
        let bytes = match &self.blocked {
            Some(Blocked::Confirm { position, .. }) => {
                let id = self.unconfirmed[*position];
                let body = encode_entry(&self.own[&id]);
                self.request(1, id, id == MAX, &body)
            }
            Some(Blocked::Finish) => {
                let body = self.own.get(&MAX).map(encode_entry);
                self.request(2, self.last_completed, body.is_some(), &body.unwrap_or_default())
            }
            None => return,
        };
        self.outbox.push_back(ToManager::Request { request, bytes });
        self.asked = Some(Asked { request, lost: false });
    }

    fn request(&self, kind: u8, checkpoint_id: i64, ended: bool, body: &Bytes) -> Bytes {
        let Self { subtask, attempt, incarnation, .. } = *self;
        encode_request(kind, subtask as i32, attempt, incarnation, checkpoint_id, ended, body)
    }

    fn answered(&mut self, answer: Answer, through: i64) {
        let resend = match &mut self.blocked {
            Some(Blocked::Confirm { position, committed_through, .. }) => {
                let id = self.unconfirmed[*position];
                match answer {
                    Answer::Held => {
                        *position += 1;
                        *committed_through = through.max(*committed_through);
                        self.hand_over_if_confirmed();
                        None
                    }
                    Answer::Resend => Some(id),
                    Answer::Rejected | Answer::Go | Answer::GoUnused | Answer::Wait => return self.die(),
                }
            }
            Some(Blocked::Finish) => match answer {
                Answer::Go => return self.finish(),
                Answer::Wait => None,
                Answer::Resend => self.has_ended().then_some(MAX),
                Answer::Rejected | Answer::Held | Answer::GoUnused => return self.die(),
            },
            None => None,
        };
        if let Some(id) = resend {
            self.send_entry(id);
        }
    }
}
