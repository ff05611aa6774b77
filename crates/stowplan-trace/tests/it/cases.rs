//! Inputs from the field: what each is and what is right stands in its README.
use stowplan_testkit::case;
use stowplan_trace::{Analysis, CallbackSummary, LinkMethod, Overview, Reading};

/// Node and trigger, calls, mean duration in nanoseconds of each callback; links by method.
type Figures = (Vec<(String, u64, Option<f64>)>, Vec<(LinkMethod, u64)>);

fn figures(name: &str) -> Option<Figures> {
    let folder = case(name)?;
    let overview = Overview::from_ctf(&folder, Reading::default()).unwrap();
    let analysis = Analysis::from_ctf(&folder).unwrap();
    let summaries = overview.callback_summaries();
    if overview.graph.without_vtid == 0 {
        assert_eq!(summaries, analysis.callback_summaries());
    }
    let told = |of: CallbackSummary| {
        let name = overview.graph.describe(of.callback);
        (name, of.count, of.durations.map(|of| of.mean_ns))
    };
    let links = &overview.link_summary().by_method;
    Some((
        summaries.into_iter().map(told).collect(),
        links
            .iter()
            .map(|(&method, &count)| (method, count))
            .collect(),
    ))
}

#[test]
fn the_order_of_rclcpp_gives_what_any_order_gives() {
    let name = "01-intra-process-order";
    let Some(control) = figures(&format!("{name}/control")) else {
        return;
    };
    assert_eq!(control.1, [(LinkMethod::RingBuffer, 100)]);
    assert_eq!(figures(&format!("{name}/trace")).unwrap(), control);
    // Humble has no events of ring buffers.
    let humble = figures(&format!("{name}/trace-humble")).unwrap();
    assert_eq!(humble, (control.0, Vec::new()));
}

#[test]
fn initialisation_that_caret_recorded_is_understood() {
    let name = "06-caret-own-init-events";
    let Some(control) = figures(&format!("{name}/control")) else {
        return;
    };
    assert_eq!(control.0.len(), 2);
    assert_eq!(figures(&format!("{name}/trace")).unwrap(), control);
}

#[test]
fn without_contexts_there_is_no_figure_that_rests_on_them() {
    let name = "05-no-contexts";
    let Some(without) = figures(&format!("{name}/trace")) else {
        return;
    };
    assert_eq!(without, (Vec::new(), Vec::new()));
    let without_thread = figures(&format!("{name}/trace-vpid-only")).unwrap();
    let with = figures(&format!("{name}/control-vpid-vtid")).unwrap();
    assert_eq!(with.0[0].2, Some(7.5e6));
    let counted: Vec<_> = with.0.into_iter().map(|of| (of.0, of.1, None)).collect();
    assert_eq!(without_thread, (counted, Vec::new()));

    let folder = case(&format!("{name}/trace")).unwrap();
    let graph = Overview::from_ctf(folder, Reading::default())
        .unwrap()
        .graph;
    assert_eq!((graph.without_vpid, graph.without_vtid), (1210, 0));
}
