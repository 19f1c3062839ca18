//! A report for people: first what waits of each sink, then which entries that is.

use std::fmt::{Result, Write};

use super::collect::holder;
use super::hints::{checkpoint, named, number_in, numbers, units_named};
use super::report::{Amount, CoordinatorState, EntryState, OperatorName, Report, Sink, Unit};

pub(super) fn render(report: &Report) -> String {
    let mut out = String::new();
    // Writing to memory cannot fail.
    let _ = write_report(&mut out, report);
    out
}

fn write_report(out: &mut String, report: &Report) -> Result {
    match report.checkpoint_id {
        Some(id) => {
            writeln!(
                out,
                "{} {id} in {}",
                report.kind.unwrap_or("checkpoint or savepoint"),
                escaped(&report.path)
            )?;
        }
        None => writeln!(out, "a coordinator's bytes in {}", escaped(&report.path))?,
    }
    write!(out, "{}", count(report.length, "byte"))?;
    if let Some(version) = report.metadata_version {
        let operators = report.sinks.len() + report.other_operators.len();
        write!(
            out,
            ", Flink's metadata version {version}, {}, {} of them a sink of Paimon Writer Coordinator",
            count(operators, "operator"),
            report.sinks.len()
        )?;
    }
    writeln!(out)?;
    for problem in &report.problems {
        writeln!(out, "NOT READ: {}", escaped(problem))?;
    }
    for hint in &report.hints {
        writeln!(out, "hint: {hint}")?;
    }
    for sink in &report.sinks {
        writeln!(out)?;
        write_summary(out, sink)?;
    }
    for sink in &report.sinks {
        write_units(out, sink, report.sinks.len() > 1)?;
    }
    if !report.other_operators.is_empty() {
        writeln!(out, "\nother operators, without state of Paimon Writer Coordinator")?;
        for operator in &report.other_operators {
            writeln!(out, "  {}", escaped(&describe(operator)))?;
        }
    }
    Ok(())
}

fn write_summary(out: &mut String, sink: &Sink) -> Result {
    writeln!(out, "sink {}", escaped(sink.operator.label()))?;
    let mut line = |name: &str, value: &str| writeln!(out, "  {name:<13} {}", escaped(value));
    // Its name is the title.
    line("operator", &describe(&OperatorName { name: None, ..sink.operator.clone() }))?;
    if let Some(state) = &sink.coordinator {
        for (number, user) in state.commit_users.iter().rev().enumerate() {
            let name = if number == 0 { "commit user" } else { "before it" };
            line(name, &format!("{}, generation {}", user.commit_user, user.generation))?;
        }
        line("in the table", &in_the_table(state))?;
        let mut coordinator = format!("{}, {}", entries(state.entries), count(state.length, "byte"));
        if let Some(watermark) = state.watermark {
            write!(coordinator, ", watermark {watermark}")?;
        }
        if let Some(length) = state.committer_state_length {
            write!(coordinator, ", {} of them Paimon's committer's", count(length, "byte"))?;
        }
        line("coordinator", &coordinator)?;
    } else {
        line("coordinator", "no state of it could be read")?;
    }
    if !sink.writers.is_empty() || !sink.missing_writers.is_empty() {
        line("writers", &writers(sink))?;
    }
    line("waiting", &waiting(sink))?;
    for hint in &sink.hints {
        line("hint", hint)?;
    }
    Ok(())
}

fn describe(operator: &OperatorName) -> String {
    let mut text = operator.id.clone().unwrap_or_else(|| "not known".to_owned());
    for part in [&operator.name, &operator.uid].into_iter().flatten() {
        text += ", ";
        text += part;
    }
    text += &format!(", parallelism {}", operator.parallelism);
    if let Some(max) = operator.max_parallelism.filter(|&max| max > 0) {
        text += &format!(" (at most {max})");
    }
    if operator.fully_finished {
        text += ", all subtasks finished";
    }
    text
}

fn in_the_table(state: &CoordinatorState) -> String {
    let mut text = match state.committed_through {
        Some(id) => format!("every checkpoint up to {id}"),
        None => "nothing, as far as the coordinator knew".to_owned(),
    };
    if let Some(id) = state.snapshot_id {
        text += &format!(", newest snapshot {id}");
    }
    if !state.committed_end_of_input.is_empty() {
        text += &format!(", the end of input of {} writers", state.committed_end_of_input.len());
    }
    if state.final_commit_done {
        text += ", the final commit";
    }
    text
}

fn writers(sink: &Sink) -> String {
    let with = |status: &str| -> Vec<u32> {
        let those = sink.writers.iter().filter(|writer| writer.status == status);
        those.map(|writer| writer.subtask).collect()
    };
    let mut parts = Vec::new();
    for status in ["running", "ended", "finished", "unreadable"] {
        let those = with(status);
        if !those.is_empty() {
            parts.push(format!("{} {status} ({})", those.len(), numbers(&those)));
        }
    }
    let missing = &sink.missing_writers;
    if !missing.is_empty() {
        parts.push(format!("{} missing ({})", number_in(missing), named(missing)));
    }
    let held: usize = sink.writers.iter().map(|writer| writer.entries).sum();
    let held = match (held, with("unreadable").is_empty()) {
        (held, true) => entries(held),
        (0, false) => "an unknown number of entries".to_owned(),
        (held, false) => format!("{} and an unknown number more", entries(held)),
    };
    format!("{}; their states hold {held}", parts.join(", "))
}

