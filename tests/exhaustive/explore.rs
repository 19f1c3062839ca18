//! Walks through all sequences of a scope, and joins those that lead to the same state.

use std::collections::{HashMap, HashSet};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::time::Instant;

use crate::world::World;
use crate::world::action::{Action, Fate, Scope};

/// A state and one of the shortest ways to it.
struct Node {
    parent: usize,
    action: Option<Action>,
    next: Vec<usize>,
}

/// Explores a scope completely, breadth first: what it finds, it finds by one of the shortest sequences.
///
/// # Panics
/// With that sequence, if core and twin differ or the table is not what it must be.
pub fn explore(scope: &'static Scope) {
    let began = Instant::now();
    let length = scope.length + longer();
    let mut nodes = vec![Node { parent: 0, action: None, next: Vec::new() }];
    let mut known = HashMap::from([(World::start(scope).name(), 0)]);
    let mut ends_well = HashSet::new();
    let mut frontier = vec![0];
    let mut transitions = 0;
    for depth in 0..length {
        let mut found = Vec::new();
        for &node in &frontier {
            let path = path_to(&nodes, node);
            let world = replay(scope, &path);
            for action in world.actions() {
                transitions += 1;
                let next = watched(&path, action, || {
                    let mut next = world.fork();
                    next.perform(action);
                    next
                });
                let fresh = nodes.len();
                let known_as = *known.entry(next.name()).or_insert(fresh);
                nodes[node].next.push(known_as);
                if known_as == fresh {
                    nodes.push(Node { parent: node, action: Some(action), next: Vec::new() });
                    found.push(fresh);
                    bring_to_an_end(&path, action, &next, depth + 1 == length, &mut ends_well);
                }
            }
        }
        frontier = found;
        if frontier.is_empty() {
            println!("{}: complete after {depth} actions", scope.name);
            break;
        }
    }
    let sequences = count_sequences(&nodes, length);
    println!(
        "{}: {} sequences of up to {} actions, {} distinct states, {transitions} transitions, {:.1} s",
        scope.name,
        sequences,
        length,
        nodes.len(),
        began.elapsed().as_secs_f64()
    );
}

/// How much longer than usual sequences are: for a run that may take its time.
fn longer() -> usize {
    let wanted = std::env::var("EXHAUSTIVE_LONGER").ok();
    wanted.map_or(0, |wanted| wanted.parse().expect("EXHAUSTIVE_LONGER is a number of events"))
}

/// From every state the job must come to its end with every row in the table: as it is, and after a crash.
///
/// Where the first step to that end is explored anyway, the state behind it stands for this one.
fn bring_to_an_end(
    path: &[Action],
    action: Action,
    world: &World,
    is_last: bool,
    ends_well: &mut HashSet<u64>,
) {
    if world.is_finished() {
        return;
    }
    let explored = if is_last { Vec::new() } else { world.actions() };
    if !world.next_towards_the_end().is_some_and(|next| explored.contains(&next)) {
        watched(path, action, || world.fork().finish(ends_well));
    }
    let crash = Action::Crash(Fate::Lost);
    // A job that has stopped with a savepoint is never restarted by Flink itself (4.6).
    if !explored.contains(&crash) && !world.has_stopped() {
        watched(path, action, || {
            let mut crashed = world.fork();
            crashed.perform(crash);
            crashed.finish(ends_well);
        });
    }
}

fn path_to(nodes: &[Node], mut node: usize) -> Vec<Action> {
    let mut path = Vec::new();
    while let Some(action) = nodes[node].action {
        path.push(action);
        node = nodes[node].parent;
    }
    path.reverse();
    path
}

fn replay(scope: &'static Scope, path: &[Action]) -> World {
    let mut world = World::start(scope);
    for &action in path {
        world.perform(action);
    }
    world
}

/// Names the sequence when something is wrong with it; with `EXHAUSTIVE_STOPS_EARLY` set the other scopes end as well.
fn watched<T>(path: &[Action], action: Action, work: impl FnOnce() -> T) -> T {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| {
        eprintln!("after {path:?}, then {action:?}");
        if std::env::var_os("EXHAUSTIVE_STOPS_EARLY").is_some() {
            std::process::exit(1);
        }
        resume_unwind(panic)
    })
}

/// How many sequences of up to this length begin at the first state.
fn count_sequences(nodes: &[Node], length: usize) -> f64 {
    let mut count = vec![1.0; nodes.len()];
    for _ in 0..length {
        let longer = nodes.iter().map(|node| 1.0 + node.next.iter().map(|&next| count[next]).sum::<f64>());
        count = longer.collect();
    }
    count[0] - 1.0
}
