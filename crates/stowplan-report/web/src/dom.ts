// A few words for making elements.

import { missing } from "./format";

type Child = Node | string | number | null | undefined | false;
type Value = string | number | boolean | null | undefined | ((event: Event) => void);

/** An element with attributes; functions become event handlers. */
export function h<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Record<string, Value> = {},
  ...children: (Child | Child[])[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") element.addEventListener(name, value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value != null) element.setAttribute(name, String(value));
  }
  append(element, children);
  return element;
}

export function append(element: Element, children: (Child | Child[])[]): void {
  for (const child of children.flat()) {
    if (child == null || child === false) continue;
    element.append(typeof child === "number" ? String(child) : child);
  }
}

/** Text of Stowplan with `commands` between backticks, as the terminal has them too. */
export function prose(text: string): Child[] {
  return text.split("`").map((part, i) => (i % 2 === 1 ? h("code", {}, part) : part));
}

let ids = 0;
/** An id that is unique on the page. */
export function unique(prefix: string): string {
  ids += 1;
  return `${prefix}-${ids}`;
}

export interface Column<T> {
  head: string;
  cell: (row: T) => Child;
  number?: boolean;
}

/** A table; its first column names the row. A column that has nothing in any row is left out. */
export function table<T>(columns: Column<T>[], rows: T[], caption?: string): HTMLElement {
  const cells = rows.map((row) =>
    columns.map((c, i) => (i === 0 ? h("th", { scope: "row" }, c.cell(row)) : h("td", { class: c.number ? "number" : null }, c.cell(row)))),
  );
  const has = columns.map((_, i) => i === 0 || rows.length === 0 || cells.some((row) => !["", missing].includes(row[i]!.textContent ?? "")));
  const head = columns.filter((_, i) => has[i]).map((c) => h("th", { scope: "col", class: c.number ? "number" : null }, c.head));
  const body = cells.map((row) => h("tr", {}, row.filter((_, i) => has[i])));
  return h(
    "div",
    { class: "scroll", tabindex: 0, role: "region", "aria-label": caption ?? "Table" },
    h(
      "table",
      {},
      caption ? h("caption", {}, caption) : null,
      h("thead", {}, h("tr", {}, head)),
      h("tbody", {}, body),
    ),
  );
}

/** What is folded under one line. */
export function fold(title: string, ...content: (Child | Child[])[]): HTMLElement {
  return h("details", { class: "data wide" }, h("summary", {}, title), ...content);
}

/** One choice of several, side by side: radio buttons that look like one control. */
export function segments(
  label: string,
  options: [value: string, label: string][],
  value: string,
  change: (value: string) => void,
): HTMLElement {
  const name = unique("segments");
  return h(
    "fieldset",
    { class: "segments" },
    h("legend", {}, label),
    options.map(([option, text]) => {
      const input = h("input", {
        type: "radio",
        name,
        value: option,
        checked: option === value,
        change: () => change(option),
      });
      return h("label", {}, input, h("span", {}, text));
    }),
  );
}

/** One choice of many. */
export function choice(
  label: string,
  options: [value: string, label: string][],
  value: string,
  change: (value: string) => void,
): HTMLElement {
  const select = h(
    "select",
    { change: (event) => change((event.target as HTMLSelectElement).value) },
    options.map(([option, text]) => h("option", { value: option, selected: option === value }, text)),
  );
  return h("label", { class: "choice" }, h("span", {}, label), select);
}
