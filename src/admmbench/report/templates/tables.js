// Tables that sort, that show the rows and columns that are chosen, and that are saved as they are shown.

const LATEX = {
  "\\": "\\textbackslash{}", "~": "\\textasciitilde{}", "^": "\\textasciicircum{}",
  "ε": "$\\varepsilon$", "δ": "$\\delta$", "∞": "$\\infty$", "−": "$-$", "–": "--",
  "‑": "-", "⁰": "$^0$", ...Object.fromEntries([..."₀₁₂₃₄₅₆₇₈₉"].map((sign, digit) => [sign, `$_${digit}$`])),
  "η": "$\\eta$", "λ": "$\\lambda$", "ρ": "$\\rho$", "σ": "$\\sigma$", "×": "$\\times$", "→": "$\\to$", "≤": "$\\leq$", "≥": "$\\geq$", "<": "$<$", ">": "$>$",
  "✓": "$\\checkmark$", "✗": "$\\times$", "≠": "$\\neq$", "○": "$\\circ$", "†": "$\\dagger$", "²": "$^2$", "χ": "$\\chi$",
};
const escaped = (text) => text.replace(/[&%$#_{}]/g, "\\$&").replace(/[\\~^εδ∞−–‑⁰₀-₉ηλρσ×→≤≥<>✓✗≠○†²χ](?![&%$#_{}])/g, (sign) => LATEX[sign]);

/** Words of a cell; a permalink is no part of it, nor is what opens a fold. */
function words(cell) {
  const copy = cell.cloneNode(true);
  copy.querySelectorAll(".permalink, summary").forEach((part) => part.remove());
  copy.querySelectorAll("br, small").forEach((part) => part.before(" "));
  return copy.textContent.replace(/\s+/g, " ").replaceAll("‑", "-").trim();
}

/** Rows of a table as it is shown, cells that span columns repeated. */
function rowsOf(table) {
  const shown = (parts) => [...parts].filter((part) => !part.hidden && !part.matches(".unlisted"));
  const spread = (cell) => Array(cell.colSpan).fill(words(cell));
  return shown(table.rows).map((row) => shown(row.cells).flatMap(spread));
}

function asLatex(table) {
  const heads = table.tHead.rows.length;
  const [first] = table.tBodies[0].rows;
  const columns = [...first.cells].filter((cell) => !cell.hidden).map((cell) => (cell.classList.contains("number") ? "r" : "l")).join("");
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
  const plain = (row) => key(row).replace(/(\d),(?=\d{3})/g, "$1");
  if (!numeric) return (a, b) => sign * plain(a).localeCompare(plain(b), "en", { numeric: true });
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

/** Words above each column, those of a head that spans several included. */
function headsOf(table) {
  const rows = [...table.tHead.rows].map((row) => [...row.cells].flatMap((cell) => Array(cell.colSpan).fill(words(cell))));
  return rows[0].map((_, column) => rows.map((row) => row[column]).filter(Boolean).join(": "));
}

/** Hide columns, given by their numbers; a head that spans some of them shrinks. */
function hideColumns(table, hidden) {
  for (const row of table.rows) {
    let first = 0;
    for (const cell of row.cells) {
      const span = Number((cell.dataset.span ??= cell.colSpan));
      const left = Array.from({ length: span }, (_, k) => first + k).filter((column) => !hidden.has(column)).length;
      cell.hidden = !left;
      cell.colSpan = left || span;
      first += span;
    }
  }
}

/** Controls for rows and columns of a table. */
function shaping(table, name, note) {
  const rows = [...table.tBodies[0].rows];
  const heads = headsOf(table);
  const hidden = new Set();
  const search = make("input", { type: "search", oninput: apply, autocomplete: "off", "aria-describedby": name });
  const boxes = heads.slice(1).map((head, k) => make("input", { type: "checkbox", checked: true, onchange: (event) => {
    hidden[event.target.checked ? "delete" : "add"](k + 1);
    apply();
  } }));
  const reset = () => {
    search.value = "";
    hidden.clear();
    boxes.forEach((box) => { box.checked = true; });
    apply();
  };

  function apply() {
    const sought = search.value.toLowerCase().split(/\s+/);
    // Claims have a filter of their own.
    if (!table.matches(".claims")) {
      for (const row of rows) {
        const text = [...row.cells].map(words).join(" ").toLowerCase();
        row.hidden = !sought.every((word) => text.includes(word));
      }
    }
    hideColumns(table, hidden);
    const seen = rows.filter((row) => !row.hidden).length;
    note.textContent = [
      search.value.trim() && `${seen} of ${rows.length} rows`,
      hidden.size && `${heads.length - hidden.size} of ${heads.length} columns`,
    ].filter(Boolean).join(", ");
    if (note.textContent) note.prepend("Shown: ");
  }

  return make("div", { class: "shaping", role: "group", "aria-describedby": name },
    ...(rows.length > 1 && !table.matches(".claims") ? [make("label", {}, make("span", {}, "Rows with"), search)] : []),
    make("fieldset", { class: "columns" }, make("legend", {}, "Columns"),
      ...boxes.map((box, k) => make("label", { class: "check" }, box, make("span", {}, heads[k + 1])))),
    make("button", { type: "button", onclick: reset }, "As printed"));
}

function sortable(table) {
  const original = [...table.tBodies[0].rows];
  if (original.length < 2) return;
  for (const head of table.tHead.rows[table.tHead.rows.length - 1].cells) {
    const label = make("button", { type: "button", class: "sort", onclick: () => sort(table, head, original) });
    label.append(...head.childNodes);
    head.append(label);
    head.setAttribute("aria-sort", "none");
  }
}

function enliven(table) {
  sortable(table);
  const name = table.getAttribute("aria-labelledby") || "table";
  const button = (kind, save) => make("button", { type: "button", onclick: save, "aria-describedby": name }, kind);
  const note = make("p", { class: "count small", role: "status" });
  const shape = make("details", { class: "shape" }, make("summary", { "aria-describedby": name }, "Rows, columns"));
  // A page has many tables; few are shaped.
  shape.addEventListener("toggle", () => shape.append(shaping(table, name, note)), { once: true });
  table.closest(".scroll").after(
    make("div", { class: "tools" },
      button("CSV", () => download(`${name}.csv`, CSV, asCsv(rowsOf(table)))),
      button("LaTeX", () => download(`${name}.tex`, "text/x-tex;charset=utf-8", asLatex(table))),
      shape),
    note);
}
