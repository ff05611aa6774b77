// The answer, before any figure.

import type { Shown } from "./colours";
import type { Conclusion, Overview, Page, Question } from "./data";
import { h, prose, table } from "./dom";
import { change, reach, verdictOf, words } from "./figures/forest";
import { missing, plural, sentence, time, value } from "./format";
import { named } from "./tables";

/** Warnings that stand on the page; the others are folded. */
const SHOWN = 3;
/** Longer warnings are folded after their beginning. */
const LONG = 260;

function row(q: Question, shown: Shown): HTMLElement {
  // The best may be the reference; the next best is then told against it.
  const next = q.candidate === q.best ? null : h("div", { class: "beside" }, `next: ${shown.label(q.candidate)}`);
  const what = q.subject ? `${q.label}, ${q.subject}` : q.label;
  const cell = (head: string, ...content: (Node | string | null)[]) => h("td", { "data-head": head }, content);
  return h(
    "tr",
    {},
    h("th", { scope: "row" }, h("span", { class: "question" }, q.question), h("span", { class: "beside" }, sentence(what))),
    cell("Deployment", named(shown, q.best, shown.label(q.best)), next),
    cell("Its value", value(q.unit, q.best_value)),
    cell("Reference", value(q.unit, q.reference_value)),
    cell("Difference", change(q)),
    cell("95 % interval", reach(q)),
    cell("Verdict", q.difference === null ? missing : verdictOf(q.verdict, q.verdict_reason)),
  );
}

function questions(of: Conclusion, shown: Shown): HTMLElement | null {
  if (of.questions.length === 0) return null;
  const references = [...new Set(of.questions.map((q) => shown.label(q.reference)))];
  const heads = ["Question", "Deployment", "Its value", "Reference", "Difference", "95 % interval", "Verdict"];
  return h(
    "table",
    { class: "questions" },
    h("caption", {}, `The deployment that is best, or may be, against the reference, ${references.join(", ")}`),
    h("thead", {}, h("tr", {}, heads.map((head) => h("th", { scope: "col" }, head)))),
    h("tbody", {}, of.questions.map((q) => row(q, shown))),
  );
}

/** A sentence that may end with a command. */
function withCommand(text: string): (Node | string)[] {
  const at = text.search(/\bstowplan \w+ /);
  return at < 0 ? [text] : [text.slice(0, at), h("code", {}, text.slice(at))];
}

/** What the result says, a row for each question, and what to do about it. */
export function conclusion(of: Conclusion, shown: Shown): HTMLElement {
  return h(
    "section",
    { id: "answer", class: "answer", "aria-label": "Answer" },
    h("p", { class: "answer-text" }, prose(of.answer)),
    h("p", { class: "advice" }, prose(of.advice)),
    questions(of, shown),
    of.why.length ? h("ul", { class: "why" }, of.why.map((line) => h("li", {}, prose(line)))) : null,
    of.settle ? h("p", { class: "settle" }, withCommand(of.settle)) : null,
  );
}

/** Every deployment, with its values. */
export function overview(of: Overview, reference: string | null, shown: Shown): HTMLElement {
  type Row = Overview["rows"][number];
  const columns = of.columns.map((column, i) => ({
    head: column.name,
    cell: ([id, cells]: Row) => {
      const { value: v, difference, verdict } = cells[i]!;
      if (v === null) return missing;
      const beside = difference === null ? null : h("span", { class: "beside" }, change({ ...column, difference, low: null, high: null }), " ", verdict ? words(verdict) : "");
      return h("div", {}, h("div", {}, value(column.unit, v)), id === reference ? h("span", { class: "beside" }, "reference") : beside);
    },
  }));
  const chain = of.chain === null ? "" : `; E2E and misses are of ${of.chain}`;
  const others = of.other_chains > 0 ? `, ${plural(of.other_chains, "other chain")} stand under Latency` : "";
  return table<Row>([{ head: "Deployment", cell: ([id]) => named(shown, id, shown.label(id)) }, ...columns], of.rows, `Means over the blocks, and differences from the reference${chain}${others}`);
}

function warning(text: string): HTMLElement {
  if (text.length <= LONG) return h("li", {}, prose(text));
  const cut = text.lastIndexOf(" ", LONG - 40);
  return h("li", {}, h("details", { class: "long" }, h("summary", {}, prose(`${text.slice(0, cut)} …`)), h("p", {}, prose(`… ${text.slice(cut + 1)}`))));
}

/** The warnings themselves; of many the first. */
export function warningList(of: Conclusion["warnings"]): HTMLElement | null {
  if (of.length === 0) return null;
  const list = (some: typeof of) => h("ul", { class: "warnings" }, some.map((w) => warning(w.text)));
  const rest = of.slice(SHOWN);
  return h(
    "section",
    { id: "warnings", class: "of-head", "aria-label": "Warnings" },
    h("h2", {}, "Warnings"),
    list(of.slice(0, SHOWN)),
    rest.length ? h("details", { class: "more" }, h("summary", {}, `${plural(rest.length, "more warning")}`), list(rest)) : null,
  );
}

/** What was measured, where and when, in one line. */
export function headline(page: Page): HTMLElement {
  const e = page.experiment;
  const ran = page.deployments.filter((d) => d.finished > 0);
  const runs = page.deployments.reduce((sum, d) => sum + d.runs, 0);
  const finished = page.deployments.reduce((sum, d) => sum + d.finished, 0);
  // A suite of benchmarks has neither a stack nor a window.
  const ofStack = e.stack.nodes > 0;
  const facts = [
    ...(ofStack ? [`${e.stack.name}, ${plural(e.stack.nodes, "node")}`] : []),
    plural(ran.length, "deployment"),
    `${page.blocks} of ${plural(e.blocks_planned, "block")}`,
    finished === runs ? plural(runs, "run") : `${finished} of ${plural(runs, "run")} finished`,
    ...(ofStack ? [`window ${time(e.window_s * 1e9).replace(/\.?0+ /, " ")}`] : []),
    `${e.machine.cpus} × ${e.machine.cpu_model}`,
    new Date(e.created_unix_s * 1000).toISOString().slice(0, 16).replace("T", " ") + " UTC",
  ];
  return h("p", { class: "headline" }, facts.map((fact) => h("span", {}, fact)));
}
