// The node graph: pictures that are in the page's data.

import type { Figure } from "../figure";
import { choice } from "../dom";
import { sayTitles } from "../partitions";
import type { TracePage } from "./data";

export class GraphChoice {
  index = 0;
  private readonly listeners: (() => void)[] = [];

  onChange(listener: () => void): void {
    this.listeners.push(listener);
  }

  set(index: number): void {
    this.index = index;
    for (const listener of this.listeners) listener();
  }
}

export function graph(page: TracePage, of: GraphChoice): Figure {
  const options = page.graphs.map((g, i): [string, string] => [String(i), g.label]);
  return {
    id: "node-graph",
    title: "Node graph",
    read:
      "Boxes send messages along the arrows; beside an arrow stand its topic, its rate over the whole trace and the slowest median " +
      "from publication to callback. Topics of ROS 2 itself are left out; point at an arrow to see all its topics.",
    controls: options.length > 1 ? [choice("Show", options, String(of.index), (v) => of.set(Number(v)))] : [],
    draw() {
      const drawing = page.graphs[of.index];
      if (!drawing) return [];
      const parsed = new DOMParser().parseFromString(drawing.svg, "image/svg+xml").documentElement;
      const svg = document.importNode(parsed, true);
      sayTitles(svg);
      const box = document.createElement("div");
      box.className = "scroll graph-scroll";
      box.tabIndex = 0;
      box.setAttribute("role", "region");
      box.setAttribute("aria-label", `Node graph: ${drawing.label}`);
      box.append(svg);
      return [box];
    },
  };
}
