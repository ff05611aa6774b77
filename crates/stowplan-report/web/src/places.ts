// Engine and measure: each place of a partition beside plain processes.

import type { Shown } from "./colours";
import type { AtPartition, Comparison, Page } from "./data";
import { h, table } from "./dom";
import { verdict } from "./figures/forest";
import { missing, sentence, value } from "./format";
import { named } from "./tables";

/** The candidate as a percentage of its reference; nothing of a difference that is not relative. */
function told(c: Comparison | undefined, of: string): HTMLElement {
  if (!c || !c.relative || c.difference === null) return h("div", {}, missing);
  const percent = (change: number): string => ((1 + change) * 100).toFixed(1);
  const reach = c.low === null || c.high === null ? "no interval" : `[${percent(c.low)}, ${percent(c.high)}]`;
  return h(
    "div",
    { class: "percent" },
    h("div", {}, `${percent(c.difference)} %${c.primary ? " *" : ""} `, verdict(c)),
    h("div", { class: "beside" }, `${reach} of ${of}`),
  );
}

function atPartition(page: Page, at: AtPartition, shown: Shown): HTMLElement {
  const place = (id: string) => at.places.find((p) => p.deployment === id)?.place ?? id;
  const columns = at.measures.map((measure) => ({
    head: sentence(measure.name),
    cell: (p: AtPartition["places"][number]) => {
      if (p.deployment === at.flat) return `100 % = ${value(measure.unit, measure.flat_value)}`;
      const found = (reference: string | null) =>
        page.comparisons.find(
          (c) =>
            c.metric === measure.metric &&
            c.subject === measure.subject &&
            c.reference === reference &&
            c.candidate === p.deployment,
        );
      return h(
        "div",
        {},
        at.flat ? told(found(at.flat), place(at.flat)) : null,
        p.control ? told(found(p.control), place(p.control)) : null,
      );
    },
  }));
  const names = [at.partition, at.resources, at.variant].filter((name) => name !== null);
  return table(
    [{ head: "Place", cell: (p) => named(shown, p.deployment, p.place) }, ...columns],
    at.places,
    `Partition ${names.join(" · ")}`,
  );
}

export function places(page: Page, shown: Shown): HTMLElement[] {
  const note = h(
    "p",
    { class: "note" },
    "Percent of plain processes at the same partition, paired by block, with the 95 % interval; less is better. A container stands beside those in one group, and beside those in " +
      "control groups, which have all but its isolation. * primary metric, Holm-corrected, all else is exploratory.",
  );
  return [note, ...page.places.map((at) => atPartition(page, at, shown))];
}

/** What was asked of each place, and what was read back. */
export function configured(page: Page): HTMLElement[] {
  const of = page.configured;
  const columns = of.headers.map((head, i) => ({ head, cell: (row: string[]) => row[i] }));
  return [h("p", { class: "note" }, of.note), table(columns, of.rows, of.title)];
}
