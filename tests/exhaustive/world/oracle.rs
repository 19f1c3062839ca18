//! What must be true of the table, whatever the coordinator does.

use std::collections::HashSet;

use super::World;
use super::action::{Action, Fate, Limits};
use super::task::{Stage, Task};
use crate::rows::{Row, Written};
use crate::told::Remembered;

/// More actions than any job needs to come to its end.
const ACTIONS_TO_THE_END: usize = 80;

impl World {
    fn rows_in_table(&self) -> Vec<Row> {
        let row = |file: &String| {
            let numbers: Vec<u8> = file.split('.').map(|part| part.parse().expect("a row")).collect();
            Row { branch: numbers[0], lane: numbers[1], number: numbers[2] }
        };
        self.table.files().iter().filter(|file| !file.is_empty()).map(row).collect()
    }

    /// No row twice, and all of them once the job has finished.
    pub(super) fn check(&self) {
        let rows = self.rows_in_table();
        let twice = rows.windows(2).find(|pair| pair[0] == pair[1]);
        assert_eq!(twice, None, "a row is in the table twice: {:#?}", self.table.snapshots);
        if self.is_finished() {
            self.check_all_is_there("the job has finished");
        }
    }

    fn check_all_is_there(&self, when: &str) {
        let rows = self.rows_in_table();
        let read = self.job.tasks.iter().flat_map(|task| &task.lanes).flat_map(|lane| &lane.read);
        let kept = self.rows_kept_for_a_resumption();
        let lost: Vec<&Row> = read.filter(|row| !rows.contains(row) && !kept.contains(row)).collect();
        assert!(lost.is_empty(), "{when}, and {lost:?} are not in the table: {:#?}", self.table.snapshots);
    }

    /// What writers wrote last that had ended, of a job that was stopped while others had not: the savepoint holds it, and
    /// it is committed once all have ended. Committing it at once would make the rest look committed (s55).
    fn rows_kept_for_a_resumption(&self) -> Vec<Row> {
        let tasks = &self.job.tasks;
        if !self.has_stopped() || tasks.iter().all(Task::has_ended) {
            return Vec::new();
        }
        let written = tasks.iter().flat_map(|task| task.own.iter().chain(&task.restored)).cloned();
        let stop = self.job.checkpoints.iter().find(|checkpoint| checkpoint.stop);
        let bytes = stop.and_then(|stop| stop.bytes.as_ref());
        let sealed = bytes.map_or(Vec::new(), |bytes| Remembered::decode(bytes).entries);
        let ends = written.chain(sealed.into_iter().map(|(_, entry)| entry)).filter(Written::is_end);
        ends.flat_map(|end| end.rows).collect()
    }

    /// Nothing is committed before its checkpoint has completed, and identifiers ascend.
    pub(super) fn check_commit(&self) {
        let commit = self.machine.commit.as_ref().expect("just handed over");
        for entry in &commit.entries {
            for row in Written::decode(entry).rows {
                let durable = self.job.durable.contains(&row);
                assert!(durable, "{row:?} is committed, and no checkpoint that covers it has completed");
            }
        }
        if commit.attempt == 1 && !commit.entries.is_empty() {
            let latest = self.table.latest_identifier(&commit.commit_user);
            let replayed = self.machine.restores();
            let ascends = latest < Some(commit.identifier);
            assert!(ascends || replayed, "{} follows {latest:?}", commit.identifier);
        }
    }

    /// Brings the job to its end, in one way that Flink could take, or to a state that is known to come to it.
    ///
    /// # Panics
    /// If it does not come to its end, or if the table does not hold every row then.
    pub fn finish(mut self, ends_well: &mut HashSet<u64>) {
        let mut passed = Vec::new();
        for _ in 0..ACTIONS_TO_THE_END {
            // What may still go wrong does not matter here, for nothing does.
            self.job.spent = Limits::default();
            let name = self.name();
            if ends_well.contains(&name) {
                ends_well.extend(passed);
                return;
            }
            passed.push(name);
            match self.next_towards_the_end() {
                Some(action) => self.perform(action),
                None => break,
            }
        }
        let at_end = (0..self.parallelism()).all(|subtask| self.has_finished(subtask));
        assert!(at_end, "the job does not come to its end: {:#?}", self.job);
        self.check_all_is_there("all writers have finished");
        ends_well.extend(passed);
    }

    pub fn next_towards_the_end(&self) -> Option<Action> {
        if (0..self.parallelism()).all(|subtask| self.has_finished(subtask)) {
            return None;
        }
        let actions = self.actions();
        let wanted = |action: &&Action| match action {
            Action::Crash(fate) => self.machine.failed && *fate == Fate::Lost,
            Action::GoBack(_) => self.machine.failed,
            Action::Open
            | Action::Recover(_)
            | Action::Reset(_)
            | Action::Land
            | Action::FireRetry
            | Action::Deliver(_)
            | Action::Done(_)
            | Action::Barrier(_)
            | Action::Complete(_)
            | Action::Ask(_)
            | Action::FireLateEntry => true,
            Action::Trigger
            | Action::TriggerSavepoint
            | Action::TriggerStop
            | Action::LateBarrier(_)
            | Action::Repeat(_)
            | Action::End(_)
            | Action::EndUnheard(_)
            | Action::Fail(_)
            | Action::Abort(_)
            | Action::DoneAgain
            | Action::FailCommit { .. }
            | Action::BreakCommit
            | Action::FireHeldCheckpoint(_)
            | Action::FireHeldRequest(_)
            | Action::Rescale(_)
            | Action::GhostLands => false,
        };
        if let Some(&action) = actions.iter().find(wanted) {
            return Some(action);
        }
        let goes_on = |task: &Task| task.stage == Stage::Running && !task.has_ended() && !task.stopped;
        if let Some(subtask) = self.job.tasks.iter().position(goes_on) {
            return Some(Action::End(subtask));
        }
        self.may_trigger().then_some(Action::Trigger)
    }
}
