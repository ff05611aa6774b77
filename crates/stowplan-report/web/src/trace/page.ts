// The page of a trace.

import { Shown } from "../colours";
import type { Chain, Page } from "../data";
import { h, table } from "../dom";
import { figure, linked } from "../figure";
import { ecdf, histogram, LatencyChoice } from "../figures/latency";
import { parts } from "../figures/parts";
import { controls, frame, warnings, type Section } from "../frame";
import { count, inUnit, missing, plural, time, unitFor } from "../format";
import { callbackDurations, callbackTable, Selected } from "./callbacks";
import type { Measured, TracePage } from "./data";
import { graph, GraphChoice } from "./graph";
import { links, topicTable } from "./links";
import { overTime, OverTimeChoice } from "./over-time";
import { timeline, TimelineChoice } from "./timeline";
import { startup, StartupChoice } from "./startup";

function facts(page: TracePage): HTMLElement {
  const f = page.facts;
  const told: [string, string][] = [
    ["Distribution", f.tracetools ? `${f.distribution} (tracetools ${f.tracetools})` : f.distribution],
    ["Length", `${time(f.duration_ns)}, ${plural(f.events, "event")}`],
    ["Discarded events", count(f.discarded)],
    ["Processes", f.hosts > 1 ? `${count(f.processes)} on ${f.hosts} hosts` : count(f.processes)],
    ["Nodes", count(f.nodes)],
    ["Topics", `${count(page.topics.length)}; ${plural(f.publishers, "publisher")}, ${plural(f.subscriptions, "subscription")}`],
    ["Callbacks that ran", `${count(page.callbacks.length)}; ${plural(f.timers, "timer")}, ${plural(f.services, "service")}`],
    [
      "Messages linked",
      page.links.takes > 0
        ? `${count(page.links.takes - page.links.unlinked)} of ${count(page.links.takes)}`
        : "none taken by a known subscription",
    ],
  ];
  return h("dl", { class: "facts-of-trace" }, told.map(([name, v]) => h("div", {}, h("dt", {}, name), h("dd", {}, v))));
}

/** The chains as what the figures of an experiment compare. */
function asChain(page: TracePage): Pick<Page, "chains" | "parts"> {
  const chain: Chain = {
    chain: "the chains",
    deadline_ns: null,
    deployments: page.chains.map((c) => ({ deployment: c.label, inputs: c.instances, overwritten: 0, without_output: 0, left_out: c.left_out, parts: c.parts })),
  };
  return { chains: [chain], parts: page.parts.filter(([key]) => page.chains.some((c) => c.parts[key])) };
}

function chainTable(page: TracePage): HTMLElement {
  const unit = unitFor(Math.max(0, ...page.chains.map((c) => c.parts["e2e_paper"]?.summary.mean ?? 0)));
  const mean = (c: Measured, key: string): string => inUnit(c.parts[key]?.summary.mean, unit);
  return table<Measured>(
    [
      {
        head: "Chain",
        cell: (c) => h("details", { class: "path" }, h("summary", {}, c.label), h("ol", {}, c.path.map((step) => h("li", {}, step)))),
      },
      { head: "Callbacks", number: true, cell: (c) => count(c.path.length) },
      { head: "Inputs", number: true, cell: (c) => count(c.inputs.all) },
      { head: "used", number: true, cell: (c) => count(c.inputs.used) },
      { head: "Instances", number: true, cell: (c) => count(c.instances) },
      { head: "Invalid", number: true, cell: (c) => count(c.invalid) },
      { head: "Least sure link", cell: (c) => c.least_sure_link ?? missing },
      ...page.parts.filter(([key]) => page.chains.some((c) => c.parts[key])).map(([key, label]) => ({ head: label, number: true, cell: (c: Measured) => mean(c, key) })),
    ],
    page.chains,
    `Means in ${unit.name}; a chain's name opens its callbacks`,
  );
}

/** Where the inputs ended on which no output rests. */
function inputTable(page: TracePage): HTMLElement | null {
  interface Row {
    chain: string;
    where: string;
    why: string;
    inputs: number;
    of: number;
  }
  const rows = page.chains.flatMap((c): Row[] => {
    const of = c.inputs.all;
    const stopped = c.inputs.stopped.map(([after, why, inputs]) => ({ chain: c.label, where: c.path[after] ?? missing, why, inputs, of }));
    const near = { chain: c.label, where: "end of the trace", why: "so near the end that their output may come after it; not among the inputs", inputs: c.left_out, of };
    const without = { chain: c.label, where: "outputs", why: "outputs that cannot be followed back to an input", inputs: c.inputs.outputs_without, of };
    return [...stopped, ...[near, without].filter((row) => row.inputs > 0)];
  });
  if (rows.length === 0) return null;
  return table<Row>(
    [
      { head: "Chain", cell: (r) => r.chain },
      { head: "Ended at", cell: (r) => r.where },
      { head: "Why", cell: (r) => r.why },
      { head: "Number", number: true, cell: (r) => count(r.inputs) },
      { head: "of inputs", number: true, cell: (r) => count(r.of) },
    ],
    rows,
    "Inputs on which no output rests, and where they ended",
  );
}

