// Means of several things in several deployments: a row each, a dot for each deployment.

import * as Plot from "@observablehq/plot";
import type { Shown } from "../colours";
import { segments } from "../dom";
import type { Figure } from "../figure";
import { inUnit, unitFor } from "../format";
import { base, grid, linesOf, marginFor, says, under, wrapped } from "./common";

/** What a row is of. */
export interface Dotted {
  name: string;
  /** Part of a chain: its name is drawn bold. */
  chain: boolean;
  /** By id of the deployment: times in ns by their keys. */
  by: Record<string, Record<string, number | null>>;
  /** What else the marks of a deployment say. */
  more: (id: string) => string[];
}

export interface Dots {
  id: string;
  title: string;
  read: string;
  rows: Dotted[];
  /** Times that there may be, and what of something they are. */
  times: [key: string, label: string][];
  of: string;
  data: () => HTMLElement;
}

/** Rows that are drawn; the table has all. */
const DRAWN = 16;
/** Times that differ by more than this factor are drawn on a logarithmic axis. */
const FAR = 30;
/** Size of names for what they need: bold ones are wider. */
const SIZE = 13.5;

interface Point {
  row: string;
  label: string;
  ns: number;
  more: string[];
}

function points(spec: Dots, shown: Shown, key: string): Point[] {
  return spec.rows.slice(0, DRAWN).flatMap((row) =>
    shown.ids().flatMap((id) => {
      const ns = row.by[id]?.[key] ?? null;
      return ns === null ? [] : [{ row: row.name, label: shown.label(id), ns, more: row.more(id) }];
    }),
  );
}

function draw(spec: Dots, shown: Shown, width: number, key: string, what: string): Element[] {
  const drawn = points(spec, shown, key);
  if (drawn.length === 0) return [];
  const times = drawn.map((p) => p.ns);
  const [least, most] = [Math.min(...times), Math.max(...times)];
  const unit = unitFor(most);
  // What takes microseconds would all lie on the axis beside what takes half a second.
  const log = least > 0 && most > FAR * least;
  const names = [...new Set(drawn.map((p) => p.row))];
  const bold = new Set(spec.rows.filter((row) => row.chain).map((row) => row.name));
  const margin = marginFor(names, width, SIZE);
  const spans = names.map((row) => {
    const ns = drawn.filter((p) => p.row === row).map((p) => p.ns);
    return { row, from: Math.min(...ns), to: Math.max(...ns) };
  });
  const name = (weight: number, rows: string[]) =>
    Plot.text(rows, { y: (row) => row, text: (row) => wrapped(row, margin, SIZE), frameAnchor: "left", textAnchor: "end", dx: -10, fontWeight: weight });
  return [
    Plot.plot({
      ...base,
      width,
      marginLeft: margin,
      marginRight: 24,
      height: 52 + names.length * Math.max(24, linesOf(names, margin, SIZE) * 15),
      x: {
        ...under,
        label: `${what} (${unit.name}${log ? ", logarithmic" : ""})`,
        ...(log ? { type: "log", tickFormat: "~g", ticks: Math.max(3, Math.floor(width / 200)) } : { zero: true }),
        transform: (ns: number) => ns / unit.ns,
      },
      y: { domain: names, label: null, axis: null },
      color: shown.scale(),
      marks: [
        Plot.gridX(grid),
        name(650, names.filter((row) => bold.has(row))),
        name(400, names.filter((row) => !bold.has(row))),
        Plot.ruleY(spans, { x1: "from", x2: "to", y: "row", stroke: "var(--line)", strokeWidth: 2 }),
        Plot.dot(drawn, {
          x: "ns",
          y: "row",
          r: 4.5,
          fill: "label",
          stroke: "var(--surface)",
          ...says((p: Point) => [`${p.row}, ${p.label}`, `${what}: ${inUnit(p.ns, unit)} ${unit.name}`, ...p.more].join("\n")),
        }),
      ],
    }),
  ];
}

/** `changed` is called when another time is chosen. */
export function dots(spec: Dots, shown: Shown, changed: () => void): Figure {
  const known = spec.times.filter(([key]) => spec.rows.some((row) => Object.values(row.by).some((of) => (of[key] ?? null) !== null)));
  let chosen = known[0] ?? spec.times[0]!;
  const control = segments("Time", known, chosen[0], (v) => {
    chosen = known.find(([key]) => key === v) ?? chosen;
    changed();
  });
  return {
    id: spec.id,
    title: spec.title,
    read: spec.read,
    controls: known.length > 1 ? [control] : [],
    draw: (width) => draw(spec, shown, width, chosen[0], `${chosen[1]} ${spec.of}`),
    data: spec.data,
  };
}
