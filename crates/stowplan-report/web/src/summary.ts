// What comes out, before any figure.

import type { Shown } from "./colours";
import type { Comparison, Page } from "./data";
import { h } from "./dom";
import { difference, interval, verdict } from "./figures/forest";
import { count, plural, sentence, time, value } from "./format";

/** The comparisons that answer the question: the primary metric, else the first that there is. */
function answers(page: Page): Comparison[] {
  const against = page.comparisons.filter((c) => c.reference === page.reference && c.subject !== "machine");
  const primary = against.filter((c) => c.primary);
  if (primary.length) return primary;
  const first = against.find((c) => c.metric === "e2e_paper_mean") ?? against[0];
  return first ? against.filter((c) => c.metric === first.metric && c.subject === first.subject) : [];
}

function blocks(rows: Comparison[]): string {
  const numbers = rows.map((c) => c.blocks);
  const [low, high] = [Math.min(...numbers), Math.max(...numbers)];
  return low === high ? plural(low, "paired block") : `${low} to ${plural(high, "paired block")}`;
}

export function summary(page: Page, shown: Shown): HTMLElement[] {
  const rows = answers(page);
  const first = rows[0];
  if (!first || page.reference === null) return [];
  const reference = shown.label(page.reference);
  const most = Math.max(...rows.map((c) => c.blocks));
  const base = rows.find((c) => c.blocks === most)?.reference_value ?? null;
  const what = first.subject ? `${sentence(first.label)} of ${first.subject}` : sentence(first.label);
  const card = (label: string, colour: string, big: string, ...rest: (Node | string)[]) =>
    h(
      "li",
      { class: "card", style: `--card:${colour}` },
      h("span", { class: "card-name" }, label),
      h("span", { class: "card-value" }, big),
      ...rest,
    );
  return [
    h(
      "p",
      { class: "lead" },
      h("strong", {}, what),
      first.primary ? ", the primary metric" : "",
      `, over ${blocks(rows)}, against `,
      h("strong", {}, reference),
      ".",
    ),
    h(
      "ul",
      { class: "cards" },
      card(reference, shown.colour(page.reference), value(first.unit, base), h("span", { class: "card-note" }, "reference")),
      rows.map((c) =>
        card(
          shown.label(c.candidate),
          shown.colour(c.candidate),
          value(c.unit, c.candidate_value),
          h("span", { class: "card-note" }, c.low === null ? `${difference(c)}, no interval` : `${difference(c)}  [${interval(c)}]`),
          verdict(c),
        ),
      ),
    ),
  ];
}

export function headline(page: Page): HTMLElement {
  const e = page.experiment;
  const ran = page.deployments.filter((d) => d.finished > 0);
  const runs = page.deployments.reduce((sum, d) => sum + d.runs, 0);
  const finished = page.deployments.reduce((sum, d) => sum + d.finished, 0);
  const inputs = page.chains.flatMap((c) => c.deployments).reduce((sum, d) => sum + d.inputs, 0);
  const facts: [string, string][] = [
    ["Stack", `${e.stack.name}, ${plural(e.stack.nodes, "node")}, ${plural(e.stack.topics, "topic")}`],
    ["Deployments", count(ran.length)],
    ["Blocks", `${page.blocks} of ${e.blocks_planned}`],
    ["Runs", finished === runs ? count(runs) : `${finished} of ${runs} finished`],
    ["Window", time(e.window_s * 1e9).replace(/\.?0+ /, " ")],
    ["Chain inputs", count(inputs)],
    ["Machine", `${e.machine.cpus} × ${e.machine.cpu_model}`],
    ["Date", new Date(e.created_unix_s * 1000).toISOString().slice(0, 16).replace("T", " ") + " UTC"],
  ];
  return h("dl", { class: "headline" }, facts.map(([name, v]) => h("div", {}, h("dt", {}, name), h("dd", {}, v))));
}
