// How messages were linked to their publication, and what each topic carried.

import * as Plot from "@observablehq/plot";
import type { Figure } from "../figure";
import { base, grid, marginFor, says, under } from "../figures/common";
import { count } from "../format";
import { table } from "../dom";
import { sortable } from "../sortable";
import type { Topic, TracePage } from "./data";

interface Bar {
  row: string;
  label: string;
  messages: number;
  sure: string;
}

/** How sure links of a method are; `topic_and_time` is ambiguous where several publications fit. */
const SURE: Record<string, string> = {
  source_timestamp: "certain",
  ring_buffer: "certain",
  dds_write: "certain",
  caret: "certain",
  message_address: "probable",
  topic_and_time: "probable",
  latest_before_callback: "guessed",
};

const COLOURS: [sure: string, colour: string][] = [
  ["certain", "var(--better)"],
  ["probable", "var(--equivalent)"],
  ["ambiguous", "var(--d5)"],
  ["guessed", "var(--d1)"],
  ["not linked", "var(--idle)"],
];

function bars(page: TracePage): Bar[] {
  const { methods, confidences, unlinked } = page.links;
  return [
    ...methods.map(([label, messages]) => ({ row: label, label, messages, sure: SURE[label] ?? "probable" })),
    ...(confidences.length > 1 ? confidences.map(([label, messages]) => ({ row: `in all: ${label}`, label, messages, sure: label })) : []),
    ...(unlinked > 0 ? [{ row: "not linked", label: "not linked", messages: unlinked, sure: "not linked" }] : []),
  ];
}

export function links(page: TracePage): Figure {
  return {
    id: "links",
    title: "Messages and how their publication was found",
    read:
      "A bar is the number of messages taken whose publication was found by a method, coloured by how sure that is; " +
      "what is not linked was published outside the trace, or several publications fitted and none could be told.",
    draw(width) {
      const all = bars(page);
      if (all.length === 0) return [];
      const labels = all.map((b) => b.row);
      const most = Math.max(...all.map((b) => b.messages));
      const share = (b: Bar) => `${count(b.messages)} (${((b.messages / page.links.takes) * 100).toFixed(1)} %)`;
      return [
        Plot.plot({
          ...base,
          width,
          marginLeft: marginFor(labels, width),
          marginRight: 190,
          height: 60 + labels.length * 30,
          x: { ...under, label: "messages taken", domain: [0, most], ticks: 6, tickFormat: (v: number) => count(v) },
          y: { domain: labels, label: null, tickSize: 0, padding: 0.25 },
          color: { domain: COLOURS.map(([s]) => s), range: COLOURS.map(([, c]) => c) },
          marks: [
            Plot.gridX(grid),
            Plot.barX(all, { x: "messages", y: "row", fill: "sure", rx: 2, ...says((b: Bar) => `${b.row}\n${share(b)} of the messages taken\n${b.sure}`) }),
            Plot.text(all, { x: "messages", y: "row", text: (b) => `${share(b)} ${b.sure === b.label ? "" : b.sure}`, textAnchor: "start", dx: 6 }),
          ],
        }),
      ];
    },
    data() {
      return table(
        [
          { head: "Method", cell: (b: Bar) => b.row },
          { head: "How sure", cell: (b: Bar) => b.sure },
          { head: "Messages", number: true, cell: (b: Bar) => count(b.messages) },
        ],
        bars(page),
        `Of ${count(page.links.takes)} messages taken`,
      );
    },
  };
}

export function topicTable(page: TracePage): HTMLElement {
  const seconds = page.facts.duration_ns / 1e9;
  const number = (head: string, key: "publishers" | "subscriptions" | "publications" | "takes" | "linked") => ({
    head,
    number: true,
    cell: (t: Topic) => count(t[key]),
    by: (t: Topic) => t[key],
  });
  const rate = (t: Topic) => (seconds > 0 ? t.publications / seconds : null);
  return sortable<Topic>({
    caption: `${count(page.topics.length)} topics; the rate is over the whole trace`,
    rows: page.topics,
    sort: 4,
    words: (t) => t.name,
    columns: [
      { head: "Topic", cell: (t) => t.name, by: (t) => t.name },
      number("Publishers", "publishers"),
      number("Subscriptions", "subscriptions"),
      { head: "Rate (1/s)", number: true, cell: (t) => rate(t)?.toFixed(2) ?? "–", by: rate },
      number("Published", "publications"),
      number("Taken", "takes"),
      number("Linked", "linked"),
    ],
  });
}
