// What marks say, without a pointer: each is reached by the arrow keys, and tells what its tip tells.

import { h } from "./dom";

/** Marks of a drawing that say something. */
const SAYING = "svg g > [aria-label]:not(g), svg g.graph-arrow[aria-label], svg g.graph-node[aria-label], svg g.graph-aside[aria-label]";

/** How far the keys go. */
const STEPS: Record<string, number> = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1, PageDown: 10, PageUp: -10, Home: -Infinity, End: Infinity };

/** Makes what was just drawn one stop of the keyboard; the arrow keys go from mark to mark. */
export function reachable(drawing: HTMLElement): number {
  const marks = [...drawing.querySelectorAll<SVGElement>(SAYING)];
  marks.forEach((mark, i) => {
    const text = mark.getAttribute("aria-label") ?? "";
    mark.dataset.tip = text;
    mark.setAttribute("aria-label", text.replaceAll("\n", ", "));
    mark.setAttribute("role", "img");
    mark.setAttribute("tabindex", i === 0 ? "0" : "-1");
  });
  drawing.onkeydown = (event) => {
    const step = STEPS[event.key];
    const at = marks.indexOf(event.target as SVGElement);
    if (step === undefined || at < 0) return;
    event.preventDefault();
    const to = marks[Math.max(0, Math.min(marks.length - 1, at + step))]!;
    marks[at]!.setAttribute("tabindex", "-1");
    to.setAttribute("tabindex", "0");
    to.focus();
  };
  return marks.length;
}

/** Shows what an element says beside it, while it has the focus or, outside of drawings, the pointer. */
export function tips(): HTMLElement {
  const box = h("div", { class: "tip", role: "tooltip", hidden: true });
  let of: Element | null = null;
  const hide = (): void => {
    box.hidden = true;
    of = null;
  };
  const show = (target: EventTarget | null): void => {
    const element = target instanceof Element ? target.closest("[data-tip]") : null;
    if (element === of) return;
    if (element === null) return hide();
    of = element;
    box.textContent = element.getAttribute("data-tip");
    box.hidden = false;
    const at = element.getBoundingClientRect();
    const own = box.getBoundingClientRect();
    const left = Math.max(8, Math.min(at.left + at.width / 2 - own.width / 2, document.documentElement.clientWidth - own.width - 8));
    const under = at.bottom + 8;
    box.style.left = `${left}px`;
    box.style.top = `${under + own.height > innerHeight ? Math.max(8, at.top - own.height - 8) : under}px`;
  };
  document.addEventListener("focusin", (event) => show(event.target));
  document.addEventListener("focusout", hide);
  document.addEventListener("pointerover", (event) => {
    // A drawing has tips of its own for the pointer: they follow the nearest mark.
    const inside = event.target instanceof Element && event.target.closest(".drawing svg:not(.graph)") !== null;
    if (!inside && !(of && of === document.activeElement)) show(event.target);
  });
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape") hide();
  });
  addEventListener("scroll", () => (of === document.activeElement ? undefined : hide()), { passive: true });
  return box;
}
