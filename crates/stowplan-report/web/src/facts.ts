// The machine and every parameter.

import type { Page } from "./data";
import { h } from "./dom";
import { bytes, missing } from "./format";

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

function list(pairs: Pair[]): HTMLElement {
  return h("dl", { class: "facts" }, pairs.map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value))));
}

export function machine(page: Page): HTMLElement {
  const m = page.experiment.machine;
  return list([
    ["Host", m.host],
    ["CPUs", `${m.cpus} × ${m.cpu_model}`],
    ["Memory", bytes(m.memory_bytes)],
    ["Kernel", m.kernel],
    ...flat(m.settings, ""),
    ...flat((m as Record<string, unknown>)["cgroup"], "cgroup"),
    ...flat(page.experiment["versions"], ""),
  ]);
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
