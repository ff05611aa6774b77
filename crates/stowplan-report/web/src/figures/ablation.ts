// What each addition between plain processes and containers does.

import * as Plot from "@observablehq/plot";
import type { Shown } from "../colours";
import type { Ablation, AblationStep, Comparison, Page } from "../data";
import { choice, table } from "../dom";
import type { Figure } from "../figure";
import { plain, plural, sentence, value } from "../format";
import { base, grid, linesOf, marginFor, says, under, wrapped } from "./common";
import { change, name, reach, verdict, words } from "./forest";

/** A level: a deployment's value, reached from that of the one before. */
interface Level {
  row: string;
  from: number;
  to: number;
  low: number;
  high: number;
  c: Comparison;
  /** Ends of the ladder are marked, what lies between is a bar. */
  end: boolean;
}

function end(c: Comparison, row: string, at: number): Level {
  return { row, from: at, to: at, low: at, high: at, c, end: true };
}

function levels(ablation: Ablation, shown: Shown): Level[] {
  const { whole } = ablation;
  const between = ablation.steps.map(({ label, comparison: c }): Level => {
    const from = c.reference_value ?? 0;
    const to = c.candidate_value ?? 0;
    const at = (change: number | null) => (change === null ? to : c.relative ? from * (1 + change) : from + change);
    return { row: `+ ${label}`, from, to, low: at(c.low), high: at(c.high), c, end: false };
  });
  return [
    end(whole, shown.label(whole.reference), whole.reference_value ?? 0),
    ...between,
    end(whole, `= ${shown.label(whole.candidate)}`, whole.candidate_value ?? 0),
  ];
}

function colour(level: Level): string {
  return `var(--${level.c.verdict})`;
}

function draw(ablation: Ablation, shown: Shown, width: number): Element[] {
  const rows = levels(ablation, shown);
  const names = rows.map((r) => r.row);
  const low = Math.min(...rows.flatMap((r) => [r.from, r.to, r.low]));
  const high = Math.max(...rows.flatMap((r) => [r.from, r.to, r.high]));
  const room = (high - low || Math.abs(high) || 1) * 0.04;
  const { unit } = ablation.whole;
  const margin = marginFor(names, width);
  const bars = rows.filter((r) => !r.end);
  const told = rows.slice(1);
  const links = rows.slice(1).map((r, i) => ({ row: r.row, before: rows[i]!.row, at: rows[i]!.to }));
  return [
    Plot.plot({
      ...base,
      width,
      marginLeft: margin,
      marginRight: 176,
      height: rows.length * Math.max(26, linesOf(names, margin) * 15) + 60,
      x: { ...under, domain: [low - room, high + room], label: `${name(ablation.whole)}, geometric mean over blocks`, tickFormat: (v: number) => value(unit, v), ticks: 5 },
      y: { domain: names, label: null, tickSize: 0, padding: 0.35, tickFormat: (label: string) => wrapped(label, margin) },
      marks: [
        Plot.gridX(grid),
        Plot.link(links, { x: "at", y1: "before", y2: "row", stroke: "var(--line)", strokeDasharray: "2 2" }),
        Plot.barX(bars, {
          x1: (r: Level) => Math.min(r.from, r.to),
          x2: (r: Level) => Math.max(r.from, r.to),
          y: "row",
          fill: colour,
          fillOpacity: 0.75,
        }),
        Plot.ruleY(bars, { x1: "low", x2: "high", y: "row", stroke: "var(--ink)", strokeWidth: 1.2 }),
        Plot.tickX(bars, { x: "low", y: "row", stroke: "var(--ink)", inset: 4 }),
        Plot.tickX(bars, { x: "high", y: "row", stroke: "var(--ink)", inset: 4 }),
        Plot.dot(rows, {
          x: "to",
          y: "row",
          r: (r: Level) => (r.end ? 5 : 3.5),
          fill: (r: Level) => (r.end ? "var(--ink)" : colour(r)),
          stroke: "var(--surface)",
          ...says((r: Level) =>
            r.end
              ? `${r.row}\n${value(unit, r.to)}`
              : [r.row, value(unit, r.to), `difference ${change(r.c)}`, `95 % interval ${reach(r.c)}`, `${words(r.c.verdict)}: ${r.c.verdict_reason}`].join("\n"),
          ),
        }),
        Plot.text(told, { y: "row", text: (r: Level) => change(r.c), frameAnchor: "right", textAnchor: "end", dx: 62 }),
        Plot.text(told, {
          y: "row",
          text: (r: Level) => words(r.c.verdict),
          frameAnchor: "right",
          textAnchor: "start",
          dx: 72,
          fill: colour,
          fontWeight: 600,
        }),
      ],
    }),
  ];
}

interface Row {
  label: string;
  c: Comparison;
  addend: number | null;
  found: Record<string, boolean> | null;
}

function steps(ablation: Ablation): Row[] {
  const rows = ablation.steps.map((s: AblationStep): Row => ({ label: `+ ${s.label}`, c: s.comparison, addend: s.addend, found: s.isolation_found }));
  const sum = ablation.steps.reduce((all, s) => all + s.addend, 0);
  return [...rows, { label: "= whole", c: ablation.whole, addend: sum, found: null }];
}

function data(ablation: Ablation): HTMLElement {
  const on = (found: Row["found"]) =>
    found === null ? "" : Object.keys(found).filter((feature) => found[feature]).join(", ").replaceAll("_", " ") || "none";
  return table<Row>(
    [
      { head: "Added", cell: (r) => r.label },
      { head: "Before", number: true, cell: (r) => value(r.c.unit, r.c.reference_value) },
      { head: "After", number: true, cell: (r) => value(r.c.unit, r.c.candidate_value) },
      { head: "Difference", number: true, cell: (r) => change(r.c) },
      { head: "95 % interval", number: true, cell: (r) => reach(r.c) },
      { head: ablation.whole.relative ? "ln ratio" : "Adds", number: true, cell: (r) => plain(r.addend, 4) },
      { head: "Sign-flip p", number: true, cell: (r) => plain(r.c.p_sign_flip, 3) },
      { head: "Verdict", cell: (r) => verdict(r.c) },
      { head: "Why", cell: (r) => r.c.verdict_reason },
      { head: "Isolation read back", cell: (r) => on(r.found) },
    ],
    steps(ablation),
    `${sentence(name(ablation.whole))}, ${plural(ablation.whole.blocks, "block")}; Holm-corrected over the steps`,
  );
}

/** `changed` is called when another metric is chosen. */
export function ablation(page: Page, shown: Shown, changed: () => void): Figure | null {
  let chosen = page.ablations[0];
  if (chosen === undefined) return null;
  const options = page.ablations.map((a, i): [string, string] => [String(i), sentence(name(a.whole))]);
  return {
    id: "ablation-steps",
    title: "What each addition does",
    read:
      "From plain processes to containers, one addition a row, each on top of all above it: a bar goes from the value before " +
      "to the value after, its line is the 95 % interval of the step, and its colour the verdict, Holm-corrected over the " +
      "steps. The steps multiply to the whole. Neighbours share a deployment: what is too much in one is too little in the next.",
    controls: [
      choice("Metric", options, "0", (v) => {
        chosen = page.ablations[Number(v)];
        changed();
      }),
    ],
    draw: (width) => (chosen ? draw(chosen, shown, width) : []),
    data: () => data(chosen!),
  };
}
