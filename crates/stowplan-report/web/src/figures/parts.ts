// Where the time goes: idle, communication and computation, stacked.

import * as Plot from "@observablehq/plot";
import type { Shown } from "../colours";
import type { ChainDeployment } from "../data";
import { table } from "../dom";
import type { Figure } from "../figure";
import { inUnit, sentence, unitFor } from "../format";
import { base, grid, legend, linesOf, marginFor, says, under, wrapped } from "./common";
import type { LatencyChoice } from "./latency";

const PARTS: [key: string, label: string, colour: string][] = [
  ["idle", "Idle", "var(--idle)"],
  ["send", "Send", "var(--send)"],
  ["transport", "Transport", "var(--transport)"],
  ["wait", "Wait", "var(--wait)"],
  ["transit", "Transport and wait", "var(--transport)"],
  ["communication", "Communication", "var(--communication)"],
  ["computation", "Computation", "var(--computation)"],
];
const SPLIT = ["send", "transport", "wait"];

/** Mean of a part as it is compared: over the blocks; of a trace, which has none, over the instances. */
function meanOf(one: ChainDeployment, key: string): number | null {
  const part = one.parts[key];
  return part?.block_mean ?? part?.summary.mean ?? null;
}

/** Means of the parts that add up. Where arrivals are not known, transport and wait are one; where sending is not, all three. */
function means(one: ChainDeployment): [key: string, ns: number][] {
  const mean = (key: string): number | null => meanOf(one, key);
  const [send, communication] = [mean("send"), mean("communication")];
  const split = SPLIT.every((key) => mean(key) !== null);
  const transit = !split && send !== null && communication !== null ? communication - send : null;
  const value = (key: string): number | null => {
    if (key === "transit") return transit;
    if (key === "communication") return split || transit !== null ? null : communication;
    if (SPLIT.includes(key)) return split || (key === "send" && transit !== null) ? mean(key) : null;
    return mean(key);
  };
  return PARTS.flatMap(([key]) => {
    const ns = value(key);
    return ns === null ? [] : [[key, ns] as [string, number]];
  });
}

export function parts(of: LatencyChoice, shown: Shown): Figure {
  const views = () => (of.current()?.deployments ?? []).filter((d) => shown.has(d.deployment));
  return {
    id: "latency-parts",
    title: "Where the time goes",
    read:
      `Means${shown.noun === "deployment" ? " over the blocks" : " over the instances"}; the parts of a bar add up to the mean end-to-end latency. Idle waits for a timer, ` +
      "send, transport and wait are communication, computation is work in callbacks.",
    draw(width) {
      const labelOf = new Map(PARTS.map(([key, label]) => [key, label]));
      const bars = views().flatMap((one) => {
        let from = 0;
        return means(one).map(([key, ns]) => {
          const bar = { label: shown.label(one.deployment), part: labelOf.get(key) ?? key, ns, from, to: from + ns };
          from += ns;
          return bar;
        });
      });
      if (bars.length === 0) return [];
      const longest = Math.max(...bars.map((b) => b.to));
      const unit = unitFor(longest);
      const labels = [...new Set(bars.map((b) => b.label))];
      const margin = marginFor(labels, width);
      const pixels = (width - margin - 90) / longest;
      const used = PARTS.filter(([, label]) => bars.some((b) => b.part === label));
      const ends = labels.map((label) => ({ label, to: Math.max(...bars.filter((b) => b.label === label).map((b) => b.to)) }));
      return [
        legend(used.map(([, label, colour]) => [label, colour])),
        Plot.plot({
          ...base,
          width,
          height: 52 + labels.length * Math.max(40, linesOf(labels, margin) * 15),
          marginLeft: margin,
          marginRight: 92,
          x: { ...under, label: `mean (${unit.name})`, transform: (ns: number) => ns / unit.ns, domain: [0, longest / unit.ns] },
          y: { domain: labels, label: null, tickSize: 0, padding: 0.24, tickFormat: (label: string) => wrapped(label, margin) },
          color: { domain: used.map(([, label]) => label), range: used.map(([, , colour]) => colour) },
          marks: [
            Plot.gridX(grid),
            Plot.barX(bars, {
              x1: "from",
              x2: "to",
              y: "label",
              fill: "part",
              insetLeft: 0.5,
              insetRight: 0.5,
              ...says((b: (typeof bars)[number]) => `${b.label}\n${b.part}: mean ${inUnit(b.ns, unit)} ${unit.name}`),
            }),
            Plot.text(
              bars.filter((b) => b.ns * pixels > 46),
              { x: (b) => (b.from + b.to) / 2, y: "label", text: (b) => inUnit(b.ns, unit), fill: "var(--on-part)", fontWeight: 600 },
            ),
            Plot.text(ends, { x: "to", y: "label", text: (e) => `${inUnit(e.to, unit)} ${unit.name}`, textAnchor: "start", dx: 8, fontWeight: 600 }),
          ],
        }),
      ];
    },
    data() {
      const rows = views();
      const unit = unitFor(Math.max(0, ...rows.map((r) => meanOf(r, "e2e_paper") ?? 0)));
      const mean = (one: ChainDeployment, key: string) => inUnit(meanOf(one, key), unit);
      return table(
        [
          { head: sentence(shown.noun), cell: (d: ChainDeployment) => shown.label(d.deployment) },
          ...PARTS.filter(([key]) => key !== "transit").map(([key, label]) => ({ head: label, number: true, cell: (d: ChainDeployment) => mean(d, key) })),
          { head: "End to end", number: true, cell: (d: ChainDeployment) => mean(d, "e2e_paper") },
        ],
        rows,
        `Means in ${unit.name} of chain ${of.chain}`,
      );
    },
  };
}