fn waiting(sink: &Sink) -> String {
    let amount = &sink.waiting;
    let known = if amount.has_files() {
        let units: Vec<&Unit> = sink.units.iter().filter(|unit| !unit.in_table).collect();
        format!(
            "{} of {} with {}, of {}",
            entries(amount.entries),
            count(amount.writers, "writer"),
            files(amount),
            units_named(&units)
        )
    } else if sink.waiting_complete {
        match amount.entries {
            0 => "nothing waits".to_owned(),
            held => format!("nothing waits: the {} in here {} no files", entries(held), plural(held)),
        }
    } else {
        format!("{} with no files", entries(amount.entries))
    };
    if sink.waiting_complete {
        known
    } else {
        format!("at least {known}; there is state that could not be read")
    }
}

fn plural(count: usize) -> &'static str {
    if count == 1 { "has" } else { "have" }
}

fn write_units(out: &mut String, sink: &Sink, several: bool) -> Result {
    for unit in &sink.units {
        writeln!(out)?;
        if several {
            write!(out, "{}, ", escaped(sink.operator.label()))?;
        }
        write_unit(out, unit)?;
    }
    Ok(())
}

fn write_unit(out: &mut String, unit: &Unit) -> Result {
    write!(out, "{}", checkpoint(unit.checkpoint_id))?;
    if unit.savepoint {
        write!(out, " (a savepoint)")?;
    }
    write!(out, ": {} with {}", entries(unit.amount.entries), files(&unit.amount))?;
    if unit.in_table {
        write!(out, ", in the table already")?;
    }
    if let Some(user) = &unit.commit_user {
        write!(out, ", commit user {}", escaped(user))?;
    }
    writeln!(out)?;
    for entry in &unit.entries {
        write_entry(out, entry)?;
    }
    Ok(())
}

fn write_entry(out: &mut String, entry: &EntryState) -> Result {
    match holder(entry) {
        Some(subtask) => write!(out, "  writer {subtask:<3} {}  ", entry.incarnation)?,
        None => write!(out, "  writer ?   {}  ", entry.incarnation)?,
    }
    match &entry.unreadable {
        Some(_) => write!(
            out,
            "{} in {} that cannot be read",
            count(entry.committables as usize, "committable"),
            count(entry.payload_length, "byte")
        )?,
        None => write!(
            out,
            "{}",
            files_of(entry.files.unwrap_or(0), entry.rows.unwrap_or(0), entry.bytes.unwrap_or(0))
        )?,
    }
    write!(out, "; held by {}", holders(entry))?;
    if let Some(after) = entry.ended_after.filter(|&after| after >= 0) {
        write!(out, "; ended after checkpoint {after}")?;
    }
    if let Some(watermark) = entry.watermark {
        write!(out, "; watermark {watermark}")?;
    }
    writeln!(out, "{}", if entry.idle { "; idle" } else { "" })?;
    for file in entry.data_files.iter().flatten() {
        writeln!(
            out,
            "    {}  {}, {}",
            escaped(&file.name),
            count(file.rows as usize, "row"),
            count(file.bytes as usize, "byte")
        )?;
    }
    Ok(())
}

fn holders(entry: &EntryState) -> String {
    let mut holders = Vec::new();
    if entry.in_coordinator {
        holders.push("the coordinator".to_owned());
    }
    if !entry.in_writers.is_empty() {
        holders.push(format!("writer {}", numbers(&entry.in_writers)));
    }
    if entry.sealed {
        return "the coordinator alone (sealed)".to_owned();
    }
    holders.join(" and ")
}

fn entries(number: usize) -> String {
    if number == 1 { "1 entry".to_owned() } else { format!("{} entries", grouped(number)) }
}

fn files(amount: &Amount) -> String {
    let (Some(files), Some(rows), Some(bytes)) = (amount.files, amount.rows, amount.bytes) else {
        return "files not known".to_owned();
    };
    let known = files_of(files, rows, bytes);
    match amount.unreadable_entries {
        0 => known,
        unreadable => format!(
            "{known}, and what {} hold{} that cannot be read",
            entries(unreadable),
            if unreadable == 1 { "s" } else { "" }
        ),
    }
}

fn files_of(files: usize, rows: i64, bytes: i64) -> String {
    if files == 0 {
        return "no files".to_owned();
    }
    format!("{}, {}, {}", count(files, "file"), count(rows as usize, "row"), count(bytes as usize, "byte"))
}

/// A name may hold what moves a terminal's cursor, or turns the direction of the text.
pub(super) fn escaped(text: &str) -> String {
    let mut out = String::new();
    for character in text.chars() {
        match character {
            '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => out.extend(character.escape_unicode()),
            _ if character.is_control() => out.extend(character.escape_default()),
            _ => out.push(character),
        }
    }
    out
}

fn count(number: usize, what: &str) -> String {
    format!("{} {what}{}", grouped(number), if number == 1 { "" } else { "s" })
}

/// 1234567 as "1,234,567".
fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (position, digit) in digits.chars().enumerate() {
        if position > 0 && (digits.len() - position) % 3 == 0 {
            text.push(',');
        }
        text.push(digit);
    }
    text
}
