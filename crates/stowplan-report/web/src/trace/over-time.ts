// Latency of the chains' instances over the time of the trace.

import * as Plot from "@observablehq/plot";
import type { Shown } from "../colours";
import { segments, table } from "../dom";
import type { Figure } from "../figure";
import { base, grid, some, stops, tip, under } from "../figures/common";
import { count, inUnit, unitFor } from "../format";
import type { Measured, TracePage } from "./data";

/** Points of a chain at which the keyboard stops. */
const STOPS = 40;

interface Point {
  label: string;
  /** ns since the first event of the trace. */
  at: number;
  ns: number;
}

/** From where latency is counted, and how its axis is. */
export class OverTimeChoice {
  from: "start" | "publication" = "start";
  log = false;
  private readonly listeners: (() => void)[] = [];

  onChange(listener: () => void): void {
    this.listeners.push(listener);
  }

  change(change: () => void): void {
    change();
    for (const listener of this.listeners) listener();
  }
}

function points(chain: Measured, from: "start" | "publication"): Point[] {
  let at = 0;
  return chain.over_time.at.flatMap((step, i) => {
    at += step;
    const ns = chain.over_time[from][i] ?? null;
    return ns === null ? [] : [{ label: chain.label, at, ns }];
  });
}

export function overTime(page: TracePage, of: OverTimeChoice, shown: Shown): Figure {
  const visible = () => page.chains.filter((c) => shown.has(c.label)).map((c) => points(c, of.from));
  return {
    id: "latency-over-time",
    title: "Latency over time",
    read:
      "A dot is an instance of a chain: when its output was published, and how long it took end to end. Drift, steps and bursts show here and not in a " +
      "distribution. Of a chain with many instances, the fastest and the slowest of each stretch are drawn.",
    controls: [
      segments("Counted from", [["start", "First start"], ["publication", "Publication"]], of.from, (v) =>
        of.change(() => (of.from = v === "publication" ? v : "start")),
      ),
      segments("Latency axis", [["linear", "Linear"], ["log", "Log"]], of.log ? "log" : "linear", (v) => of.change(() => (of.log = v === "log"))),
    ],
    draw(width) {
      const chains = visible();
      const all = chains.flat();
      if (all.length === 0) return [];
      const unit = unitFor(Math.max(...all.map((p) => p.ns)));
      const text = (p: Point) => `${p.label}\n${inUnit(p.ns, unit)} ${unit.name}\noutput at ${(p.at / 1e9).toFixed(3)} s`;
      const low = Math.max(1, Math.min(...all.map((p) => p.ns)));
      const high = Math.max(...all.map((p) => p.ns));
      return [
        Plot.plot({
          ...base,
          width,
          height: Math.min(360, Math.max(260, width * 0.34)),
          marginTop: 26,
          marginLeft: 58,
          marginRight: 24,
          x: { ...under, label: "time since the first event of the trace (s)", transform: (ns: number) => ns / 1e9, nice: false },
          y: {
            type: of.log ? "log" : "linear",
            domain: of.log ? [low / unit.ns, high / unit.ns] : [0, (high * 1.04) / unit.ns],
            label: `end to end (${unit.name})`,
            transform: (ns: number) => ns / unit.ns,
            ...(of.log ? { tickFormat: "~g" } : {}),
          },
          color: shown.scale(),
          marks: [
            Plot.gridX(grid),
            Plot.gridY(grid),
            Plot.dot(all, { x: "at", y: "ns", fill: "label", fillOpacity: 0.75, r: all.length > 1500 ? 1.4 : 2.2, title: text, tip }),
            stops(chains.flatMap((one) => some(one, STOPS)), (p) => p.at, (p) => p.ns, text),
          ],
        }),
      ];
    },
    data() {
      const rows = page.chains.filter((c) => shown.has(c.label));
      const slowest = (c: Measured) => points(c, of.from).reduce<Point | null>((a, b) => (a === null || b.ns > a.ns ? b : a), null);
      const unit = unitFor(Math.max(1, ...rows.map((c) => slowest(c)?.ns ?? 0)));
      return table<Measured>(
        [
          { head: "Chain", cell: (c) => c.label },
          { head: "Instances", number: true, cell: (c) => count(c.over_time.of) },
          { head: "Drawn", number: true, cell: (c) => count(points(c, of.from).length) },
          { head: `Slowest (${unit.name})`, number: true, cell: (c) => inUnit(slowest(c)?.ns, unit) },
          { head: "at (s)", number: true, cell: (c) => ((slowest(c)?.at ?? 0) / 1e9).toFixed(3) },
        ],
        rows,
        "The slowest instance of each chain, and when its output was published",
      );
    },
  };
}
