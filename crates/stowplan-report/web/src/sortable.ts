// A long table: sorted by any column, filtered by a word, cut after some rows until asked for all.

import { h } from "./dom";
import { count } from "./format";

export interface SortableColumn<T> {
  head: string;
  cell: (row: T) => Node | string;
  /** What the column is sorted by; missing values come last. */
  by: (row: T) => number | string | null;
  number?: boolean;
}

export interface Sortable<T> {
  caption: string;
  columns: SortableColumn<T>[];
  rows: T[];
  /** Index of the column that is sorted at first. */
  sort: number;
  /** What the filter looks into. */
  words: (row: T) => string;
  /** Makes rows selectable: the row that is, and who is told of another. */
  select?: { first: T | undefined; changed: (row: T) => void };
}

const FIRST_ROWS = 25;

function compare(a: number | string | null, b: number | string | null): number {
  if (a === null || b === null) return (a === null ? 1 : 0) - (b === null ? 1 : 0);
  if (typeof a === "number" && typeof b === "number") return b - a;
  return String(a).localeCompare(String(b), "en", { numeric: true });
}

export function sortable<T>(spec: Sortable<T>): HTMLElement {
  let sort = spec.sort;
  let reversed = false;
  let word = "";
  let all = spec.rows.length <= FIRST_ROWS * 1.2;
  let selected = spec.select?.first;
  const body = h("tbody", {});
  const heads = spec.columns.map((column, index) => {
    const button = h(
      "button",
      {
        type: "button",
        click: () => {
          reversed = sort === index && !reversed;
          sort = index;
          fill();
        },
      },
      column.head,
    );
    return h("th", { scope: "col", class: column.number ? "number" : null }, button);
  });
  const told = h("p", { class: "note", role: "status" });
  const more = h("button", { type: "button", class: "plain-button", click: () => ((all = true), fill()) });
  const line = (row: T): HTMLElement =>
    h(
      "tr",
      { "aria-selected": spec.select ? String(row === selected) : null },
      spec.columns.map((column, index) => {
        const cell = column.cell(row);
        if (index > 0) return h("td", { class: column.number ? "number" : null }, cell);
        const choose = () => {
          selected = row;
          fill();
          spec.select?.changed(row);
        };
        return h("th", { scope: "row" }, spec.select ? h("button", { type: "button", class: "row", click: choose }, cell) : cell);
      }),
    );
  const fill = (): void => {
    const focused = document.activeElement?.closest("tbody") === body;
    const by = spec.columns[sort]!.by;
    const found = spec.rows.filter((row) => word === "" || spec.words(row).toLowerCase().includes(word));
    found.sort((a, b) => {
      const order = compare(by(a), by(b));
      // What is missing stays last in both directions.
      return reversed && by(a) !== null && by(b) !== null ? -order : order;
    });
    const shown = all ? found : found.slice(0, FIRST_ROWS);
    body.replaceChildren(...shown.map(line));
    heads.forEach((head, index) => {
      const number = spec.columns[index]!.number === true;
      const falling = number !== reversed;
      if (index === sort) head.setAttribute("aria-sort", falling ? "descending" : "ascending");
      else head.removeAttribute("aria-sort");
    });
    told.textContent = found.length === shown.length ? "" : `${count(shown.length)} of ${count(found.length)} rows`;
    more.textContent = `Show all ${count(found.length)}`;
    more.hidden = found.length === shown.length;
    if (focused) body.querySelector<HTMLElement>('tr[aria-selected="true"] button')?.focus();
  };
  const search = h("input", {
    type: "search",
    placeholder: "Filter",
    "aria-label": `Filter: ${spec.caption}`,
    input: (event) => {
      word = (event.target as HTMLInputElement).value.trim().toLowerCase();
      fill();
    },
  });
  fill();
  return h(
    "div",
    { class: "sortable" },
    h("div", { class: "controls" }, h("span", { class: "caption" }, spec.caption), search),
    h(
      "div",
      { class: "scroll", tabindex: 0, role: "region", "aria-label": spec.caption },
      h("table", {}, h("thead", {}, h("tr", {}, heads)), body),
    ),
    h("div", { class: "controls" }, told, more),
  );
}
