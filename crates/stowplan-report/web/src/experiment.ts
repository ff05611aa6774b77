// The page of an experiment.

import { Shown } from "./colours";
import type { Page } from "./data";
import { choice, fold, h, prose, table } from "./dom";
import { assumptions, machine, parameters } from "./facts";
import { figure, linked } from "./figure";
import { conclusion, headline, overview, warningList } from "./conclusion";
import { controls, frame, type Section } from "./frame";
import { ablation } from "./figures/ablation";
import { callbacks } from "./figures/callbacks";
import { dots, type Dots } from "./figures/dots";
import { edges } from "./figures/edges";
import { against, comparisonTable, effects } from "./figures/forest";
import { gantt } from "./figures/gantt";
import { ecdf, histogram, LatencyChoice } from "./figures/latency";
import { parts } from "./figures/parts";
import { earlier, slowerTable } from "./figures/slower";
import { startupModules, startupRuns, StartChoice } from "./figures/startup";
import { cpu, memory, SubjectChoice } from "./figures/usage";
import { missing, plural } from "./format";
import { partitions } from "./partitions";
import { configured, places } from "./places";
import { deployments, differenceList, inputs, losses, phases, rankings, sharedMemory, statistics } from "./tables";

function overviewSection(page: Page, shown: Shown): Section | null {
  const of = page.conclusion.overview;
  if (of.rows.length === 0 || of.columns.length === 0) return null;
  return { id: "deployments", title: "What each deployment came to", short: "Deployments", content: [overview(of, page.reference, shown)], open: true };
}

function startupSection(page: Page, shown: Shown): Section | null {
  if (page.startup.length === 0) return null;
  const start = new StartChoice(page);
  const specs = [startupRuns(page, shown, start)];
  if (page.startup.some((s) => s.services.length)) specs.push(gantt(page, shown, start));
  if (page.startup.some((s) => s.modules.length)) specs.push(startupModules(page, shown, start));
  const content = [controls(start.control()), ...linked(specs, shown, start)];
  return { id: "startup", title: "Start-up", short: "Start-up", content };
}

function latencySection(page: Page, shown: Shown): Section | null {
  if (page.chains.length === 0) return null;
  const of = new LatencyChoice(page);
  const specs = [ecdf(of, shown), histogram(of, shown), parts(of, shown)];
  const content = [controls(of.controls()), ...linked(specs, shown, of)];
  return { id: "latency", title: "Chain latency", short: "Latency", content };
}

function partitionSection(page: Page, shown: Shown): Section | null {
  if (page.partitions.length === 0) return null;
  return { id: "partitions", title: "Partitions", short: "Partitions", content: [partitions(page, shown, figure)] };
}

/** A figure that redraws itself when its own control changes. */
function dotted(spec: Dots, shown: Shown): HTMLElement {
  let redraw = (): void => {};
  const made = figure(dots(spec, shown, () => redraw()), shown);
  redraw = made.redraw;
  return made.element;
}

function callbackSection(page: Page, shown: Shown): Section | null {
  const content = [
    page.callbacks.length ? dotted(callbacks(page, shown), shown) : null,
    page.edges.length ? dotted(edges(page, shown), shown) : null,
  ];
  if (content.every((one) => one === null)) return null;
  return { id: "callbacks", title: "Callbacks and edges", short: "Callbacks", content };
}

function usageSection(page: Page, shown: Shown): Section | null {
  if (page.usage.length === 0) return null;
  const subject = new SubjectChoice(page);
  const content = [
    controls(subject.control()),
    ...linked([cpu(page, shown, subject), memory(page, shown, subject)], shown, subject),
    page.memory.length ? sharedMemory(page, shown) : null,
  ];
  return { id: "usage", title: "CPU and memory", short: "CPU and memory", content };
}

function differenceSection(page: Page, shown: Shown): Section | null {
  if (page.comparisons.length === 0) return null;
  let redraw = (): void => {};
  const apart = effects(page, shown, () => redraw());
  const made = apart ? figure(apart, shown) : null;
  if (made) redraw = made.redraw;
  const all = h("details", { class: "data wide" }, h("summary", {}, `All ${plural(page.comparisons.length, "comparison")}`));
  all.addEventListener("toggle", () => {
    if (all.open && all.childElementCount === 1) all.append(allComparisons(page, shown));
  });
  const slower = slowerTable(page.slower, shown);
  const content = [
    figure(against(page, shown), shown).element,
    made?.element ?? null,
    slower ? h("h3", {}, "What got slower") : null,
    slower,
    all,
  ];
  return { id: "comparisons", title: "Differences", short: "Differences", content, open: true };
}