const END_TO_END =
  "An input is a call of the first callback, an instance is an output with the input that it rests on. End to end is counted two ways, both to the output's " +
  "publication. From start: from the start of the first callback, which the parts add up to. From publication: from the publication of the first message, as " +
  "CARET and Trace Compass count; where a timer begins the chain, that is its own.";

function chainSection(page: TracePage, shown: Shown): Section {
  if (page.chains.length === 0) {
    const none = "No chain of callbacks has enough whole instances to be shown; --from and --to name one.";
    return { id: "chains", title: "Chains", short: "Chains", content: [h("p", { class: "note" }, none)], open: true };
  }
  const measured = asChain(page);
  // One sentence per reason, however many parts it is the reason of.
  const reasons = new Map<string, Set<string>>();
  for (const [key, why] of page.chains.flatMap((c) => Object.entries(c.reasons))) {
    const label = page.parts.find(([k]) => k === key)?.[1] ?? key;
    reasons.set(why, (reasons.get(why) ?? new Set()).add(label));
  }
  const of = new LatencyChoice(measured);
  const over = new OverTimeChoice();
  const figures = page.chains.some((c) => c.instances > 0)
    ? [
        ...linked([overTime(page, over, shown)], shown, over),
        controls(of.controls()),
        ...linked([parts(of, shown), ecdf(of, shown), histogram(of, shown)], shown, of),
      ]
    : [];
  const told = [...reasons].map(([why, labels]) => `${[...labels].join(", ")}: ${why}.`).join(" ");
  const not = told ? h("p", { class: "note" }, `Not told by this trace: ${told}`) : null;
  return { id: "chains", title: "Chains", short: "Chains", content: [chainTable(page), h("p", { class: "note" }, END_TO_END), inputTable(page), not, ...figures], open: true };
}

function timelineSection(page: TracePage): Section | null {
  const of = new TimelineChoice(page);
  if (of.chains.length === 0) return null;
  // A choice of its own says which chain is seen: chains that are hidden elsewhere stay.
  return { id: "flow", title: "Timeline", short: "Timeline", content: linked([timeline(of)], new Shown([], "chain"), of), open: true };
}

function callbackSection(page: TracePage, shown: Shown): Section | null {
  if (page.callbacks.length === 0) return null;
  const selected = new Selected(page);
  const content = [callbackTable(page, selected), ...linked([callbackDurations(page, selected)], shown, selected)];
  return { id: "callbacks", title: "Callbacks", short: "Callbacks", content, open: true };
}

function startupSection(page: TracePage, shown: Shown): Section | null {
  if (page.startup.processes.length === 0) return null;
  const of = new StartupChoice(page);
  return { id: "startup", title: "Start-up", short: "Start-up", content: linked([startup(page, of)], shown, of), open: true };
}

function linkSection(page: TracePage, shown: Shown): Section | null {
  if (page.topics.length === 0 && page.links.takes === 0) return null;
  const made = page.links.takes > 0 ? figure(links(page), shown).element : null;
  return { id: "messages", title: "Messages", short: "Messages", content: [made, page.topics.length ? topicTable(page) : null], open: true };
}

function graphSection(page: TracePage, shown: Shown): Section | null {
  if (page.graphs.length === 0) return null;
  const of = new GraphChoice();
  return { id: "graph", title: "Node graph", short: "Graph", content: linked([graph(page, of)], shown, of), open: true };
}

/** Puts the page together. */
export function build(page: TracePage, app: HTMLElement): void {
  const shown = new Shown(page.chains.map((c) => ({ id: c.label, label: c.label })), "chain");
  const sections = [
    chainSection(page, shown),
    timelineSection(page),
    graphSection(page, shown),
    callbackSection(page, shown),
    linkSection(page, shown),
    startupSection(page, shown),
    warnings("What the trace lacks", page.missing),
  ].filter((s): s is Section => s !== null);
  const n = page.missing.length;
  frame(app, {
    head: [
      h("h1", {}, page.name),
      facts(page),
      n > 0 ? h("p", { class: "alert" }, h("a", { href: "#warnings" }, `The trace lacks something (${n})`), ": read before believing a figure.") : null,
    ],
    shown,
    sections,
    made: `Made by Stowplan ${page.version} from a recorded trace.`,
  });
}
