// Light and dark: the reader's setting, until the button says otherwise.

import { h } from "./dom";

type Theme = "light" | "dark";

function current(): Theme {
  const chosen = document.documentElement.dataset.theme;
  if (chosen === "light" || chosen === "dark") return chosen;
  return matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
}

export function themeButton(): HTMLElement {
  const label = () => (current() === "dark" ? "Light" : "Dark");
  const button = h("button", { type: "button", class: "theme", "aria-label": "Switch between light and dark" }, label());
  button.addEventListener("click", () => {
    document.documentElement.dataset.theme = current() === "dark" ? "light" : "dark";
    button.textContent = label();
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
    button.textContent = label();
  });
  return button;
}