function placesSection(page: Page, shown: Shown): Section | null {
  const content = page.places.length ? places(page, shown) : [];
  if (page.configured.rows.length) content.push(...configured(page));
  return content.length ? { id: "places", title: "Places", short: "Places", content } : null;
}

function earlierSection(page: Page, shown: Shown): Section | null {
  const content = earlier(page, shown);
  if (content.length === 0) return null;
  return { id: "against", title: "Against an earlier result", short: "Against", content, open: true };
}

function ablationSection(page: Page, shown: Shown): Section | null {
  let redraw = (): void => {};
  const spec = ablation(page, shown, () => redraw());
  if (spec === null) return null;
  const made = figure(spec, shown);
  redraw = made.redraw;
  return { id: "ablation", title: "Ablation", short: "Ablation", content: [made.element], open: true };
}

function sensitivitySection(page: Page): Section | null {
  if (page.rankings.length === 0) return null;
  return { id: "sensitivity", title: "Sensitivity", short: "Sensitivity", content: [rankings(page)], open: true };
}

function allComparisons(page: Page, shown: Shown): HTMLElement {
  const metrics = [...new Set(page.comparisons.map((c) => c.metric))];
  const box = h("div", {});
  const show = (metric: string): void => {
    const rows = page.comparisons.filter((c) => metric === "" || c.metric === metric);
    box.replaceChildren(comparisonTable(rows, shown));
  };
  show("");
  const options = metrics.map((m): [string, string] => [m, page.comparisons.find((c) => c.metric === m)!.label]);
  return h("div", {}, h("div", { class: "controls" }, choice("Metric", [["", "All"], ...options], "", show)), box);
}

function statisticsSection(page: Page, shown: Shown): Section | null {
  if (page.chains.length === 0) return null;
  const note = h(
    "p",
    { class: "note" },
    "The mean is that over the blocks, as everywhere on this page. All else is of the chain instances of all finished runs pooled: this describes, " +
      "the comparisons infer. Standard deviation with n−1, adjusted skewness and excess kurtosis, quantiles after Hyndman and Fan 7; " +
      "a quantile is left out where fewer than ten instances lie beyond it.",
  );
  const content = [note, ...page.chains.flatMap((c) => [...statistics(page, c, shown), inputs(c, shown)])];
  if (page.losses.length) content.push(losses(page, shown));
  if (page.phases.length) content.push(phases(page, shown));
  return { id: "statistics", title: "Statistics", short: "Statistics", content };
}

function factsSection(page: Page, shown: Shown): Section {
  const assumed = assumptions(page);
  return {
    id: "machine",
    title: "Machine and parameters",
    short: "Machine",
    content: [
      h("h3", {}, "Deployments"),
      deployments(page, shown),
      differenceList(page, shown),
      h("h3", {}, "Machine"),
      ...machine(page),
      assumed.length ? h("h3", {}, "Assumptions") : null,
      assumed.length
        ? table(
            [
              { head: "Parameter", cell: (a) => a.parameter },
              { head: "Value", cell: (a) => a.value },
              { head: "Range", cell: (a) => a.range ?? missing },
              { head: "Why", cell: (a) => a.why ?? missing },
            ],
            assumed,
            "Parameters that are assumed, not published or measured",
          )
        : null,
      fold("Every parameter", parameters(page)),
    ],
  };
}

/** Puts the page together. */
export function build(page: Page, app: HTMLElement): void {
  const ran = page.deployments.filter((d) => d.finished > 0);
  // The figures of whole deployments stay readable; a step can be shown beside them.
  const steps = ran.filter((d) => d.step).map((d) => d.id);
  const shown = new Shown(ran, "deployment", steps);
  const sections = [
    overviewSection(page, shown),
    differenceSection(page, shown),
    earlierSection(page, shown),
    latencySection(page, shown),
    startupSection(page, shown),
    callbackSection(page, shown),
    usageSection(page, shown),
    partitionSection(page, shown),
    placesSection(page, shown),
    ablationSection(page, shown),
    sensitivitySection(page),
    statisticsSection(page, shown),
    factsSection(page, shown),
  ].filter((s): s is Section => s !== null);
  frame(app, {
    head: [
      h("h1", {}, page.experiment.name),
      headline(page),
      conclusion(page.conclusion, shown),
      warningList(page.conclusion.warnings),
      page.instrument ? h("p", { class: "note instrument" }, prose(page.instrument)) : null,
    ],
    shown,
    sections,
    made: `Made by Stowplan ${page.experiment.stowplan_version} from saved results alone.`,
  });
}
