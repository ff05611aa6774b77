// Puts the page together.

import { Shown } from "./colours";
import { read, type Page } from "./data";
import { choice, h, table } from "./dom";
import { assumptions, machine, parameters } from "./facts";
import { figure, type Figure } from "./figure";
import { against, comparisonTable, effects } from "./figures/forest";
import { ecdf, histogram, LatencyChoice } from "./figures/latency";
import { parts } from "./figures/parts";
import { startupModules, startupRuns, StartChoice } from "./figures/startup";
import { cpu, memory, SubjectChoice } from "./figures/usage";
import { missing, plural } from "./format";
import { headline, summary } from "./summary";
import { deployments, differenceList, inputs, losses, statistics } from "./tables";
import { themeButton } from "./theme";

type Section = { id: string; title: string; short: string; content: (Node | null)[] };

/** Figures that share a control redraw together. */
function linked(specs: Figure[], shown: Shown, choice: { onChange(listener: () => void): void }): HTMLElement[] {
  const made = specs.map((spec) => figure(spec, shown));
  choice.onChange(() => made.forEach((one) => one.redraw()));
  return made.map((one) => one.element);
}

function controls(elements: HTMLElement[]): HTMLElement | null {
  return elements.length ? h("div", { class: "controls shared" }, elements) : null;
}

function startupSection(page: Page, shown: Shown): Section | null {
  if (page.startup.length === 0) return null;
  const start = new StartChoice(page);
  const specs = [startupRuns(page, shown, start)];
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

function usageSection(page: Page, shown: Shown): Section | null {
  if (page.usage.length === 0) return null;
  const subject = new SubjectChoice(page);
  const content = [
    controls(subject.control()),
    ...linked([cpu(page, shown, subject), memory(page, shown, subject)], shown, subject),
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
  const content = [figure(against(page, shown), shown).element, made?.element ?? null, all];
  return { id: "comparisons", title: "Differences", short: "Differences", content };
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
    "All chain instances of all finished runs pooled: this describes, the comparisons infer. Standard deviation with n−1, " +
      "adjusted skewness and excess kurtosis, quantiles after Hyndman and Fan 7; a quantile is left out where fewer than ten " +
      "instances lie beyond it.",
  );
  const content = [note, ...page.chains.flatMap((c) => [statistics(page, c, shown), inputs(c, shown)])];
  if (page.losses.length) content.push(losses(page, shown));
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
      machine(page),
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
      h("details", { class: "data wide" }, h("summary", {}, "Every parameter"), parameters(page)),
    ],
  };
}

function warningSection(page: Page): Section | null {
  if (page.warnings.length === 0) return null;
  return {
    id: "warnings",
    title: "Warnings",
    short: "Warnings",
    content: [h("ul", { class: "warnings" }, page.warnings.map((w) => h("li", {}, w)))],
  };
}

/** The deployments with their colours; each can be hidden from all figures. */
function picker(shown: Shown): HTMLElement {
  const boxes = shown.deployments.map((d) => {
    const input = h("input", { type: "checkbox", checked: true, change: () => shown.toggle(d.id) });
    return h("label", { class: "chip", style: `--chip:${shown.colour(d.id)}` }, input, h("span", {}, d.label));
  });
  return h("fieldset", { class: "picker" }, h("legend", {}, "Deployments shown"), boxes);
}

function build(page: Page, app: HTMLElement): void {
  const shown = new Shown(page);
  const sections = [
    startupSection(page, shown),
    latencySection(page, shown),
    usageSection(page, shown),
    differenceSection(page, shown),
    statisticsSection(page, shown),
    factsSection(page, shown),
    warningSection(page),
  ].filter((s): s is Section => s !== null);

  const n = page.warnings.length;
  const licences = document.getElementById("licences") as HTMLTemplateElement | null;
  app.replaceChildren(
    h("a", { class: "skip", href: "#main" }, "Skip to the figures"),
    h(
      "header",
      { class: "top" },
      h("div", { class: "brand" }, h("span", { class: "logo", "aria-hidden": "true" }, h("i"), h("i"), h("i")), "Stowplan"),
      h(
        "nav",
        { "aria-label": "Sections" },
        sections.map((s) => h("a", { href: `#${s.id}` }, s.short)),
      ),
      themeButton(),
    ),
    h(
      "div",
      { class: "title" },
      h("h1", {}, page.experiment.name),
      headline(page),
      n > 0 ? h("p", { class: "alert" }, h("a", { href: "#warnings" }, plural(n, "warning")), ": read before believing a figure.") : null,
      summary(page, shown),
    ),
    picker(shown),
    h(
      "main",
      { id: "main" },
      sections.map((s) => h("section", { id: s.id, "aria-label": s.title }, h("h2", {}, s.title), s.content)),
    ),
    h(
      "footer",
      {},
      h("p", {}, `Made by Stowplan ${page.experiment.stowplan_version} from saved results alone.`),
      licences ? h("details", { class: "data wide" }, h("summary", {}, "Licences of bundled libraries"), licences.content.cloneNode(true)) : null,
    ),
  );
}

const app = document.getElementById("app");
if (app) {
  try {
    build(read(), app);
    document.documentElement.dataset.ready = "true";
    // Told to whoever measures the page; nothing reads it here.
    requestAnimationFrame(() => {
      document.documentElement.dataset.milliseconds = performance.now().toFixed(0);
    });
  } catch (error) {
    document.documentElement.dataset.error = String(error);
    app.append(h("p", {}, `The report cannot be shown: ${String(error)}`));
    throw error;
  }
}
