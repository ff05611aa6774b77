// The frame that every figure stands in.

import { h, unique } from "./dom";
import type { Shown } from "./colours";
import { reachable } from "./points";

export interface Figure {
  /** Name in the address. */
  id: string;
  title: string;
  /** One sentence: how to read it. */
  read: string;
  controls?: HTMLElement[];
  /** What is drawn, for a width in CSS pixels. Nothing where there is nothing to draw. */
  draw: (width: number) => (Element | null)[];
  /** The same as a table. */
  data?: () => HTMLElement;
}

const MARKS = "path, rect, circle, line";

/** What draws each figure for the width that it has. */
const measures: (() => void)[] = [];

/** Draws every figure that can be seen: a print does not wait until the browser tells of their widths. */
export function measureAll(): void {
  measures.forEach((measure) => measure());
}

/** A figure that redraws itself when its width or the shown deployments change. */
export function figure(spec: Figure, shown: Shown): { element: HTMLElement; redraw: () => void } {
  const heading = unique("figure");
  const reading = unique("reading");
  const drawing = h("div", { class: "drawing" });
  const data = spec.data ? details(spec.data) : null;
  const element = h(
    "figure",
    { id: spec.id, "aria-labelledby": heading },
    h("h3", { id: heading }, spec.title),
    spec.controls?.length ? h("div", { class: "controls" }, spec.controls) : null,
    drawing,
    h("figcaption", { id: reading }, spec.read),
    data?.element,
  );

  let width = 0;
  const redraw = (): void => {
    if (width === 0) return;
    try {
      const drawn = spec.draw(width).filter((e): e is Element => e !== null);
      for (const one of drawn) {
        const svg = one instanceof SVGSVGElement ? one : one.querySelector("svg");
        svg?.setAttribute("role", "group");
        svg?.setAttribute("aria-labelledby", heading);
        svg?.setAttribute("aria-describedby", reading);
      }
      drawing.replaceChildren(
        ...(drawn.length ? drawn : [h("p", { class: "nothing" }, `No ${shown.noun} is selected.`)]),
      );
      let marks = 0;
      for (const one of drawn) {
        for (const group of one.querySelectorAll('[aria-label]:not([aria-label*="axis"]):not([aria-label*="grid"])')) {
          marks += group.matches(MARKS) ? 1 : group.querySelectorAll(MARKS).length;
        }
      }
      element.dataset.marks = String(marks);
      element.dataset.reachable = String(reachable(drawing));
      delete element.dataset.error;
    } catch (error) {
      element.dataset.error = String(error);
      drawing.replaceChildren(h("p", { class: "nothing" }, `This figure cannot be drawn: ${String(error)}`));
      console.error(error);
    }
    data?.refresh();
  };
  const measure = (): void => {
    // What is folded is drawn when it is unfolded.
    if (element.closest("details:not([open])")) return;
    const now = Math.floor(drawing.clientWidth);
    if (now > 0 && now !== width) {
      width = now;
      redraw();
    }
  };
  new ResizeObserver(measure).observe(drawing);
  // The observer speaks up after the first layout; what is drawn at once is seen at once.
  queueMicrotask(measure);
  measures.push(measure);
  shown.onChange(redraw);
  return { element, redraw };
}

/** Figures that share a control redraw together. */
export function linked(specs: Figure[], shown: Shown, choice: { onChange(listener: () => void): void }): HTMLElement[] {
  const made = specs.map((spec) => figure(spec, shown));
  choice.onChange(() => made.forEach((one) => one.redraw()));
  return made.map((one) => one.element);
}

/** The figure's data, made when it is first opened. */
function details(make: () => HTMLElement): { element: HTMLElement; refresh: () => void } {
  const element = h("details", { class: "data" }, h("summary", {}, "Data"));
  let made: HTMLElement | null = null;
  const refresh = (): void => {
    if (!element.open) {
      made?.remove();
      made = null;
      return;
    }
    const next = make();
    if (made) made.replaceWith(next);
    else element.append(next);
    made = next;
  };
  element.addEventListener("toggle", refresh);
  return { element, refresh };
}
