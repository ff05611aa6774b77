//! `stowplan trace compare`: two traces of one system.

use std::collections::BTreeMap;
use std::path::Path;

use stowplan_model::units::show_ns;
use stowplan_trace::{CallbackIdentity, Distribution, Graph, Overview, Reading, Trigger};

use super::analyze;
use crate::cli::TraceCompareArgs;
use crate::documents;
use crate::documents::trace::{AnalyzedChain, Part};
use crate::documents::trace_system::{ChangedMost, Compared, ComparedChain, Side, TraceComparison};
use crate::failure::{CommandError, ExitCode, OrExit};
use crate::output::tell;
use crate::table;

/// Fewer instances in one of the traces: a change is not called the greatest.
const ENOUGH: u64 = 10;
/// Rows that the terminal shows of each kind.
const SHOWN: usize = 10;

/// Runs the command.
pub fn run(args: &TraceCompareArgs) -> Result<(), CommandError> {
    if args.learnt {
        return super::learnt::run(args);
    }
    let [dir_b] = args.b.as_slice() else {
        let message = "two traces are compared; several runs are with --learnt";
        return Err(CommandError::new(ExitCode::Usage, message));
    };
    let (a, b) = (overview(&args.a)?, overview(dir_b)?);
    let mut only = (Vec::new(), Vec::new());
    let callbacks = compare(callbacks(&a), callbacks(&b), &mut only);
    let edges = compare(edges(&a), edges(&b), &mut only);
    let chains = match (&args.from, &args.to) {
        (Some(from), Some(to)) => chains(&args.a, dir_b, from, to)?,
        _ => Vec::new(),
    };
    let changed_most = of_chains(&chains)
        .or_else(|| of_parts(&callbacks, &edges))
        .filter(|most| most.change_ns != 0.0);
    let document = TraceComparison {
        schema: "stowplan.trace-compare/1",
        callbacks,
        edges,
        chains,
        only_in_a: only.0,
        only_in_b: only.1,
        changed_most,
    };
    if args.json {
        return documents::print(&document);
    }
    show(&document)
}

fn overview(dir: &Path) -> Result<Overview, CommandError> {
    let overview = Overview::from_ctf(dir, Reading::default()).or_exit(ExitCode::BadInput)?;
    super::warn(&overview.damage, &overview.discards, &overview.graph);
    super::warn_of_repeats(&overview.repeats);
    Ok(overview)
}

/// Things by what they are called in both traces.
type Named<K> = BTreeMap<K, (String, Option<Distribution>)>;

fn callbacks(overview: &Overview) -> Named<CallbackIdentity> {
    let all = overview.callback_summaries().into_iter();
    all.map(|summary| {
        let name = in_words(&summary.identity);
        (summary.identity, (name, summary.durations))
    })
    .collect()
}

fn edges(overview: &Overview) -> Named<(CallbackIdentity, CallbackIdentity)> {
    let graph: &Graph = &overview.graph;
    let all = overview.edge_summaries().into_iter();
    all.map(|edge| {
        let ends = (graph.identity_of(edge.from), graph.identity_of(edge.to));
        let name = format!("{} → {}", in_words(&ends.0), in_words(&ends.1));
        (ends, (name, edge.latency))
    })
    .collect()
}

fn in_words(identity: &CallbackIdentity) -> String {
    let node = identity.node.as_deref().unwrap_or("(unknown node)");
    let mut words = match &identity.trigger {
        Trigger::Timer(ns) => format!("{node} timer {}", show_ns(*ns as f64)),
        Trigger::Subscription(topic) => format!("{node} subscription {topic}"),
        Trigger::Service(name) => format!("{node} service {name}"),
        Trigger::Client(name) => format!("{node} client of {name}"),
        Trigger::Unknown => format!("{node} callback"),
    };
    if identity.ordinal > 0 {
        words.push_str(&format!(" #{}", identity.ordinal + 1));
    }
    words
}

