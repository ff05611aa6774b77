// Differences with their intervals.

import * as Plot from "@observablehq/plot";
import type { Shown } from "../colours";
import type { Comparison, Page } from "../data";
import { choice, h, table } from "../dom";
import type { Figure } from "../figure";
import { missing, percent, plain, plural, sentence, value } from "../format";
import { base, grid, linesOf, marginFor, NARROW, says, under, wrapped } from "./common";

/** Metrics of the overview; the table has all. */
const OVERVIEW = [
  "startup_first_output",
  "startup_last_node_loaded",
  "e2e_paper_mean",
  "e2e_paper_p99",
  "e2e_paper_std",
  "deadline_misses",
  "idle_mean",
  "communication_mean",
  "computation_mean",
  "cpu",
  "memory_peak",
];

export function name(c: Comparison): string {
  return c.subject ? `${c.label}, ${c.subject}` : c.label;
}

/** A verdict in words. */
export function words(verdict: string): string {
  return verdict.replaceAll("-", " ");
}

/** A verdict, and why: for the pointer and for the keyboard. */
export function verdictOf(verdict: string, reason?: string): HTMLElement {
  const why = reason ? sentence(reason) : null;
  return h("span", { class: `verdict ${verdict}`, "data-tip": why, tabindex: why ? 0 : null, "aria-label": why ? `${words(verdict)}: ${why}` : null, role: why ? "note" : null }, words(verdict));
}

export function verdict(c: Comparison): HTMLElement {
  return verdictOf(c.verdict, c.verdict_reason);
}

type Change = Pick<Comparison, "relative" | "unit" | "difference" | "low" | "high">;

/** An interval in the unit of its difference. */
export function reach(c: Change): string {
  if (c.low === null || c.high === null) return missing;
  if (c.relative || c.unit === "share") return `${percent(c.low)} … ${percent(c.high)}`;
  return `${value(c.unit, c.low)} … ${value(c.unit, c.high)}`;
}

