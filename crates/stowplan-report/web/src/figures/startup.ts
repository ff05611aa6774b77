// Start-up: every run, and a timeline per module.

import * as Plot from "@observablehq/plot";
import type { Shown } from "../colours";
import type { Page, Quartiles, Startup } from "../data";
import { segments, table } from "../dom";
import type { Figure } from "../figure";
import { inUnit, missing, sentence, unitFor } from "../format";
import { base, grid, marginFor, tip, under } from "./common";

function median(values: number[]): number | null {
  if (values.length === 0) return null;
  const sorted = [...values].sort((a, b) => a - b);
  const middle = (sorted.length - 1) / 2;
  return (sorted[Math.floor(middle)]! + sorted[Math.ceil(middle)]!) / 2;
}

/** The state of the page cache that both figures show. */
export class StartChoice {
  readonly starts: string[];
  value: string;
  private readonly listeners: (() => void)[] = [];

  constructor(page: Page) {
    this.starts = [...new Set(page.startup.map((s) => s.start))];
    this.value = this.starts[0] ?? "";
  }

  control(): HTMLElement[] {
    if (this.starts.length < 2) return [];
    const names: Record<string, string> = { cold: "Cold", rerun: "Re-run", warm: "Warm" };
    const options = this.starts.map((s): [string, string] => [s, names[s] ?? s]);
    return [
      segments("Page cache", options, this.value, (value) => {
        this.value = value;
        for (const listener of this.listeners) listener();
      }),
    ];
  }

  onChange(listener: () => void): void {
    this.listeners.push(listener);
  }
}

function views(page: Page, shown: Shown, choice: StartChoice): Startup[] {
  return page.startup.filter((s) => s.start === choice.value && shown.has(s.deployment));
}

export function startupRuns(page: Page, shown: Shown, choice: StartChoice): Figure {
  const names = new Map(page.instants);
  const instants = ["last_node_loaded", "first_output"];
  return {
    id: "startup-runs",
    title: "Start-up of the whole stack",
    read:
      "Each mark is one run, measured from t0 (before create, images present): circles are the last node loaded, " +
      "the papers' total; diamonds the first complete output of the last chain, whose median stands at the right. Left is faster.",
    draw(width) {
      const all = views(page, shown, choice);
      if (all.length === 0) return [];
      const points = all.flatMap((s) =>
        s.runs.flatMap((run) =>
          instants.flatMap((instant) => {
            const ns = run.ns[instant];
            return ns === undefined
              ? []
              : [{ label: shown.label(s.deployment), instant, ns, run: run.run, block: run.block }];
          }),
        ),
      );
      const unit = unitFor(Math.max(0, ...points.map((p) => p.ns)));
      const medians = all.flatMap((s) =>
        instants.flatMap((instant) => {
          const ns = median(s.runs.flatMap((r) => r.ns[instant] ?? []));
          return ns === null ? [] : [{ label: shown.label(s.deployment), instant, ns }];
        }),
      );
      const labels = all.map((s) => shown.label(s.deployment));
      return [
        Plot.plot({
          ...base,
          width,
          marginLeft: marginFor(labels, width),
          marginRight: 96,
          height: 56 + labels.length * 36,
          x: { ...under, label: `time since t0 (${unit.name})`, zero: true, nice: true, transform: (ns: number) => ns / unit.ns },
          y: { domain: labels, label: null, tickSize: 0 },
          color: shown.scale(),
          symbol: { domain: instants, range: ["circle", "diamond"] },
          marks: [
            Plot.gridX(grid),
            Plot.dot(points, {
              x: "ns",
              y: "label",
              fill: "label",
              fillOpacity: 0.28,
              stroke: "label",
              strokeWidth: 1.2,
              symbol: "instant",
              r: 4.5,
              channels: { what: { value: (d) => names.get(d.instant) ?? d.instant, label: "instant" }, run: "run", block: "block" },
              tip: { ...tip, format: { fill: false, stroke: false, symbol: false, y: true, x: (v: number) => `${v.toFixed(unit.decimals)} ${unit.name}` } },
            }),
            Plot.tickX(medians, { x: "ns", y: "label", stroke: "label", strokeWidth: 2.5, insetTop: 5, insetBottom: 5 }),
            Plot.text(medians.filter((m) => m.instant === "first_output" || !medians.some((o) => o.label === m.label && o.instant === "first_output")), {
              y: "label",
              text: (m) => `${inUnit(m.ns, unit)} ${unit.name}`,
              frameAnchor: "right",
              textAnchor: "start",
              dx: 12,
              fontWeight: 600,
            }),
          ],
        }),
      ];
    },
    data() {
      const rows = views(page, shown, choice);
      const all = page.instants.filter(([key]) => rows.some((s) => s.runs.some((r) => r.ns[key] !== undefined)));
      const unit = unitFor(Math.max(0, ...rows.flatMap((s) => s.runs.flatMap((r) => Object.values(r.ns)))));
      return table(
        [
          { head: "Deployment", cell: (s: Startup) => shown.label(s.deployment) },
          { head: "Runs", number: true, cell: (s: Startup) => s.runs.length },
          ...all.map(([key, label]) => ({
            head: sentence(label),
            number: true,
            cell: (s: Startup) => inUnit(median(s.runs.flatMap((r) => r.ns[key] ?? [])), unit),
          })),
        ],
        rows,
        `Medians in ${unit.name} since t0, ${choice.value}`,
      );
    },
  };
}