fn compare<K: Ord>(
    a: Named<K>,
    mut b: Named<K>,
    only: &mut (Vec<String>, Vec<String>),
) -> Vec<Compared> {
    let mut both = Vec::new();
    for (key, (name, in_a)) in a {
        match b.remove(&key) {
            None => only.0.push(name),
            Some((_, in_b)) => {
                if let (Some(in_a), Some(in_b)) = (in_a, in_b) {
                    both.push(Compared {
                        name,
                        change_ns: in_b.median_ns - in_a.median_ns,
                        a: side(&in_a),
                        b: side(&in_b),
                    });
                }
            }
        }
    }
    only.1.extend(b.into_values().map(|(name, _)| name));
    both.sort_by(|x, y| y.change_ns.abs().total_cmp(&x.change_ns.abs()));
    both
}

fn side(of: &Distribution) -> Side {
    Side {
        count: of.count,
        mean: of.mean_ns,
        q50: of.median_ns,
    }
}

fn chains(a: &Path, b: &Path, from: &str, to: &str) -> Result<Vec<ComparedChain>, CommandError> {
    let described = |dir| {
        let (analysis, results) = analyze::between(dir, Reading::default(), from, to)?;
        let described = results
            .iter()
            .map(|result| analyze::describe(&analysis, result, false));
        Ok::<Vec<AnalyzedChain>, CommandError>(described.collect())
    };
    let (a, b) = (described(a)?, described(b)?);
    let both = a.into_iter().filter_map(|in_a| {
        let in_b = b.iter().find(|chain| chain.path == in_a.path)?;
        Some(compared(in_a, in_b))
    });
    Ok(both.collect())
}

