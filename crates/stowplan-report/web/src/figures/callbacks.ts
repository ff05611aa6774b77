// What a call of each callback takes.

import type { Shown } from "../colours";
import type { CallbackTimes, Page } from "../data";
import { table } from "../dom";
import { count, inUnit, missing, unitFor, type Unit } from "../format";
import type { Dots } from "./dots";

function cell(c: CallbackTimes, id: string, unit: Unit): string {
  const of = c.by[id];
  if (!of) return missing;
  const beside = [of.cpu_ns, of.preempted_ns].filter((ns) => ns !== null).map((ns) => inUnit(ns, unit));
  return `${inUnit(of.wall_ns, unit)}${beside.length ? ` (${beside.join(", ")})` : ""}`;
}

export function callbacks(page: Page, shown: Shown): Dots {
  return {
    id: "callbacks-times",
    title: "Calls of callbacks",
    read:
      "Mean over the blocks of what a call takes. Callbacks of chains come first, in their order, then those that took most time. " +
      "A callback that takes longer and uses as much CPU time waited for a CPU.",
    of: "of a call",
    times: [
      ["wall_ns", "Wall time"],
      ["cpu_ns", "CPU time"],
      ["preempted_ns", "Preempted"],
    ],
    rows: page.callbacks.map((c) => ({
      name: c.callback,
      chain: c.chains.length > 0,
      by: c.by,
      more: (id) => [`${count(c.by[id]?.calls)} calls`, ...(c.chains.length ? [`on ${c.chains.join(", ")}`] : [])],
    })),
    data() {
      const ids = shown.ids().filter((id) => page.callbacks.some((c) => c.by[id]));
      const times = page.callbacks.flatMap((c) => ids.map((id) => c.by[id]?.wall_ns ?? 0));
      const unit = unitFor(Math.max(0, ...times));
      return table<CallbackTimes>(
        [
          { head: "Callback", cell: (c) => c.callback },
          { head: "Chain", cell: (c) => c.chains.join(", ") || missing },
          ...ids.map((id) => ({ head: shown.label(id), number: true, cell: (c: CallbackTimes) => cell(c, id, unit) })),
        ],
        page.callbacks,
        `Mean wall time of a call in ${unit.name}; in brackets its CPU time and how long it was preempted, where that was recorded`,
      );
    },
  };
}
