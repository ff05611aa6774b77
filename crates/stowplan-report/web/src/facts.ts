// The machine and every parameter.

import type { Page } from "./data";
import { fold, h } from "./dom";
import { bytes, missing, plural } from "./format";

type Pair = [name: string, value: string];

function text(value: unknown): string {
  if (value === null || value === undefined) return missing;
  return typeof value === "string" ? value : JSON.stringify(value);
}

/** Names and values, objects taken apart with their path. */
function flat(value: unknown, path: string): Pair[] {
  if (Array.isArray(value)) {
    const simple = value.every((v) => v === null || typeof v !== "object");
    if (simple) return [[path, value.length ? value.map(text).join(", ") : missing]];
    return value.flatMap((v: unknown, i) => flat(v, `${path}[${i + 1}]`));
  }
  if (value !== null && typeof value === "object") {
    const entries = Object.entries(value);
    return entries.flatMap(([name, v]) => flat(v, path ? `${path}.${name}` : name));
  }
  return [[path, text(value)]];
}

/** Long names part where their parts end. */
function parted(text: string): (string | HTMLElement)[] {
  return text.split(/(?<=[._,/=-])/).flatMap((part, i) => (i === 0 ? [part] : [h("wbr"), part]));
}

function list(pairs: Pair[]): HTMLElement {
  return h("dl", { class: "facts" }, pairs.map(([name, value]) => h("div", {}, h("dt", {}, parted(name)), h("dd", {}, parted(value)))));
}

/** Settings that seldom tell anything. */
const SELDOM = /^mitigation\./;

export function machine(page: Page): HTMLElement[] {
  const m = page.experiment.machine;
  const settings = flat(m.settings, "");
  const seldom = settings.filter(([name]) => SELDOM.test(name));
  const shown = list([
    ["Host", m.host],
    ["CPUs", `${m.cpus} × ${m.cpu_model}`],
    ["Memory", bytes(m.memory_bytes)],
    ["Kernel", m.kernel],
    ...settings.filter(([name]) => !SELDOM.test(name)),
    ...flat((m as Record<string, unknown>)["cgroup"], "cgroup"),
    ...flat(page.experiment["versions"], ""),
  ]);
  return seldom.length ? [shown, fold(`${plural(seldom.length, "mitigation")} of the processor`, list(seldom))] : [shown];
}

/** Everything of experiment.json that stands nowhere else on the page. */
export function parameters(page: Page): HTMLElement {
  const { machine: _machine, deployments: _deployments, assumptions: _assumptions, versions: _versions, ...rest } =
    page.experiment;
  const groups = Object.entries(rest).map(([name, value]) => ({ name, pairs: flat(value, name) }));
  return list(groups.flatMap((g) => g.pairs));
}

interface Assumption {
  parameter: string;
  value: string;
  range: string | null;
  why: string | null;
}

export function assumptions(page: Page): Assumption[] {
  return (page.experiment["assumptions"] as Assumption[] | undefined) ?? [];
}
