// What several figures share.

import * as Plot from "@observablehq/plot";

/** Space for labels at the left, in CSS pixels. */
export function marginFor(labels: string[], width: number, size = 12): number {
  const longest = Math.max(0, ...labels.map((l) => l.length));
  return Math.min(Math.ceil(longest * size * 0.56) + 16, Math.floor(width * 0.42));
}

export const grid = { stroke: "var(--grid)", strokeOpacity: 1 };

export const base = {
  style: { background: "none", fontSize: "12px", overflow: "visible" },
  marginTop: 8,
  marginBottom: 46,
} satisfies Plot.PlotOptions;

/** A title in the middle under the ticks of the horizontal axis. */
export const under = { labelAnchor: "center", labelArrow: "none", labelOffset: 40 } satisfies Plot.ScaleOptions;

/** Lines by label in the colours of the page; some dashed, because their colour is taken. */
export function lines<T extends { label: string; dash: string | null }>(
  points: T[],
  options: Plot.LineOptions,
): Plot.Markish[] {
  const common = { z: "label", stroke: "label", ...options };
  const plain = points.filter((p) => p.dash === null);
  const dashed = points.filter((p) => p.dash !== null);
  return [
    plain.length ? Plot.line(plain, common) : null,
    dashed.length ? Plot.line(dashed, { ...common, strokeDasharray: "5 3" }) : null,
  ];
}

/** A tip in the colours of the page. */
export const tip = { fill: "var(--raised)", stroke: "var(--line)" };

/** A legend of coloured squares. */
export function legend(entries: [label: string, colour: string][]): HTMLElement {
  const list = document.createElement("ul");
  list.className = "legend";
  for (const [label, colour] of entries) {
    const item = document.createElement("li");
    const swatch = document.createElement("span");
    swatch.className = "swatch";
    swatch.style.background = colour;
    item.append(swatch, label);
    list.append(item);
  }
  return list;
}
