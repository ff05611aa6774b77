// What got slower where a chain did, as tables.

import type { Shown } from "../colours";
import type { Growth, Page, Slower } from "../data";
import { h, table } from "../dom";
import { missing, plural, sentence, signed, time } from "../format";
import { comparisonTable } from "./forest";

interface Row {
  of: Slower;
  what: string;
  service: string | null;
  growth: Growth;
}

/** What is slower than what; one deployment where it stands beside its earlier self. */
function pair(shown: Shown, of: Slower): string {
  const [from, to] = [of.reference, of.candidate].map((id) => shown.label(id.replace(/ \((before|after)\)$/, "")));
  return from === to ? `${to}` : `${from} → ${to}`;
}

function interval(g: Growth): string {
  return g.low_ns === null || g.high_ns === null ? missing : `${signed(g.low_ns)} … ${signed(g.high_ns)}`;
}

/** Parts and callbacks of every chain that is worse, those that grew most first. */
export function slowerTable(all: Slower[], shown: Shown): HTMLElement | null {
  const rows = all.flatMap((of): Row[] => [
    ...of.parts.map((p) => ({ of, what: sentence(p.part), service: null, growth: p.growth })),
    ...of.callbacks.flatMap((c) => {
      const row = { of, what: c.callback, service: c.service, growth: c.wall };
      return c.cpu ? [row, { ...row, what: `${c.callback}, CPU time`, growth: c.cpu }] : [row];
    }),
  ]);
  if (rows.length === 0) return null;
  return table<Row>(
    [
      { head: "Chain", cell: ({ of }) => of.chain },
      { head: "Deployment", cell: ({ of }) => pair(shown, of) },
      { head: "Part or callback", cell: (row) => row.what },
      { head: "Service", cell: (row) => row.service ?? missing },
      { head: "Before", number: true, cell: ({ growth }) => time(growth.before_ns) },
      { head: "After", number: true, cell: ({ growth }) => time(growth.after_ns) },
      { head: "Growth", number: true, cell: ({ growth }) => signed(growth.difference_ns) },
      { head: "95 % interval", number: true, cell: ({ growth }) => interval(growth) },
      { head: "Blocks", number: true, cell: ({ growth }) => growth.blocks },
    ],
    rows,
    "Parts and callbacks of every chain that is worse, those that grew most first; a callback whose CPU time did not grow " +
      "waited for a CPU. Exploratory.",
  );
}

/** The verdicts against an earlier result. */
export function earlier(page: Page, shown: Shown): (HTMLElement | null)[] {
  if (page.against === null) return [];
  const { against, comparisons, slower } = page.against;
  const found = slowerTable(slower, shown);
  const all = h(
    "details",
    { class: "data wide" },
    h("summary", {}, `All ${plural(comparisons.length, "comparison")}`),
    comparisonTable(comparisons, shown),
  );
  return [
    h(
      "p",
      { class: "note" },
      `Against ${against.result}: `,
      against.measured_again
        ? "each deployment and itself as it was, measured again in the same blocks and paired by them. "
        : "how each deployment's difference from the reference changed since. ",
      page.regressions.length ? `${plural(page.regressions.length, "regression")}:` : "No regression.",
    ),
    page.regressions.length ? h("ul", {}, page.regressions.map((line) => h("li", {}, line))) : null,
    comparisonTable(comparisons.filter((c) => c.primary), shown),
    found ? h("h3", {}, "What got slower") : null,
    found,
    all,
  ];
}
