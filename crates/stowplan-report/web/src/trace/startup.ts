// Start-up of a trace: a line per process, module or node.

import * as Plot from "@observablehq/plot";
import type { Figure } from "../figure";
import { base, grid, legend, marginFor, says, under } from "../figures/common";
import { inUnit, missing, plural, time, unitFor } from "../format";
import { choice, segments, table } from "../dom";
import type { StartedNode, TracePage } from "./data";

interface Row {
  label: string;
  from: number;
  to: number;
  marks: { what: string; at: number }[];
}

const INSTANTS: [what: string, colour: string][] = [
  ["rcl_init", "var(--d4)"],
  ["node made", "var(--d0)"],
  ["loaded", "var(--d2)"],
  ["first publication", "var(--d1)"],
  ["first callback", "var(--d3)"],
  ["transition", "var(--d5)"],
];

/** What the lines stand for. */
export class StartupChoice {
  by: string;
  module = "";
  private readonly listeners: (() => void)[] = [];

  constructor(page: TracePage) {
    this.by = page.startup.nodes.length <= 40 ? "nodes" : "modules";
  }

  onChange(listener: () => void): void {
    this.listeners.push(listener);
  }

  change(change: () => void): void {
    change();
    for (const listener of this.listeners) listener();
  }
}

function present(values: (number | null)[]): number[] {
  return values.filter((v): v is number => v !== null);
}

function instantsOf(node: StartedNode): { what: string; at: number }[] {
  const marks = [
    { what: "node made", at: node.init },
    { what: "loaded", at: node.loaded },
    { what: "first publication", at: node.publication },
    { what: "first callback", at: node.callback },
    ...node.transitions.map(([, at]) => ({ what: "transition", at })),
  ];
  return marks.filter((m): m is { what: string; at: number } => m.at !== null);
}

function nodeRows(nodes: StartedNode[]): Row[] {
  return nodes.flatMap((node) => {
    const marks = instantsOf(node);
    const begin = node.load_begin ?? node.init;
    if (begin === null || marks.length === 0) return [];
    // Later publications and callbacks belong to the system's life, not to the node's start.
    const ready = Math.max(begin, ...present([node.init, node.loaded]), ...present([node.publication, node.callback]).slice(0, 2));
    return [{ label: node.name, from: begin, to: ready, marks }];
  });
}

/** From the first node to the last: several nodes as one line. */
function grouped(label: string, nodes: StartedNode[], first: number | null, extra: { what: string; at: number }[]): Row[] {
  const made = present(nodes.map((n) => n.init ?? n.load_begin));
  const begin = first ?? (made.length ? Math.min(...made) : null);
  if (begin === null) return [];
  const marks = [...extra, ...made.map((at) => ({ what: "node made", at }))];
  const earliest = (what: string, values: (number | null)[]) => {
    const known = present(values);
    return known.length ? [{ what, at: Math.min(...known) }] : [];
  };
  marks.push(...earliest("first publication", nodes.map((n) => n.publication)));
  marks.push(...earliest("first callback", nodes.map((n) => n.callback)));
  const loaded = present(nodes.map((n) => n.loaded));
  if (loaded.length) marks.push({ what: "loaded", at: Math.max(...loaded) });
  return [{ label, from: begin, to: Math.max(begin, ...made, ...loaded), marks }];
}

function modules(page: TracePage): string[] {
  return [...new Set(page.startup.nodes.map((n) => n.module))];
}

function rows(page: TracePage, of: StartupChoice): Row[] {
  const { processes, nodes } = page.startup;
  switch (of.by) {
    case "processes":
      return processes.flatMap((process, index) => {
        const own = nodes.filter((n) => n.process === index);
        const init = process.rcl_init === null ? [] : [{ what: "rcl_init", at: process.rcl_init }];
        return grouped(process.name, own, process.start ?? process.first_event, init);
      });
    case "modules":
      return modules(page).flatMap((module) => {
        const own = nodes.filter((n) => n.module === module);
        return grouped(`${module} (${own.length})`, own, null, []);
      });
    default:
      return nodeRows(nodes.filter((n) => of.module === "" || n.module === of.module));
  }
}

const MOST_ROWS = 60;

