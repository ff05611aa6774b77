// Sections that are tables.

import type { Shown } from "./colours";
import type { Chain, Deployment, Loss, Page, Samples, SharedMemory } from "./data";
import { fold, h, table } from "./dom";
import { bytes, count, inUnit, missing, plain, plural, sentence, time, unitFor } from "./format";

function swatch(shown: Shown, id: string): HTMLElement {
  return h("span", { class: "swatch", style: `background:${shown.colour(id)}`, "aria-hidden": "true" });
}

export function named(shown: Shown, id: string, label: string): HTMLElement {
  return h("span", { class: "named" }, swatch(shown, id), label);
}

export function deployments(page: Page, shown: Shown): HTMLElement {
  const classes = [...new Set(page.deployments.flatMap((d) => Object.keys(d.edges)))];
  return table<Deployment>(
    [
      { head: "Deployment", cell: (d) => named(shown, d.id, d.label) },
      { head: "Services", number: true, cell: (d) => count(d.services) },
      { head: "Processes", number: true, cell: (d) => count(d.processes) },
      { head: "Participants", number: true, cell: (d) => count(d.participants) },
      ...classes.map((c) => ({
        head: `${sentence(c.replace(/[_-]/g, " "))} edges`,
        number: true,
        cell: (d: Deployment) => {
          const edges = d.edges[c];
          return edges ? `${count(edges.edges)} (${bytes(edges.bytes_per_s)}/s)` : missing;
        },
      })),
      {
        head: "Runs",
        number: true,
        cell: (d) => (d.refused ? "not run" : d.finished === d.runs ? count(d.runs) : `${d.finished} of ${d.runs}`),
      },
    ],
    page.deployments,
    "Deployments",
  );
}

type Statistic = [head: string, of: (s: Samples["summary"]) => number | null, pure?: boolean];

/** What a reader looks for first. */
const FEW: Statistic[] = [
  ["Std", (s) => s.std],
  ["Q50", (s) => s.q50],
  ["P99", (s) => s.p99],
  ["Max", (s) => s.max],
];

const FIGURES: Statistic[] = [
  ["Pooled mean", (s) => s.mean],
  ["Std", (s) => s.std],
  ["Skew", (s) => s.skewness, true],
  ["Kurtosis", (s) => s.kurtosis, true],
  ["Min", (s) => s.min],
  ["Q25", (s) => s.q25],
  ["Q50", (s) => s.q50],
  ["Q75", (s) => s.q75],
  ["P99", (s) => s.p99],
  ["P99.9", (s) => s.p999],
  ["Max", (s) => s.max],
];

/** The papers' four, and what an input waits for. */
const ANSWERING = ["e2e_paper", "idle", "communication", "computation", "reaction", "data_age"];

/** What is looked for first, and the layout of betz2024's Table VI folded beneath. */
export function statistics(page: Page, chain: Chain, shown: Shown): HTMLElement[] {
  return [
    statisticsTable(page, chain, shown, FEW, true),
    fold(`Every part and figure of chain ${chain.chain}: pooled mean, skewness, kurtosis, quartiles`, statisticsTable(page, chain, shown, FIGURES, false)),
  ];
}

function statisticsTable(page: Page, chain: Chain, shown: Shown, figures: Statistic[], ofBlocks: boolean): HTMLElement {
  const e2e = chain.deployments.map((d) => d.parts["e2e_paper"]?.summary.q75 ?? d.parts["e2e_paper"]?.summary.mean ?? 0);
  const unit = unitFor(Math.max(0, ...e2e));
  const summaries = chain.deployments.flatMap((d) => Object.values(d.parts).map((part) => part.summary));
  const known = figures.filter(([, of]) => summaries.some((s) => of(s) !== null));
  const parts = page.parts.filter(([key]) => !ofBlocks || ANSWERING.includes(key));
  const bodies = parts.flatMap(([key, label]) => {
    const rows = chain.deployments.flatMap((d) => {
      const samples = d.parts[key];
      return samples ? [{ id: d.deployment, summary: samples.summary, mean: samples.block_mean }] : [];
    });
    if (rows.length === 0) return [];
    return [
      h(
        "tbody",
        {},
        rows.map((row, i) =>
          h(
            "tr",
            {},
            i === 0 ? h("th", { scope: "rowgroup", rowspan: rows.length, class: "group" }, label) : null,
            h("th", { scope: "row" }, named(shown, row.id, shown.label(row.id))),
            h("td", { class: "number" }, count(row.summary.n)),
            ofBlocks ? h("td", { class: "number" }, inUnit(row.mean, unit)) : null,
            known.map(([, of, pure]) =>
              h("td", { class: "number" }, pure ? plain(of(row.summary)) : inUnit(of(row.summary), unit)),
            ),
          ),
        ),
      ),
    ];
  });
  const head = ["Metric", "Deployment", "N", ...(ofBlocks ? ["Mean"] : []), ...known.map(([name]) => name)];
  const caption = `Chain ${chain.chain}, ${unit.name}`;
  return h(
    "div",
    { class: "scroll", tabindex: 0, role: "region", "aria-label": caption },
    h(
      "table",
      { class: "statistics" },
      h("caption", {}, caption),
      h(
        "thead",
        {},
        h("tr", {}, head.map((name, i) => h("th", { scope: "col", class: i > 1 ? "number" : null }, name))),
      ),
      bodies,
    ),
  );
}

