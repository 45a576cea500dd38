// Tables that sort and are saved as they are shown.

const LATEX = {
  "\\": "\\textbackslash{}", "~": "\\textasciitilde{}", "^": "\\textasciicircum{}",
  "ε": "$\\varepsilon$", "δ": "$\\delta$", "∞": "$\\infty$", "−": "$-$", "–": "--",
  "✓": "$\\checkmark$", "✗": "$\\times$", "≠": "$\\neq$", "○": "$\\circ$", "†": "$\\dagger$", "²": "$^2$", "χ": "$\\chi$",
};
const escaped = (text) => text.replace(/[&%$#_{}]/g, "\\$&").replace(/[\\~^εδ∞−–✓✗≠○†²χ](?![&%$#_{}])/g, (sign) => LATEX[sign]);

/** Words of a cell; a permalink is no part of it. */
function words(cell) {
  const copy = cell.cloneNode(true);
  copy.querySelectorAll(".permalink").forEach((link) => link.remove());
  copy.querySelectorAll("br, small").forEach((part) => part.before(" "));
  return copy.textContent.replace(/\s+/g, " ").trim();
}

/** Rows of a table as it is shown, cells that span columns repeated. */
function rowsOf(table) {
  const spread = (cell) => Array(cell.colSpan).fill(words(cell));
  return [...table.rows].map((row) => [...row.cells].flatMap(spread));
}

function asLatex(table) {
  const heads = table.tHead.rows.length;
  const [first] = table.tBodies[0].rows;
  const columns = [...first.cells].map((cell) => (cell.classList.contains("number") ? "r" : "l")).join("");
  const lines = rowsOf(table).map((row) => `${row.map(escaped).join(" & ")} \\\\`);
  const body = [...lines.slice(0, heads), "\\midrule", ...lines.slice(heads)];
  return `% Needs the package booktabs.\n\\begin{tabular}{${columns}}\n\\toprule\n${body.join("\n")}\n\\bottomrule\n\\end{tabular}\n`;
}

/** The number that a cell begins with, such as 12.5 of "12.50 [12.1–13.0]", else that it ends with; NaN if none. */
function valueOf(text) {
  if (text.startsWith("∞")) return Infinity;
  const plain = text.replaceAll(",", "").replaceAll("−", "-");
  const number = "-?\\d+(?:\\.\\d+)?(?:e[+-]?\\d+)?";
  const found = plain.match(new RegExp(`^${number}`)) ?? plain.match(new RegExp(`${number}$`));
  return found ? Number(found[0]) : NaN;
}

/** Compare cells; those without a number come last, whatever the direction. */
function comparing(column, numeric, sign) {
  const key = (row) => words(row.cells[column]);
  if (!numeric) return (a, b) => sign * key(a).localeCompare(key(b), "en", { numeric: true });
  return (a, b) => {
    const [left, right] = [valueOf(key(a)), valueOf(key(b))];
    if (isNaN(left) || isNaN(right)) return isNaN(left) - isNaN(right);
    return left === right ? 0 : sign * (left < right ? -1 : 1);
  };
}

/** Sort by a column: upwards, downwards, and back to the order of the report. */
function sort(table, head, original) {
  const next = { none: "ascending", ascending: "descending", descending: "none" };
  const order = next[head.getAttribute("aria-sort")];
  for (const each of head.parentElement.cells) each.setAttribute("aria-sort", "none");
  head.setAttribute("aria-sort", order);
  const sign = order === "ascending" ? 1 : -1;
  const by = comparing(head.cellIndex, head.classList.contains("number"), sign);
  table.tBodies[0].append(...(order === "none" ? original : [...original].sort(by)));
}

function enliven(table) {
  const original = [...table.tBodies[0].rows];
  if (original.length > 1) {
    for (const head of table.tHead.rows[table.tHead.rows.length - 1].cells) {
      const label = make("button", { type: "button", class: "sort", onclick: () => sort(table, head, original) });
      label.append(...head.childNodes);
      head.append(label);
      head.setAttribute("aria-sort", "none");
    }
  }
  const name = table.getAttribute("aria-labelledby") || "table";
  const button = (kind, save) => make("button", { type: "button", onclick: save, "aria-describedby": name }, kind);
  table.closest(".scroll").after(make("p", { class: "tools" },
    button("CSV", () => download(`${name}.csv`, "text/csv", asCsv(rowsOf(table)))),
    button("LaTeX", () => download(`${name}.tex`, "text/x-tex", asLatex(table)))));
}