export function change(c: Change): string {
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

function told(r: Row): string {
  const { c } = r;
  return [
    `${r.group}: ${r.row}`,
    `${value(c.unit, c.reference_value)} → ${value(c.unit, c.candidate_value)}`,
    `difference ${change(c)}`,
    `95 % interval ${reach(c)}`,
    plural(c.blocks, "block"),
    `${words(c.verdict)}: ${c.verdict_reason}`,
  ].join("\n");
}

/** How far the intervals of one metric are drawn: as far as its own differences need; one that is far from the others is cut off. */
function extent(rows: Row[]): [number, number] {
  const delta = rows[0]!.c.delta;
  const sizes = rows.map((r) => Math.abs(r.at)).sort((a, b) => a - b);
  const most = Math.max(delta * 1.6, 6 * Math.max(delta, sizes[Math.floor((sizes.length - 1) / 2)]!));
  const cut = (v: number) => Math.max(-most, Math.min(most, v));
  const low = Math.min(-delta * 1.6, ...rows.map((r) => cut(r.at)));
  const high = Math.max(delta * 1.6, ...rows.map((r) => cut(r.at)));
  const more = (high - low) * 0.8;
  const ends: [number, number] = [Math.max(low - more, Math.min(low, ...rows.map((r) => r.low))), Math.min(high + more, Math.max(high, ...rows.map((r) => r.high)))];
  const room = (ends[1] - ends[0]) * 0.03;
  return [ends[0] - room, ends[1] + room];
}

/** Room for the difference and the verdict at the right. */
const BESIDE = 176;

/** How the rows of a facet are laid out, in CSS pixels. */
interface Room {
  /** No room beside the lines: labels stand above them. */
  narrow: boolean;
  /** Width of labels. */
  label: number;
  /** Of a row. */
  height: number;
}

function room(rows: Row[], width: number): Room {
  const narrow = width < NARROW;
  const names = rows.map((r) => r.row);
  const label = narrow ? width - 190 : marginFor(names, width);
  const lines = linesOf(names, label) * 14;
  return { narrow, label, height: narrow ? lines + 24 : Math.max(24, lines + 6) };
}

/** What stands beside the line of a row; above it where there is no room beside. */
function texts(rows: Row[], { narrow, label, height }: Room): Plot.Markish[] {
  const verdictColour = (r: Row) => `var(--${r.c.verdict})`;
  if (narrow) {
    const above = { y: "row", dy: 3 - height / 2, lineAnchor: "top" } as const;
    return [
      Plot.text(rows, { ...above, text: (r: Row) => wrapped(r.row, label), frameAnchor: "left", textAnchor: "start" }),
      Plot.text(rows, { ...above, text: (r: Row) => `${change(r.c)}  ${words(r.c.verdict)}`, frameAnchor: "right", textAnchor: "end", fill: verdictColour, fontWeight: 600 }),
    ];
  }
  return [
    Plot.axisY({ tickSize: 0, label: null, tickFormat: (text: string) => wrapped(text, label) }),
    Plot.text(rows, { y: "row", text: (r: Row) => change(r.c), frameAnchor: "right", textAnchor: "end", dx: 62 }),
    Plot.text(rows, { y: "row", text: (r: Row) => words(r.c.verdict), frameAnchor: "right", textAnchor: "start", dx: 72, fill: verdictColour, fontWeight: 600 }),
  ];
}

/** The ends of what is cut off. */
function arrows(rows: Row[], [low, high]: [number, number], dy: number): Plot.Markish[] {
  const head = (side: Row[], x: number, text: string) => Plot.text(side, { x: () => x, y: "row", text: () => text, fill: "colour", fontSize: 13, dy });
  return [head(rows.filter((r) => r.low < low), low, "◀"), head(rows.filter((r) => r.high > high), high, "▶")];
}

/** One metric on its own scale. */
function facet(rows: Row[], width: number, of: Room, last: boolean): Element {
  const [low, high] = extent(rows);
  const inside = rows.map((r) => ({ ...r, from: Math.max(low, r.low), to: Math.min(high, r.high) }));
  const { delta } = rows[0]!.c;
  const { narrow, height } = of;
  const [marginLeft, marginRight] = narrow ? [22, 22] : [of.label, BESIDE];
  const dy = narrow ? height / 2 - 11 : 0;
  const ticks = Math.max(3, Math.min(7, Math.floor((width - marginLeft - marginRight) / 80)));
  return Plot.plot({
    ...base,
    width,
    marginLeft,
    marginRight,
    marginTop: 2,
    marginBottom: last ? 46 : 22,
    height: rows.length * height + (last ? 48 : 24),
    x: {
      ...under,
      domain: [low, high],
      label: last ? "difference from the reference (left of zero is less)" : null,
      tickFormat: (v: number) => percent(v, high - low < 0.1 ? 1 : 0),
      ticks,
      tickSize: 3,
    },
    y: { domain: rows.map((r) => r.row), label: null, axis: null },
    marks: [
      Plot.rectX([delta], { x1: (d) => -d, x2: (d) => d, fill: "var(--shade)" }),
      Plot.gridX({ ...grid, ticks }),
      Plot.ruleX([0], { stroke: "var(--line)", strokeWidth: 1.5 }),
      Plot.ruleY(inside, { x1: "from", x2: "to", y: "row", stroke: "colour", strokeWidth: 3, dy }),
      ...arrows(inside, [low, high], dy),
      Plot.dot(inside, {
        x: (r: Row) => Math.max(low, Math.min(high, r.at)),
        y: "row",
        dy,
        fill: "colour",
        fillOpacity: (r: Row) => (r.at < low || r.at > high ? 0 : 1),
        stroke: "var(--surface)",
        strokeWidth: 1,
        r: 4.5,
        ...says(told),
      }),
      ...texts(inside, of),
    ],
  });
}

/** Rows with intervals, metric by metric. */
function forest(rows: Row[], width: number): Element[] {
  const groups = [...new Set(rows.map((r) => r.group))];
  const of = room(rows, width);
  return groups.map((group) => {
    const inside = rows.filter((r) => r.group === group);
    const plot = facet(inside, width, of, group === groups[groups.length - 1]);
    return h("div", { class: "facet" }, h("h4", {}, group), plot as unknown as HTMLElement);
  });
}

function rowOf(c: Comparison, shown: Shown, group: string, row: string): Row[] {
  if (c.difference === null || !(c.relative || c.unit === "share")) return [];
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
      "A dot is the mean difference over paired blocks, its line the 95 % interval; an arrow means that it goes on. Each metric has " +
      "a scale of its own. The shaded band is what was declared not to matter: better or worse needs an interval without zero and a dot outside the band.",
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
      { head: "Difference", number: true, cell: change },
      { head: "95 % interval", number: true, cell: reach },
      { head: "Blocks", number: true, cell: (c) => c.blocks },
      { head: "Sign-flip p", number: true, cell: (c) => plain(c.p_sign_flip, 3) },
      { head: "Verdict", cell: verdict },
      { head: "Why", cell: (c) => c.verdict_reason },
    ],
    rows,
    caption ?? `${plural(rows.length, "comparison")}; * primary, Holm-corrected, all else is exploratory`,
  );
}
