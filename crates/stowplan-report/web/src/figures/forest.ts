// Differences with their intervals.

import * as Plot from "@observablehq/plot";
import type { Shown } from "../colours";
import type { Comparison, Page } from "../data";
import { choice, h, table } from "../dom";
import type { Figure } from "../figure";
import { missing, percent, plain, plural, sentence, value } from "../format";
import { base, grid, marginFor, tip, under } from "./common";

/** Metrics of the overview; the table has all. */
const OVERVIEW = [
  "startup_first_output",
  "startup_last_node_loaded",
  "e2e_paper_mean",
  "e2e_paper_p99",
  "e2e_paper_std",
  "idle_mean",
  "communication_mean",
  "computation_mean",
  "cpu",
  "memory_peak",
];

export function name(c: Comparison): string {
  return c.subject ? `${c.label}, ${c.subject}` : c.label;
}

export function verdict(c: Comparison): HTMLElement {
  return h("span", { class: `verdict ${c.verdict}`, title: sentence(c.verdict_reason) }, c.verdict);
}

export function interval(c: Comparison): string {
  if (c.low === null || c.high === null) return missing;
  if (c.relative || c.unit === "share") return `${percent(c.low)} … ${percent(c.high)}`;
  return `${value(c.unit, c.low)} … ${value(c.unit, c.high)}`;
}

export function difference(c: Comparison): string {
  return c.relative || c.unit === "share" ? percent(c.difference) : value(c.unit, c.difference);
}

const EFFECTS: Record<Comparison["effect"], string> = {
  total: "total",
  splitting: "splitting",
  "group-scheduling": "group scheduling",
  isolation: "isolation",
  resources: "resources",
};

const ORDER: Comparison["effect"][] = ["total", "splitting", "group-scheduling", "isolation", "resources"];

interface Row {
  c: Comparison;
  group: string;
  row: string;
  colour: string;
  at: number;
  low: number;
  high: number;
}

/** Rows with intervals, facet by facet. */
function forest(rows: Row[], width: number): Element[] {
  if (rows.length === 0) return [];
  const groups = [...new Set(rows.map((r) => r.group))];
  const names = [...new Set(rows.map((r) => r.row))];
  const low = Math.min(...rows.flatMap((r) => [r.low, -r.c.delta * 1.6]));
  const high = Math.max(...rows.flatMap((r) => [r.high, r.c.delta * 1.6]));
  const room = (high - low) * 0.03;
  const bands = groups.map((group) => ({ group, delta: rows.find((r) => r.group === group)!.c.delta }));
  const marginLeft = marginFor(names, width);
  return groups.map((group) => {
    const inside = rows.filter((r) => r.group === group);
    const last = group === groups[groups.length - 1];
    const labels = inside.map((r) => r.row);
    const plot = Plot.plot({
      ...base,
      width,
      marginLeft,
      marginRight: 158,
      marginTop: 2,
      marginBottom: last ? 46 : 4,
      height: inside.length * 23 + (last ? 48 : 6),
      x: {
        ...under,
        domain: [low - room, high + room],
        label: last ? "difference from the reference (left of zero is less)" : null,
        tickFormat: (v: number) => percent(v, high - low < 0.1 ? 1 : 0),
        axis: last ? "bottom" : null,
      },
      y: { domain: labels, label: null, tickSize: 0 },
      marks: [
        Plot.rectX(bands.filter((b) => b.group === group), { x1: (b) => -b.delta, x2: (b) => b.delta, fill: "var(--shade)" }),
        Plot.gridX(grid),
        Plot.ruleX([0], { stroke: "var(--line)", strokeWidth: 1.5 }),
        Plot.ruleY(inside, { x1: "low", x2: "high", y: "row", stroke: "colour", strokeWidth: 3 }),
        Plot.dot(inside, {
          x: "at",
          y: "row",
          fill: "colour",
          stroke: "var(--surface)",
          strokeWidth: 1,
          r: 4.5,
          channels: {
            difference: { value: (r: Row) => difference(r.c), label: "difference" },
            interval: { value: (r: Row) => interval(r.c), label: "95 % interval" },
            blocks: { value: (r: Row) => r.c.blocks, label: "blocks" },
            why: { value: (r: Row) => r.c.verdict_reason, label: "verdict" },
          },
          tip: { ...tip, format: { x: false, fill: false } },
        }),
        Plot.text(inside, {
          y: "row",
          text: (r: Row) => difference(r.c),
          frameAnchor: "right",
          textAnchor: "end",
          dx: 62,
        }),
        Plot.text(inside, {
          y: "row",
          text: (r: Row) => r.c.verdict,
          frameAnchor: "right",
          textAnchor: "start",
          dx: 72,
          fill: (r: Row) => `var(--${r.c.verdict})`,
          fontWeight: 600,
        }),
      ],
    });
    const title = h("h4", {}, group);
    return h("div", { class: "facet" }, title, plot as unknown as HTMLElement);
  });
}

