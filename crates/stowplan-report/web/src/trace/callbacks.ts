// Callbacks: a table, and the durations of the one that is selected.

import * as Plot from "@observablehq/plot";
import { below, quantile } from "../data";
import type { Figure } from "../figure";
import { base, grid, says, some, stops, tip, under } from "../figures/common";
import { count, inUnit, missing, time, unitFor } from "../format";
import { segments, table } from "../dom";
import { sortable } from "../sortable";
import { durations, startedBy, type Callback, type TracePage } from "./data";

const BINS = 60;
/** Stops of the keyboard on the curve. */
const STOPS = 16;

/** The callback whose durations are shown. */
export class Selected {
  callback: Callback | undefined;
  view = "ecdf";
  axis = "most";
  private readonly listeners: (() => void)[] = [];

  constructor(page: TracePage) {
    const all = busiest(page);
    this.callback = all.find((c) => c.ns.length >= 20) ?? all[0];
  }

  onChange(listener: () => void): void {
    this.listeners.push(listener);
  }

  change(change: () => void): void {
    change();
    for (const listener of this.listeners) listener();
  }
}

/** The callbacks that ran most first. */
function busiest(page: TracePage): Callback[] {
  return [...page.callbacks].sort((a, b) => (b.busy ?? 0) - (a.busy ?? 0));
}

function percent(share: number | null): string {
  return share === null ? missing : `${(share * 100).toFixed(share < 0.001 ? 3 : 2)} %`;
}

export function callbackTable(page: TracePage, selected: Selected): HTMLElement {
  const ns = (head: string, key: "mean" | "q50" | "p99" | "max") => ({
    head,
    number: true,
    cell: (c: Callback) => time(c[key]),
    by: (c: Callback) => c[key],
  });
  const process = (c: Callback) => page.startup.processes[c.process]?.name ?? missing;
  return sortable<Callback>({
    caption: `${count(page.callbacks.length)} callbacks; choose one to see its durations below`,
    rows: busiest(page),
    sort: 4,
    words: (c) => `${c.node ?? ""} ${c.topic ?? ""} ${c.symbol ?? ""} ${c.kind ?? ""} ${process(c)}`,
    select: { first: selected.callback, changed: (callback) => selected.change(() => (selected.callback = callback)) },
    columns: [
      { head: "Node", cell: (c) => c.node ?? "not in the trace", by: (c) => c.node },
      { head: "Started by", cell: (c) => startedBy(c, time), by: (c) => startedBy(c, time) },
      { head: "Process", cell: process, by: process },
      { head: "Instances", number: true, cell: (c) => count(c.count), by: (c) => c.count },
      { head: "Busy", number: true, cell: (c) => percent(c.busy), by: (c) => c.busy },
      ns("Mean", "mean"),
      ns("Median", "q50"),
      ns("P99", "p99"),
      ns("Longest", "max"),
    ],
  });
}

export function callbackDurations(page: TracePage, selected: Selected): Figure {
  const of = () => (selected.callback ? durations(page, selected.callback) : null);
  return {
    id: "callback-durations",
    title: "Durations of the selected callback",
    read:
      "From the start of the callback to its end by the clock, preemption included. The curve gives the share of instances " +
      "that took at most a time, the histogram the share in each bin; lines mark the median and, dashed, P99.",
    controls: [
      segments("View", [["ecdf", "Curve"], ["histogram", "Histogram"]], selected.view, (v) =>
        selected.change(() => (selected.view = v)),
      ),
      segments("Time axis", [["most", "Up to P99.5"], ["all", "All"]], selected.axis, (v) =>
        selected.change(() => (selected.axis = v)),
      ),
    ],
    draw(width) {
      const d = of();
      const callback = selected.callback;
      if (!d || !callback || d.n === 0) return [];
      const high = selected.axis === "most" ? quantile(d, 0.995) : d.ns[d.ns.length - 1]!;
      const domain: [number, number] = [0, Math.max(high * 1.01, 1)];
      const unit = unitFor(domain[1]);
      const marked = [0.5, 0.99]
        .filter((q) => d.n * (1 - q) * (1 + 1e-9) >= 10 || q === 0.5)
        .map((q) => ({ q, ns: quantile(d, q) }))
        .filter((m) => m.ns <= domain[1]);
      const edge = (i: number) => (domain[1] * i) / BINS;
      const bins = Array.from({ length: BINS }, (_, i) => ({
        from: edge(i),
        to: edge(i + 1),
        share: Math.max(0, below(d, edge(i + 1)) - (i === 0 ? 0 : below(d, edge(i)))),
      })).filter((b) => b.share > 0);
      const points = Array.from(d.share, (share, i) => ({ share, ns: d.ns[i]! }));
      const at = (ns: number) => `${inUnit(ns, unit)} ${unit.name}`;
      const percentOf = (share: number) => `${(share * 100).toFixed(2)} %`;
      const atMost = (p: { share: number; ns: number }) => `${percentOf(p.share)} of the instances took at most ${at(p.ns)}`;
      const inBin = (b: (typeof bins)[number]) => `${percentOf(b.share)} of the instances took ${at(b.from)} to ${at(b.to)}`;
      const curve = selected.view === "ecdf";
      const heading = document.createElement("h4");
      heading.textContent = `${callback.node ?? "unknown node"}, ${startedBy(callback, time)}: ${count(d.n)} instances`;
      return [
        heading,
        Plot.plot({
          ...base,
          width,
          height: 280,
          marginTop: 22,
          marginLeft: 56,
          marginRight: 24,
          clip: true,
          x: { ...under, label: `duration (${unit.name})`, domain: domain.map((ns) => ns / unit.ns), transform: (ns: number) => ns / unit.ns },
          y: { label: curve ? "share of instances" : "share per bin", tickFormat: "%", ...(curve ? { domain: [0, 1] } : { zero: true }) },
          marks: [
            Plot.gridX(grid),
            Plot.gridY(grid),
            curve
              ? Plot.line(points, { x: "ns", y: "share", stroke: "var(--d0)", strokeWidth: 2, title: atMost, tip })
              : Plot.rectY(bins, { x1: "from", x2: "to", y: "share", fill: "var(--d0)", fillOpacity: 0.85, insetLeft: 0.5, insetRight: 0.5, ...says(inBin) }),
            curve ? stops(some(points.filter((p) => p.ns <= domain[1]), STOPS), (p) => p.ns, (p) => p.share, atMost) : null,
            Plot.ruleX(marked.filter((m) => m.q === 0.5), { x: "ns", stroke: "var(--ink)", strokeWidth: 1.3 }),
            Plot.ruleX(marked.filter((m) => m.q === 0.99), { x: "ns", stroke: "var(--ink)", strokeWidth: 1.3, strokeDasharray: "3 3" }),
          ],
        }),
      ];
    },
    data() {
      const d = of();
      const shares = [0, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 0.999, 1];
      return table(
        [
          { head: "Share of instances", cell: (q: number) => `${Number((q * 100).toFixed(1))} %` },
          { head: "took at most", number: true, cell: (q: number) => (d && d.n > 0 ? time(quantile(d, q)) : missing) },
        ],
        shares,
        selected.callback?.symbol ?? "The trace has no symbol of this callback",
      );
    },
  };
}
