// The node graph: pictures that are in the page's data.

import type { Figure } from "../figure";
import { choice, segments } from "../dom";
import { sayTitles } from "../partitions";
import type { TracePage } from "./data";

/** Height of the frame, CSS pixels: as `graph-scroll` has it. */
const FRAME = 730;

export class GraphChoice {
  index = 0;
  fits = true;
  private readonly listeners: (() => void)[] = [];

  onChange(listener: () => void): void {
    this.listeners.push(listener);
  }

  set(index: number): void {
    this.index = index;
    this.changed();
  }

  fit(fits: boolean): void {
    this.fits = fits;
    this.changed();
  }

  private changed(): void {
    for (const listener of this.listeners) listener();
  }
}

/** Scales a picture so that all of it is in the frame; a small one is not made larger. */
function fitted(svg: Element, width: number): void {
  const [wide, high] = [Number(svg.getAttribute("width")), Number(svg.getAttribute("height"))];
  const scale = Math.min(1, (width - 2) / wide, FRAME / high);
  svg.setAttribute("width", String(Math.floor(wide * scale)));
  svg.setAttribute("height", String(Math.floor(high * scale)));
}

export function graph(page: TracePage, of: GraphChoice): Figure {
  const options = page.graphs.map((g, i): [string, string] => [String(i), g.label]);
  return {
    id: "node-graph",
    title: "Node graph",
    read:
      "Boxes send messages along the arrows; beside an arrow stand its topic, its rate over the whole trace and the slowest median " +
      "from publication to callback. Topics of ROS 2 itself are left out; point at an arrow to see all its topics. Full size has small text that can be read; the picture then scrolls.",
    controls: [
      ...(options.length > 1 ? [choice("Show", options, String(of.index), (v) => of.set(Number(v)))] : []),
      segments("Size", [["fit", "Fit the frame"], ["full", "Full"]], of.fits ? "fit" : "full", (v) => of.fit(v === "fit")),
    ],
    draw(width) {
      const drawing = page.graphs[of.index];
      if (!drawing) return [];
      const parsed = new DOMParser().parseFromString(drawing.svg, "image/svg+xml").documentElement;
      const svg = document.importNode(parsed, true);
      sayTitles(svg);
      if (of.fits) fitted(svg, width);
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