export function startupModules(page: Page, shown: Shown, choice: StartChoice): Figure {
  return {
    id: "startup-modules",
    title: "Start-up per module",
    read:
      "A bar runs from a module's first node beginning to load to its last node loaded, medians over the runs; the thin " +
      "line is the middle half of the ends. Bars that begin one after another show what the launcher does serially.",
    draw(width) {
      const all = views(page, shown, choice);
      const bars = all.flatMap((s) =>
        s.modules.flatMap((m) =>
          m.begin && m.end
            ? [{ label: shown.label(s.deployment), module: m.module, begin: m.begin[1], end: m.end[1], low: m.end[0], high: m.end[2] }]
            : [],
        ),
      );
      if (bars.length === 0) return [];
      const modules = [...new Set(bars.map((b) => b.module))];
      const labels = all.map((s) => shown.label(s.deployment));
      const unit = unitFor(Math.max(...bars.map((b) => b.high)));
      const row = labels.length > 6 ? 8 : 11;
      return [
        Plot.plot({
          ...base,
          width,
          marginLeft: marginFor(modules, width),
          marginRight: 24,
          height: 56 + modules.length * (labels.length * row + 12),
          x: { ...under, label: `time since t0 (${unit.name})`, zero: true, transform: (ns: number) => ns / unit.ns },
          fy: { domain: modules, label: null, padding: 0.14, axis: null },
          y: { domain: labels, axis: null, padding: 0.12 },
          color: shown.scale(),
          marks: [
            Plot.gridX(grid),
            Plot.axisFy({ anchor: "left", textAnchor: "end", frameAnchor: "left", dx: -10, fontWeight: 500, label: null }),
            Plot.barX(bars, {
              x1: "begin",
              x2: "end",
              y: "label",
              fy: "module",
              fill: "label",
              rx: 2,
              channels: { took: { value: (b) => `${inUnit(b.end - b.begin, unit)} ${unit.name}`, label: "took" } },
              tip: { ...tip, format: { fill: false, x1: (v: number) => v.toFixed(unit.decimals), x2: (v: number) => v.toFixed(unit.decimals) } },
            }),
            Plot.ruleY(bars, { x1: "low", x2: "high", y: "label", fy: "module", stroke: "var(--ink)", strokeOpacity: 0.65, strokeWidth: 1.3 }),
          ],
        }),
      ];
    },
    data() {
      const all = views(page, shown, choice);
      const modules = [...new Set(all.flatMap((s) => s.modules.map((m) => m.module)))];
      const ends = all.flatMap((s) => s.modules.flatMap((m) => m.end?.[2] ?? []));
      const unit = unitFor(Math.max(0, ...ends));
      const show = (q: Quartiles) => (q ? inUnit(q[1], unit) : missing);
      return table(
        [
          { head: "Module", cell: (module: string) => module },
          ...all.flatMap((s) => {
            const of = (module: string) => s.modules.find((m) => m.module === module);
            const label = shown.label(s.deployment);
            return [
              { head: `${label}: begins`, number: true, cell: (m: string) => show(of(m)?.begin ?? null) },
              { head: "takes", number: true, cell: (m: string) => show(of(m)?.took ?? null) },
            ];
          }),
        ],
        modules,
        `Medians in ${unit.name}, ${choice.value}`,
      );
    },
  };
}
