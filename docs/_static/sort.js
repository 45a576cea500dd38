// A click on a head of a long table sorts its rows: upwards, downwards, and back to the order of the page.
"use strict";

const LEAST_ROWS = 8;

/** The number that a cell is, else its text; numbers come first. */
function key(row, column) {
  const text = row.cells[column].textContent.trim();
  const number = text === "∞" ? Infinity : Number(text.replaceAll(",", "").replaceAll("−", "-") || NaN);
  return { text, number, isText: Number.isNaN(number) };
}

function compare(a, b) {
  if (a.isText !== b.isText) return a.isText - b.isText;
  return a.isText ? a.text.localeCompare(b.text, "en", { numeric: true }) : a.number - b.number || 0;
}

function sort(body, head, original) {
  const next = { ascending: "descending", descending: "none" };
  const order = next[head.getAttribute("aria-sort")] ?? "ascending";
  for (const each of head.parentElement.cells) each.removeAttribute("aria-sort");
  if (order === "none") return body.append(...original);
  head.setAttribute("aria-sort", order);
  const sign = order === "ascending" ? 1 : -1;
  body.append(...[...original].sort((a, b) => sign * compare(key(a, head.cellIndex), key(b, head.cellIndex))));
}

document.addEventListener("DOMContentLoaded", () => {
  for (const table of document.querySelectorAll("article table")) {
    const [body] = table.tBodies;
    const original = body ? [...body.rows] : [];
    if (!table.tHead || original.length < LEAST_ROWS) continue;
    for (const head of table.tHead.rows[0].cells) {
      head.tabIndex = 0;
      head.classList.add("sortable");
      head.title = "Sort by this column";
      head.addEventListener("click", () => sort(body, head, original));
      head.addEventListener("keydown", (event) => event.key === "Enter" && sort(body, head, original));
    }
  }
});