export function startup(page: TracePage, of: StartupChoice): Figure {
  const called = page.startup.traced_modules ? "Modules" : "Namespaces";
  const names = modules(page);
  const all: [string, string][] = [["", "All"], ...names.map((m): [string, string] => [m, m])];
  return {
    id: "trace-startup",
    title: "Start-up",
    read:
      "A bar runs from the first sign of a process, of the first node of a group or of a node to its last node made or loaded " +
      "(of a node: to its first publication and callback); marks are single instants since the first event of the trace.",
    controls: [
      segments("Lines", [["processes", "Processes"], ["modules", called], ["nodes", "Nodes"]], of.by, (v) =>
        of.change(() => (of.by = v)),
      ),
      choice(`Nodes of`, all, of.module, (v) => of.change(() => ((of.module = v), (of.by = "nodes")))),
    ],
    draw(width) {
      const sorted = rows(page, of).sort((a, b) => a.from - b.from);
      if (sorted.length === 0) return [];
      const shown = sorted.slice(0, MOST_ROWS);
      const labels = shown.map((r, i) => ({ ...r, key: `${i}` }));
      const short = (label: string) => (label.length > 44 ? `…${label.slice(-43)}` : label);
      const marks = labels.flatMap((r) => r.marks.map((m) => ({ ...m, key: r.key, label: r.label })));
      const ends = [...labels.map((r) => r.to), ...marks.map((m) => m.at)];
      const latest = Math.max(...labels.map((r) => r.to)) * 1.02;
      const unit = unitFor(Math.max(...ends.filter((at) => at <= latest), 1));
      const used = INSTANTS.filter(([what]) => marks.some((m) => m.what === what && m.at <= latest));
      const left = document.createElement("p");
      left.className = "note";
      left.textContent =
        sorted.length > shown.length ? `The first ${shown.length} of ${sorted.length}; choose a namespace or module to see its nodes.` : "";
      return [
        legend(used),
        Plot.plot({
          ...base,
          width,
          marginLeft: marginFor(labels.map((r) => short(r.label)), width, 11),
          marginRight: 70,
          height: 56 + labels.length * 17,
          x: { ...under, label: `time since the first event (${unit.name})`, domain: [0, latest / unit.ns], transform: (ns: number) => ns / unit.ns },
          y: { domain: labels.map((r) => r.key), label: null, tickSize: 0, tickFormat: (key: string) => short(labels[Number(key)]!.label) },
          color: { domain: used.map(([what]) => what), range: used.map(([, colour]) => colour) },
          marks: [
            Plot.gridX(grid),
            Plot.barX(labels, {
              x1: "from",
              x2: "to",
              y: "key",
              fill: "var(--idle)",
              insetTop: 3,
              insetBottom: 3,
              rx: 2,
              ...says((r: (typeof labels)[number]) => `${r.label}\nfrom ${inUnit(r.from, unit)} to ${inUnit(r.to, unit)} ${unit.name}\ntakes ${time(r.to - r.from)}`),
            }),
            Plot.tickX(marks.filter((m) => m.at <= latest), { x: "at", y: "key", stroke: "what", strokeWidth: 2, insetTop: 2, insetBottom: 2 }),
            Plot.text(labels, { y: "key", text: (r) => `${inUnit(r.to, unit)} ${unit.name}`, frameAnchor: "right", textAnchor: "start", dx: 8, fontSize: 11 }),
          ],
        }),
        left,
      ];
    },
    data() {
      const shown = rows(page, of).sort((a, b) => a.from - b.from);
      const unit = unitFor(Math.max(1, ...shown.map((r) => r.to)));
      return table(
        [
          { head: "What", cell: (r: Row) => r.label },
          { head: "begins", number: true, cell: (r: Row) => inUnit(r.from, unit) },
          { head: "ends", number: true, cell: (r: Row) => inUnit(r.to, unit) },
          {
            head: "instants",
            cell: (r: Row) =>
              r.marks.length > 8 ? plural(r.marks.length, "instant") : r.marks.map((m) => `${m.what} ${inUnit(m.at, unit)}`).join(", ") || missing,
          },
        ],
        shown,
        `In ${unit.name} since the first event of the trace`,
      );
    },
  };
}