function rowOf(c: Comparison, shown: Shown, group: string, row: string): Row[] {
  if (c.difference === null || !c.relative) return [];
  return [{ c, group, row, colour: shown.colour(c.candidate), at: c.difference, low: c.low ?? c.difference, high: c.high ?? c.difference }];
}

export function against(page: Page, shown: Shown): Figure {
  const rows = () =>
    page.comparisons.filter(
      (c) =>
        c.reference === page.reference &&
        shown.has(c.candidate) &&
        (c.primary || OVERVIEW.includes(c.metric)),
    );
  const reference = page.reference ? shown.label(page.reference) : "the reference";
  return {
    id: "differences",
    title: `Differences from ${reference}`,
    read:
      "A dot is the mean difference over paired blocks, its line the 95 % interval; the shaded band is what was declared " +
      "not to matter. A verdict of better or worse needs an interval that leaves out zero and a dot outside the band.",
    draw: (width) =>
      forest(
        rows().flatMap((c) =>
          rowOf(c, shown, `${sentence(name(c))}${c.primary ? " – primary" : ""}`, shown.label(c.candidate)),
        ),
        width,
      ),
    data: () => comparisonTable(rows(), shown),
  };
}

/** `changed` is called when another metric is chosen. */
export function effects(page: Page, shown: Shown, changed: () => void): Figure | null {
  const apart = page.comparisons.filter((c) => c.effect !== "total");
  const metrics = [...new Set(apart.map((c) => c.metric))].filter((m) => OVERVIEW.includes(m));
  const first = page.comparisons.find((c) => c.primary && metrics.includes(c.metric))?.metric ?? metrics[0];
  if (first === undefined) return null;
  let metric = first;
  const options = metrics.map((m): [string, string] => [m, sentence(apart.find((c) => c.metric === m)!.label)]);
  const rows = () => apart.filter((c) => c.metric === metric && shown.has(c.candidate));
  return {
    id: "effects",
    title: "The effects, told apart",
    read:
      "Splitting compares partitions at one place; group scheduling compares plain processes in one control group with those in a " +
      "group for each service; isolation compares the latter with containers; resources compares allocations of the machine at one place and partition, all else equal. Only together do they say " +
      "what a container costs.",
    controls: [
      choice("Metric", options, metric, (v) => {
        metric = v;
        changed();
      }),
    ],
    draw: (width) =>
      forest(
        rows()
          .sort((a, b) => ORDER.indexOf(a.effect) - ORDER.indexOf(b.effect))
          .flatMap((c) => {
            const subject = new Set(rows().map((r) => r.subject)).size > 1 && c.subject ? `, ${c.subject}` : "";
            return rowOf(c, shown, sentence(EFFECTS[c.effect]) + subject, `${shown.label(c.reference)} → ${shown.label(c.candidate)}`);
          }),
        width,
      ),
    data: () => comparisonTable(rows(), shown),
  };
}

export function comparisonTable(rows: Comparison[], shown: Shown, caption?: string): HTMLElement {
  return table<Comparison>(
    [
      { head: "Metric", cell: (c) => `${sentence(name(c))}${c.primary ? " *" : ""}` },
      { head: "Reference", cell: (c) => shown.label(c.reference) },
      { head: "Candidate", cell: (c) => shown.label(c.candidate) },
      { head: "Effect", cell: (c) => EFFECTS[c.effect] },
      { head: "Reference", number: true, cell: (c) => value(c.unit, c.reference_value) },
      { head: "Candidate", number: true, cell: (c) => value(c.unit, c.candidate_value) },
      { head: "Difference", number: true, cell: difference },
      { head: "95 % interval", number: true, cell: interval },
      { head: "Blocks", number: true, cell: (c) => c.blocks },
      { head: "Sign-flip p", number: true, cell: (c) => plain(c.p_sign_flip, 3) },
      { head: "Verdict", cell: verdict },
      { head: "Why", cell: (c) => c.verdict_reason },
    ],
    rows,
    caption ?? `${plural(rows.length, "comparison")}; * primary, Holm-corrected, all else is exploratory`,
  );
}
