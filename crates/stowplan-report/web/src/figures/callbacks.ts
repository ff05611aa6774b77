// What a call of each callback takes.

import * as Plot from "@observablehq/plot";
import type { Shown } from "../colours";
import type { CallbackTimes, Page } from "../data";
import { segments, table } from "../dom";
import type { Figure } from "../figure";
import { count, inUnit, missing, unitFor, type Unit } from "../format";
import { base, grid, linesOf, marginFor, says, under, wrapped } from "./common";

/** Callbacks that are drawn; the table has all. */
const DRAWN = 16;
/** Times that differ by more than this factor are drawn on a logarithmic axis. */
const FAR = 30;

type Key = "wall_ns" | "cpu_ns" | "preempted_ns";

const NAMES: [Key, string][] = [
  ["wall_ns", "Wall time"],
  ["cpu_ns", "CPU time"],
  ["preempted_ns", "Preempted"],
];

/** `changed` is called when another time is chosen. */
export function callbacks(page: Page, shown: Shown, changed: () => void): Figure {
  const known = NAMES.filter(([key]) => page.callbacks.some((c) => Object.values(c.by).some((of) => of[key] !== null)));
  let of: Key = known[0]?.[0] ?? "wall_ns";
  const label = () => NAMES.find(([key]) => key === of)![1];
  return {
    id: "callbacks-times",
    title: "Calls of callbacks",
    read:
      "Mean over the blocks of what a call takes. Callbacks of chains come first, in their order, then those that took most time. " +
      "A callback that takes longer and uses as much CPU time waited for a CPU.",
    controls:
      known.length > 1
        ? [
            segments("Time", known, of, (v) => {
              of = v as Key;
              changed();
            }),
          ]
        : [],
    draw(width) {
      const drawn = page.callbacks.slice(0, DRAWN);
      const points = drawn.flatMap((c) =>
        shown.ids().flatMap((id) => {
          const ns = c.by[id]?.[of] ?? null;
          return ns === null ? [] : [{ callback: c.callback, chains: c.chains, label: shown.label(id), ns, calls: c.by[id]!.calls }];
        }),
      );
      if (points.length === 0) return [];
      const unit = unitFor(Math.max(...points.map((p) => p.ns)));
      const names = [...new Set(points.map((p) => p.callback))];
      const onChain = new Set(drawn.filter((c) => c.chains.length).map((c) => c.callback));
      const margin = marginFor(names, width);
      const times = points.map((p) => p.ns);
      // Callbacks that take microseconds would all lie on the axis beside one that takes half a second.
      const log = Math.min(...times) > 0 && Math.max(...times) > FAR * Math.min(...times);
      const spans = names.map((callback) => {
        const ns = points.filter((p) => p.callback === callback).map((p) => p.ns);
        return { callback, from: Math.min(...ns), to: Math.max(...ns) };
      });
      return [
        Plot.plot({
          ...base,
          width,
          marginLeft: margin,
          marginRight: 24,
          height: 52 + names.length * Math.max(24, linesOf(names, margin) * 15),
          x: { ...under, label: `${label()} of a call (${unit.name}${log ? ", logarithmic" : ""})`, ...(log ? { type: "log", tickFormat: "~g", ticks: Math.max(3, Math.floor(width / 200)) } : { zero: true }), transform: (ns: number) => ns / unit.ns },
          y: { domain: names, label: null, axis: null },
          color: shown.scale(),
          marks: [
            Plot.gridX(grid),
            Plot.axisY({ tickSize: 0, label: null, tickFormat: (name: string) => wrapped(name, margin), fontWeight: ((name: string) => (onChain.has(name) ? 650 : 400)) as unknown as number }),
            Plot.ruleY(spans, { x1: "from", x2: "to", y: "callback", stroke: "var(--line)", strokeWidth: 2 }),
            Plot.dot(points, {
              x: "ns",
              y: "callback",
              r: 4.5,
              fill: "label",
              stroke: "var(--surface)",
              ...says((p: (typeof points)[number]) =>
                [`${p.callback}, ${p.label}`, `${label()} of a call: ${inUnit(p.ns, unit)} ${unit.name}`, `${count(p.calls)} calls`, ...(p.chains.length ? [`on ${p.chains.join(", ")}`] : [])].join("\n"),
              ),
            }),
          ],
        }),
      ];
    },
    data() {
      const ids = shown.ids().filter((id) => page.callbacks.some((c) => c.by[id]));
      const times = page.callbacks.flatMap((c) => ids.map((id) => c.by[id]?.wall_ns ?? 0));
      const unit = unitFor(Math.max(0, ...times));
      return table<CallbackTimes>(
        [
          { head: "Callback", cell: (c) => c.callback },
          { head: "Chain", cell: (c) => c.chains.join(", ") || missing },
          ...ids.map((id) => ({ head: shown.label(id), number: true, cell: (c: CallbackTimes) => cell(c, id, unit) })),
        ],
        page.callbacks,
        `Mean wall time of a call in ${unit.name}; in brackets its CPU time and how long it was preempted, where that was recorded`,
      );
    },
  };
}

function cell(c: CallbackTimes, id: string, unit: Unit): string {
  const of = c.by[id];
  if (!of) return missing;
  const beside = [of.cpu_ns === null ? [] : inUnit(of.cpu_ns, unit), of.preempted_ns === null ? [] : inUnit(of.preempted_ns, unit)].flat();
  return `${inUnit(of.wall_ns, unit)}${beside.length ? ` (${beside.join(", ")})` : ""}`;
}