fn compared(a: AnalyzedChain, b: &AnalyzedChain) -> ComparedChain {
    let parts: [(&'static str, &Option<Part>, &Option<Part>); 6] = [
        ("e2e_ns", &a.e2e_ns, &b.e2e_ns),
        ("computation_ns", &a.computation_ns, &b.computation_ns),
        ("send_ns", &a.send_ns, &b.send_ns),
        ("transport_ns", &a.transport_ns, &b.transport_ns),
        ("wait_ns", &a.wait_ns, &b.wait_ns),
        ("idle_ns", &a.idle_ns, &b.idle_ns),
    ];
    let change_ns: BTreeMap<&'static str, f64> = parts
        .into_iter()
        .filter_map(|(name, a, b)| Some((name, b.as_ref()?.mean - a.as_ref()?.mean)))
        .collect();
    let changed_most = change_ns
        .iter()
        .filter(|(name, _)| **name != "e2e_ns")
        .max_by(|x, y| x.1.abs().total_cmp(&y.1.abs()))
        .map(|(name, _)| *name);
    ComparedChain {
        instances: [a.instances, b.instances],
        path: a.path,
        change_ns,
        changed_most,
    }
}

fn of_chains(chains: &[ComparedChain]) -> Option<ChangedMost> {
    let all = chains.iter().filter_map(|chain| {
        let what = chain.changed_most?;
        Some(ChangedMost {
            what,
            name: chain.path.join(" → "),
            change_ns: chain.change_ns[what],
        })
    });
    all.max_by(|x, y| x.change_ns.abs().total_cmp(&y.change_ns.abs()))
}

fn of_parts(callbacks: &[Compared], edges: &[Compared]) -> Option<ChangedMost> {
    let enough = |of: &&Compared| of.a.count >= ENOUGH && of.b.count >= ENOUGH;
    let first = |list: &[Compared], what| {
        list.iter().find(enough).map(|of| ChangedMost {
            what,
            name: of.name.clone(),
            change_ns: of.change_ns,
        })
    };
    [first(callbacks, "callback"), first(edges, "edge")]
        .into_iter()
        .flatten()
        .max_by(|x, y| x.change_ns.abs().total_cmp(&y.change_ns.abs()))
}

fn show(document: &TraceComparison) -> Result<(), CommandError> {
    for (what, list) in [("callback", &document.callbacks), ("edge", &document.edges)] {
        let mut table = table::new([what, "median A", "median B", "change"]);
        for of in list.iter().take(SHOWN) {
            table.add_row([
                of.name.clone(),
                show_ns(of.a.q50),
                show_ns(of.b.q50),
                change(of.change_ns),
            ]);
        }
        tell!("{table}\n")?;
    }
    for chain in &document.chains {
        tell!("{}", chain.path.join("\n  → "))?;
        for (part, ns) in &chain.change_ns {
            tell!("  {part}: {}", change(*ns))?;
        }
    }
    for (side, only) in [("A", &document.only_in_a), ("B", &document.only_in_b)] {
        for name in only.iter().take(SHOWN) {
            tell!("only in {side}: {name}")?;
        }
        if only.len() > SHOWN {
            tell!("only in {side}: {} more", only.len() - SHOWN)?;
        }
    }
    match &document.changed_most {
        Some(most) => tell!(
            "changed most: {} {}: {}",
            most.what,
            most.name,
            change(most.change_ns)
        ),
        None if document.callbacks.is_empty() => tell!("nothing is in both traces"),
        None => tell!("nothing changed"),
    }
}

fn change(ns: f64) -> String {
    let sign = if ns < 0.0 { "−" } else { "+" };
    format!("{sign}{}", show_ns(ns.abs()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn distribution(count: u64, median_ns: f64) -> Option<Distribution> {
        let samples = std::iter::repeat_n(median_ns as i64, count as usize);
        Distribution::of(samples)
    }

    fn named(of: &[(&'static str, u64, f64)]) -> Named<&'static str> {
        let all = of.iter();
        all.map(|&(name, count, median)| (name, (name.to_owned(), distribution(count, median))))
            .collect()
    }

    /// Of what both have, the greatest change by a count that says something.
    #[test]
    fn what_changed_most_is_named() {
        let mut only = (Vec::new(), Vec::new());
        let a = named(&[
            ("same", 50, 100.0),
            ("slower", 50, 100.0),
            ("rare", 9, 100.0),
            ("gone", 50, 1.0),
        ]);
        let b = named(&[
            ("same", 50, 100.0),
            ("slower", 50, 350.0),
            ("rare", 9, 9000.0),
            ("new", 50, 1.0),
        ]);
        let callbacks = compare(a, b, &mut only);
        let order: Vec<&str> = callbacks.iter().map(|c| c.name.as_str()).collect();
        assert_eq!(order, ["rare", "slower", "same"]);
        let edges = compare(
            named(&[("edge", 10, 500.0)]),
            named(&[("edge", 10, 300.0)]),
            &mut only,
        );
        let most = of_parts(&callbacks, &edges).unwrap();
        assert_eq!(
            (most.what, most.name.as_str(), most.change_ns),
            ("callback", "slower", 250.0)
        );
        let most = of_parts(&callbacks[2..], &edges).unwrap();
        assert_eq!((most.what, most.change_ns), ("edge", -200.0));
        assert_eq!(only, (vec!["gone".to_owned()], vec!["new".to_owned()]));
    }

    /// The part of a chain whose mean changed most, not the sum that it is part of.
    #[test]
    fn the_part_of_a_chain_that_changed_most_is_named() {
        let part = |mean| {
            Some(Part {
                mean,
                q50: mean,
                p99: None,
                p99_reason: None,
                max: mean,
            })
        };
        let chain = |computation: f64, send: Option<Part>, idle: f64| AnalyzedChain {
            name: None,
            path: vec!["a".into(), "b".into()],
            instances: 20,
            invalid: 0,
            e2e_ns: part(computation + idle + 10.0),
            computation_ns: part(computation),
            send_ns: send,
            transport_ns: None,
            wait_ns: part(10.0),
            idle_ns: part(idle),
            tum: None,
            least_sure_link: None,
            reasons: BTreeMap::new(),
        };
        let both = compared(chain(100.0, part(5.0), 50.0), &chain(130.0, None, 10.0));
        assert_eq!(both.changed_most, Some("idle_ns"));
        assert_eq!(both.change_ns["e2e_ns"], -10.0);
        // One of them lacks it.
        assert!(!both.change_ns.contains_key("send_ns"));
        let most = of_chains(&[both]).unwrap();
        assert_eq!(
            (most.what, most.name.as_str(), most.change_ns),
            ("idle_ns", "a → b", -40.0)
        );
    }
}
