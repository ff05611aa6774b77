// Start-up: every run, and a timeline per module.

import * as Plot from "@observablehq/plot";
import type { Shown } from "../colours";
import type { Page, Quartiles, Startup } from "../data";
import { segments, table } from "../dom";
import type { Figure } from "../figure";
import { inUnit, missing, sentence, unitFor } from "../format";
import { base, fromData, grid, linesOf, marginFor, says, under, wrapped } from "./common";

function mean(values: number[]): number | null {
  return values.length === 0 ? null : values.reduce((sum, v) => sum + v, 0) / values.length;
}

/** Mean over the blocks, each the mean over its runs: as it is compared. */
export function meanOf(s: Startup, instant: string): number | null {
  const blocks = new Map<number, number[]>();
  for (const run of s.runs) {
    const ns = run.ns[instant];
    if (ns !== undefined) blocks.set(run.block, [...(blocks.get(run.block) ?? []), ns]);
  }
  return mean([...blocks.values()].map((values) => mean(values)!));
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
      "the papers' total; diamonds the first complete output of the last chain. The tick is the mean over the blocks; that of the first output stands at the right.",
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
      const means = all.flatMap((s) =>
        instants.flatMap((instant) => {
          const ns = meanOf(s, instant);
          return ns === null ? [] : [{ label: shown.label(s.deployment), instant, ns }];
        }),
      );
      const labels = all.map((s) => shown.label(s.deployment));
      const margin = marginFor(labels, width);
      const [low, high] = fromData(Math.min(...points.map((p) => p.ns)), Math.max(...points.map((p) => p.ns)));
      return [
        Plot.plot({
          ...base,
          width,
          marginLeft: margin,
          marginRight: 96,
          height: 56 + labels.length * Math.max(36, linesOf(labels, margin) * 15),
          x: { ...under, label: `time since t0 (${unit.name})`, domain: [low / unit.ns, high / unit.ns], transform: (ns: number) => ns / unit.ns },
          y: { domain: labels, label: null, tickSize: 0, tickFormat: (label: string) => wrapped(label, margin) },
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
              ...says((p: (typeof points)[number]) => `${p.label}\n${sentence(names.get(p.instant) ?? p.instant)}: ${inUnit(p.ns, unit)} ${unit.name}\nrun ${p.run}, block ${p.block}`),
            }),
            Plot.tickX(means, { x: "ns", y: "label", stroke: "label", strokeWidth: 2.5, insetTop: 5, insetBottom: 5 }),
            Plot.text(means.filter((m) => m.instant === "first_output" || !means.some((o) => o.label === m.label && o.instant === "first_output")), {
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
            cell: (s: Startup) => inUnit(meanOf(s, key), unit),
          })),
        ],
        rows,
        `Means over the blocks in ${unit.name} since t0, ${choice.value}`,
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
      const [low, high] = fromData(Math.min(...bars.map((b) => b.begin)), Math.max(...bars.map((b) => b.high)));
      const row = labels.length > 6 ? 8 : 11;
      const margin = marginFor(modules, width);
      const text = (b: (typeof bars)[number]) =>
        `${b.module}, ${b.label}\nfrom ${inUnit(b.begin, unit)} to ${inUnit(b.end, unit)} ${unit.name}\ntakes ${inUnit(b.end - b.begin, unit)} ${unit.name}`;
      return [
        Plot.plot({
          ...base,
          width,
          marginLeft: margin,
          marginRight: 24,
          height: 56 + modules.length * (labels.length * row + 12),
          x: { ...under, label: `time since t0 (${unit.name})`, domain: [low / unit.ns, high / unit.ns], transform: (ns: number) => ns / unit.ns },
          fy: { domain: modules, label: null, padding: 0.14, axis: null },
          y: { domain: labels, axis: null, padding: 0.12 },
          color: shown.scale(),
          marks: [
            Plot.gridX(grid),
            Plot.axisFy({ anchor: "left", textAnchor: "end", frameAnchor: "left", dx: -10, fontWeight: 500, label: null, tickFormat: (label: string) => wrapped(label, margin) }),
            Plot.barX(bars, {
              x1: "begin",
              x2: "end",
              y: "label",
              fy: "module",
              fill: "label",
              rx: 2,
              ...says(text),
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
