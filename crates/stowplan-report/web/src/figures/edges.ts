// How long messages take on each edge.

import type { Shown } from "../colours";
import type { EdgeLatency, Page } from "../data";
import { table } from "../dom";
import { inUnit, missing, unitFor } from "../format";
import type { Dots } from "./dots";

function name(edge: EdgeLatency): string {
  return `${edge.topic} → ${edge.to}`;
}

export function edges(page: Page, shown: Shown): Dots {
  return {
    id: "edges-latency",
    title: "Latency of edges",
    read:
      "Mean over the blocks of how long a message takes, from publication to the start of the callback that takes it. Edges of chains come first, in " +
      "their order, then those that took longest.",
    of: "of a message",
    times: [
      ["mean_ns", "Mean latency"],
      ["p99_ns", "P99 of the latency"],
    ],
    rows: page.edges.map((edge) => ({
      name: name(edge),
      chain: edge.chain,
      by: edge.by,
      more: () => [`from ${edge.from ?? "any node"}${edge.chain ? ", on a chain" : ""}`],
    })),
    data() {
      const ids = shown.ids().filter((id) => page.edges.some((edge) => edge.by[id]));
      const means = page.edges.flatMap((edge) => ids.map((id) => edge.by[id]?.mean_ns ?? 0));
      const unit = unitFor(Math.max(0, ...means));
      const show = (edge: EdgeLatency, id: string): string => {
        const of = edge.by[id];
        if (!of) return missing;
        return `${inUnit(of.mean_ns, unit)}${of.p99_ns === null ? "" : ` (${inUnit(of.p99_ns, unit)})`}`;
      };
      return table<EdgeLatency>(
        [
          { head: "Topic", cell: (edge) => edge.topic },
          { head: "From", cell: (edge) => edge.from ?? missing },
          { head: "To", cell: (edge) => edge.to },
          { head: "Chain", cell: (edge) => (edge.chain ? "yes" : missing) },
          ...ids.map((id) => ({ head: shown.label(id), number: true, cell: (edge: EdgeLatency) => show(edge, id) })),
        ],
        page.edges,
        `Mean in ${unit.name}, and the 99th percentile in brackets`,
      );
    },
  };
}