/** Inputs of a chain and what became of them. */
export function inputs(chain: Chain, shown: Shown): HTMLElement {
  return table(
    [
      { head: "Deployment", cell: (d: Chain["deployments"][number]) => named(shown, d.deployment, shown.label(d.deployment)) },
      { head: "Inputs", number: true, cell: (d) => count(d.inputs) },
      { head: "Overwritten", number: true, cell: (d) => count(d.overwritten) },
      { head: "Without an output", number: true, cell: (d) => count(d.without_output) },
      {
        head: "Share",
        number: true,
        cell: (d) => (d.inputs > 0 ? `${((d.without_output / d.inputs) * 100).toFixed(2)} %` : missing),
      },
      { head: "Left out", number: true, cell: (d) => count(d.left_out) },
    ],
    chain.deployments,
    `Inputs of chain ${chain.chain}`,
  );
}

export function losses(page: Page, shown: Shown): HTMLElement {
  const causes = [...new Set(page.losses.flatMap((l) => Object.keys(l.causes)))];
  return table<Loss>(
    [
      { head: "Deployment", cell: (l) => named(shown, l.deployment, shown.label(l.deployment)) },
      ...causes.map((cause) => ({
        head: sentence(cause.replace("-", " ")),
        number: true,
        cell: (l: Loss) => count(l.causes[cause] ?? null),
      })),
      {
        head: "Edges that lost most",
        cell: (l) =>
          h(
            "ul",
            { class: "plain" },
            l.worst.slice(0, 3).map(([topic, to, cause, lost, of]) =>
              h("li", {}, h("code", {}, topic), ` → ${to}: ${count(lost)}${of === null ? "" : ` of ${count(of)}`} ${cause}`),
            ),
          ),
      },
    ],
    page.losses,
    "Messages lost, by cause",
  );
}

/** Memory with what processes share divided between them. */
export function sharedMemory(page: Page, shown: Shown): HTMLElement {
  const figures = page.memory[0]?.bytes.map(([name]) => name) ?? [];
  return table<SharedMemory>(
    [
      { head: "Deployment", cell: (m) => named(shown, m.deployment, shown.label(m.deployment)) },
      ...figures.map((head, i) => ({ head, number: true, cell: (m: SharedMemory) => bytes(m.bytes[i]?.[1]) })),
    ],
    page.memory,
    "Memory by share (PSS) just after the window, mean over the runs: a page that several processes map counts for each by its share",
  );
}

/** Phases that the start of the nodes gave timers on chains. */
export function phases(page: Page, shown: Shown): HTMLElement {
  const rows = page.phases.flatMap((timer) =>
    Object.entries(timer.by).map(([deployment, blocks]) => ({ timer, deployment, ns: Object.values(blocks) })),
  );
  return table<(typeof rows)[number]>(
    [
      { head: "Timer", cell: (r) => h("code", {}, r.timer.timer) },
      { head: "Deployment", cell: (r) => named(shown, r.deployment, shown.label(r.deployment)) },
      { head: "Period", number: true, cell: (r) => time(r.timer.period_ns) },
      { head: "First release, by block", cell: (r) => r.ns.map((ns) => time(ns)).join(", ") },
    ],
    rows,
    "Timer phases, as the start of the nodes happened to give them",
  );
}

/** Rankings of the partitions where assumed parameters had other values in every block. */
export function rankings(page: Page): HTMLElement {
  const partition = (id: string) => page.deployments.find((d) => d.id === id)?.partition ?? id;
  const rows = page.rankings.flatMap((r) => [
    { r, order: r.order.map(partition).join(" < "), survived: r.survived, decided: r.decided },
    ...(r.pairs.length > 1 ? r.pairs : []).map((p) => ({
      r,
      order: `${partition(p.first)} before ${partition(p.second)}`,
      survived: p.survived,
      decided: p.decided,
    })),
  ]);
  return table<(typeof rows)[number]>(
    [
      { head: "Metric", cell: ({ r }) => sentence(r.subject ? `${r.label}, ${r.subject}` : r.label) },
      { head: "At", cell: ({ r }) => r.place },
      { head: "Ranking, least first", cell: (row) => row.order },
      { head: "Survived", number: true, cell: ({ r, survived }) => `${((survived / r.blocks) * 100).toFixed(0)} %` },
      { head: "Blocks", number: true, cell: ({ r }) => count(r.blocks) },
      { head: "So", cell: ({ decided }) => (decided ? "decided" : "undecided") },
    ],
    rows,
    "Assumed parameters had other values in every block; below 90 %, or with less than 10 blocks, a ranking is undecided",
  );
}

/** Settings in which deployments differ from those that they are compared with, as read back from their processes. */
export function differenceList(page: Page, shown: Shown): HTMLElement | null {
  const rows = page.deployments.flatMap((d) => d.differences.map((change) => ({ d, change })));
  if (rows.length === 0) return null;
  const list = table(
    [
      { head: "Deployment", cell: (r: (typeof rows)[number]) => named(shown, r.d.id, r.d.label) },
      { head: "Against", cell: (r) => r.change[0] },
      { head: "Setting", cell: (r) => r.change[1] },
      { head: "There", cell: (r) => r.change[2] },
      { head: "Here", cell: (r) => r.change[3] },
    ],
    rows,
    "As read back from the processes: there in the deployment that it is compared with, here in its own",
  );
  return fold(`${plural(rows.length, "setting")} that differ between deployments`, list);
}

