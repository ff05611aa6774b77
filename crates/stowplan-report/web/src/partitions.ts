// A picture of each partition: services, their nodes, and what these send each other.

import type { Shown } from "./colours";
import type { Page, Partition, PartitionEdge } from "./data";
import { choice, h } from "./dom";
import type { Figure } from "./figure";
import { legend } from "./figures/common";
import { missing, percent, plain, plural } from "./format";
import { sortable } from "./sortable";

/** Classes of edges, nearest first; the names that older results have, too. */
const CLASSES: [key: string, label: string, colour: string][] = [
  ["intra-process", "by pointer, in one process", "var(--d2)"],
  ["same-process", "through DDS, in one process", "var(--d0)"],
  ["loopback", "between processes", "var(--d1)"],
  ["other-namespace", "between network namespaces", "var(--d3)"],
];

/** Smaller than this nobody can read it. */
const LEAST = 0.8;

function classOf(edge: PartitionEdge): string | null {
  return edge.class?.replaceAll("_", "-") ?? null;
}

/** Which partition is shown, and which part of it. */
export class PartitionChoice {
  partition = 0;
  picture = 0;
  private readonly listeners: (() => void)[] = [];

  constructor(readonly page: Page) {}

  onChange(listener: () => void): void {
    this.listeners.push(listener);
  }

  current(): Partition {
    return this.page.partitions[this.partition]!;
  }

  set(partition: number, picture: number): void {
    this.partition = partition;
    this.picture = picture;
    for (const listener of this.listeners) listener();
  }
}

/** Choices of partition and picture; what pictures there are depends on the partition. */
function controlsOf(of: PartitionChoice): HTMLElement[] {
  const { partitions } = of.page;
  const box = h("div", { class: "controls" });
  const fill = (): void => {
    const names = partitions.map((p, i): [string, string] => [String(i), `${p.partition}: ${plural(p.services, "service")}, ${plural(p.nodes, "node")}`]);
    const pictures = of.current().pictures.map((p, i): [string, string] => [String(i), p.label]);
    box.replaceChildren(
      choice("Partition", names, String(of.partition), (v) => {
        of.set(Number(v), 0);
        fill();
      }),
      pictures.length > 1 ? choice("Show", pictures, String(of.picture), (v) => of.set(of.partition, Number(v))) : "",
    );
  };
  fill();
  return [box];
}

/** An arrow or a box says to the keyboard what its title says to the pointer. */
export function sayTitles(svg: Element): void {
  for (const mark of svg.querySelectorAll("g.graph-arrow, g.graph-node, g.graph-aside")) {
    const title = mark.querySelector("title");
    if (title) mark.setAttribute("aria-label", title.textContent ?? "");
    // The tip of this page tells it to the pointer, too.
    title?.remove();
  }
}

/** As wide as there is room for, while it can still be read. */
function scaled(svg: SVGElement, width: number): void {
  const [wide, high] = [Number(svg.getAttribute("width")), Number(svg.getAttribute("height"))];
  const scale = Math.max(LEAST, Math.min(1, (width - 2) / wide));
  svg.setAttribute("width", String(wide * scale));
  svg.setAttribute("height", String(high * scale));
  // Thick arrows have no larger heads than thin ones.
  for (const head of svg.querySelectorAll("marker")) {
    head.setAttribute("markerUnits", "userSpaceOnUse");
    head.setAttribute("markerWidth", "11");
    head.setAttribute("markerHeight", "11");
  }
}

export function partitionPicture(of: PartitionChoice): Figure {
  return {
    id: "partition-picture",
    title: "What each service holds",
    read:
      "A frame is a service, a box a node; where there are too many nodes, a box is a service. Arrows have the topic, and the rate and mean latency " +
      "that were measured in the window. Their colour is the way that messages took. The chains are drawn thick.",
    controls: controlsOf(of),
    draw(width) {
      const partition = of.current();
      const drawing = partition.pictures[of.picture];
      if (!drawing) return [];
      const parsed = new DOMParser().parseFromString(drawing.svg, "image/svg+xml").documentElement;
      const svg = document.importNode(parsed, true) as unknown as SVGElement;
      sayTitles(svg);
      scaled(svg, width);
      const box = h("div", { class: "scroll graph-scroll", tabindex: 0, role: "region", "aria-label": `Partition ${partition.partition}: ${drawing.label}` });
      box.append(svg);
      const used = CLASSES.filter(([key]) => partition.edges.some((edge) => classOf(edge) === key));
      return [legend(used.map(([, label, colour]) => [label, colour])), box];
    },
    data() {
      const { partition, deployment, edges } = of.current();
      const label = (edge: PartitionEdge) => CLASSES.find(([key]) => key === classOf(edge))?.[1] ?? edge.class ?? missing;
      const end = (node: string | null, service: string | null) => `${node ?? "any"}${service ? ` in ${service}` : ""}`;
      return sortable<PartitionEdge>({
        caption: `Edges of ${partition} as ${deployment} had them`,
        rows: edges,
        sort: 4,
        words: (e) => `${e.topic} ${e.from ?? ""} ${e.to} ${e.from_service ?? ""} ${e.to_service ?? ""} ${label(e)}`,
        columns: [
          { head: "Topic", cell: (e) => e.topic, by: (e) => e.topic },
          { head: "From", cell: (e) => end(e.from, e.from_service), by: (e) => e.from },
          { head: "To", cell: (e) => end(e.to, e.to_service), by: (e) => e.to },
          { head: "Way", cell: label, by: label },
          { head: "Hz", number: true, cell: (e) => plain(e.hz, 1), by: (e) => e.hz },
          { head: "Lost", number: true, cell: (e) => (e.lost === null ? missing : percent(e.lost).replace(/^[+±]/, "")), by: (e) => e.lost },
          { head: "Chain", cell: (e) => (e.chain ? "yes" : missing), by: (e) => (e.chain ? 1 : 0) },
        ],
      });
    },
  };
}

/** The figure that the picker of deployments does not change. */
export function partitions(page: Page, shown: Shown, make: (spec: Figure, shown: Shown) => { element: HTMLElement; redraw: () => void }): HTMLElement {
  const of = new PartitionChoice(page);
  const made = make(partitionPicture(of), shown);
  of.onChange(made.redraw);
  return made.element;
}
