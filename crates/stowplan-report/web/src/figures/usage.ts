// CPU and memory over time.

import * as Plot from "@observablehq/plot";
import type { Shown } from "../colours";
import type { Page, Usage } from "../data";
import { choice, table } from "../dom";
import type { Figure } from "../figure";
import { bytes, plain, sentence } from "../format";
import { base, fromData, grid, lines, some, stops, tip, under } from "./common";

/** Stops of the keyboard on one line. */
const STOPS = 16;

/** The subject that both figures show. */
export class SubjectChoice {
  value = "services";
  private readonly listeners: (() => void)[] = [];
  constructor(private readonly page: Page) {}

  control(): HTMLElement[] {
    const subjects = [...new Set(this.page.usage.flatMap((u) => u.series.map((s) => s.subject)))];
    if (!subjects.includes(this.value)) this.value = subjects[0] ?? "";
    const names: Record<string, string> = {
      services: "All services",
      machine: "The machine",
      stowplan: "Stowplan itself",
    };
    const name = (s: string): string => names[s] ?? (s.includes(": ") ? sentence(s) : `Service ${s}`);
    const options = subjects.map((s): [string, string] => [s, name(s)]);
    return [
      choice("Of", options, this.value, (value) => {
        this.value = value;
        for (const listener of this.listeners) listener();
      }),
    ];
  }

  onChange(listener: () => void): void {
    this.listeners.push(listener);
  }
}

interface Quantity {
  key: "cpus" | "mib";
  id: string;
  title: string;
  unit: string;
  read: string;
}

const CPU: Quantity = {
  key: "cpus",
  id: "usage-cpu",
  title: "CPU over time",
  unit: "CPUs",
  read:
    "CPU time per time, median over the runs: 1 is one CPU busy all the time. The window that latencies are measured in is " +
    "shaded; left of it lie start-up and warm-up.",
};
const MEMORY: Quantity = {
  key: "mib",
  id: "usage-memory",
  title: "Memory over time",
  unit: "MiB",
  read:
    "Memory charged by the kernel, median over the runs. A file that several services map is charged to the one that " +
    "touched it first. Of a module it is what is resident of its processes: pages that they share count in each.",
};

export function cpu(page: Page, shown: Shown, subject: SubjectChoice): Figure {
  return overTime(page, shown, subject, CPU);
}
export function memory(page: Page, shown: Shown, subject: SubjectChoice): Figure {
  return overTime(page, shown, subject, MEMORY);
}

function overTime(page: Page, shown: Shown, subject: SubjectChoice, what: Quantity): Figure {
  const views = () => page.usage.filter((u) => shown.has(u.deployment));
  const format = (v: number) => (what.key === "cpus" ? plain(v, 3) : bytes(v * 1024 * 1024));
  return {
    id: what.id,
    title: what.title,
    read: what.read,
    draw(width) {
      const points = views().flatMap((u) => {
        const series = u.series.find((s) => s.subject === subject.value);
        if (!series) return [];
        return series[what.key].map((v, i) => ({
          label: shown.label(u.deployment),
          dash: shown.dash(u.deployment),
          t: series.from_s + series.step_s * i,
          // Not a number breaks the line: nothing is known there.
          v: v ?? NaN,
        }));
      });
      if (!points.some((p) => Number.isFinite(p.v))) return [];
      const known = points.filter((p) => Number.isFinite(p.v));
      const text = (p: (typeof points)[number]) => `${p.label}\n${p.t.toFixed(1)} s since arm\n${what.key === "cpus" ? `${format(p.v)} CPUs` : format(p.v)}`;
      const stopped = views().flatMap((u) => some(known.filter((p) => p.label === shown.label(u.deployment)), STOPS));
      const last = Math.max(...points.map((p) => p.t));
      const window = [{ from: 0, to: Math.min(page.experiment.window_s, last) }];
      return [
        Plot.plot({
          ...base,
          width,
          height: Math.min(320, Math.max(230, width * 0.3)),
          marginTop: 26,
          marginLeft: 52,
          marginRight: 24,
          x: { ...under, label: "time since arm (s)" },
          y: { label: what.unit, domain: fromData(Math.min(...known.map((p) => p.v)), Math.max(...known.map((p) => p.v))) },
          color: shown.scale(),
          marks: [
            Plot.rectX(window, { x1: "from", x2: "to", fill: "var(--shade)" }),
            Plot.gridY(grid),
            ...lines(points, {
              x: "t",
              y: "v",
              strokeWidth: 1.8,
              title: text,
              tip,
            }),
            stops(stopped, (p) => p.t, (p) => p.v, text),
          ],
        }),
      ];
    },
    data() {
      const subjects = [...new Set(views().flatMap((u) => u.series.map((s) => s.subject)))];
      return table(
        [
          { head: "Subject", cell: (s: string) => sentence(s) },
          ...views().map((u: Usage) => ({
            head: shown.label(u.deployment),
            number: true,
            cell: (s: string) => (what.key === "cpus" ? plain(u.cpus[s], 3) : bytes(u.memory[s])),
          })),
        ],
        subjects,
        what.key === "cpus" ? "Mean CPUs in the window" : "Highest memory in the window, mean over the runs",
      );
    },
  };
}
