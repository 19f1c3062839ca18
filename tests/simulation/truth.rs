//! What must be true of the table, told in rows: files come and go, a row must be there once.

use std::collections::BTreeMap;

use crate::support::Table;

/// A source row: its split, and its position there.
pub(crate) type Row = (usize, u32);

/// Which rows are where.
#[derive(Debug, Default)]
pub(crate) struct Truth {
    files: Vec<Vec<Row>>,
    committed: Vec<bool>,
    /// Rows in the table that the job has not gone back behind, and the file of each.
    live: BTreeMap<Row, usize>,
    latest_identifiers: BTreeMap<String, i64>,
    seen_snapshots: usize,
    /// For each split, how many rows the newest completed checkpoint covers.
    pub(crate) covered: Vec<u32>,
}

impl Truth {
    pub(crate) fn new(splits: usize) -> Self {
        Self { covered: vec![0; splits], ..Self::default() }
    }

    /// A new data file; its name is unique.
    pub(crate) fn write_file(&mut self, rows: Vec<Row>) -> String {
        self.files.push(rows);
        self.committed.push(false);
        format!("f{}", self.files.len() - 1)
    }

    fn file(name: &str) -> usize {
        name.strip_prefix('f').and_then(|digits| digits.parse().ok()).expect("a file of this world")
    }

    /// Looks at what is new in the table.
    pub(crate) fn observe(&mut self, table: &Table) {
        for snapshot in &table.snapshots[self.seen_snapshots..] {
            let latest = self.latest_identifiers.entry(snapshot.commit_user.clone()).or_insert(i64::MIN);
            assert!(*latest < snapshot.identifier, "identifiers of one commit user ascend: {snapshot:?}");
            *latest = snapshot.identifier;
            for name in snapshot.files.iter().filter(|name| !name.is_empty()) {
                let file = Self::file(name);
                assert!(!self.committed[file], "file {name} is in the table twice: {snapshot:?}");
                self.committed[file] = true;
                for &row in &self.files[file] {
                    let (split, offset) = row;
                    assert!(
                        offset < self.covered[split],
                        "row {row:?} of {name} was committed before a checkpoint that covers it: {snapshot:?}"
                    );
                    let other = self.live.insert(row, file);
                    assert_eq!(other, None, "row {row:?} of {name} is in the table twice: {snapshot:?}");
                }
            }
        }
        self.seen_snapshots = table.snapshots.len();
    }

    /// The job continues from these offsets. Rows beyond them are written again: if they are in the table, somebody
    /// chose to go back behind what had been committed.
    pub(crate) fn go_back(&mut self, offsets: &[u32], chosen: bool) {
        let beyond = |&(split, offset): &Row| offset >= offsets[split];
        let again: Vec<Row> = self.live.keys().copied().filter(beyond).collect();
        assert!(chosen || again.is_empty(), "rows {again:?} are in the table and will be written again");
        self.live.retain(|row, _| !beyond(row));
        self.covered = offsets.to_vec();
    }

    /// One subtask goes back to these offsets of its splits.
    pub(crate) fn assert_none_beyond(&self, splits: &[(usize, u32)]) {
        for &(split, offset) in splits {
            let again = self.live.range((split, offset)..(split + 1, 0)).next();
            assert_eq!(again, None, "a row is in the table and will be written again");
        }
    }

    /// Whether all rows of this file are in the table, in this file or, after going back, in another.
    pub(crate) fn is_durable(&self, name: &str) -> bool {
        self.files[Self::file(name)].iter().all(|row| self.live.contains_key(row))
    }

    /// All rows before these offsets are in the table, and no others.
    pub(crate) fn assert_complete(&self, offsets: &[u32], may_wait: &[Row], when: &str) {
        for (split, &end) in offsets.iter().enumerate() {
            for offset in 0..end {
                let row = (split, offset);
                let there = self.live.contains_key(&row) || may_wait.contains(&row);
                assert!(there, "{when}: row {row:?} is not in the table");
            }
        }
        let beyond = self.live.keys().find(|&&(split, offset)| offset >= offsets[split]);
        assert_eq!(beyond, None, "{when}: a row is in the table that the job did not get to");
    }

    pub(crate) fn rows_of(&self, name: &str) -> &[Row] {
        &self.files[Self::file(name)]
    }
}
