// Leaderboards: the picture of the chosen setting, and a filter of methods for the whole page.

/** Show one picture beside a board; on a narrow page, also the columns of its data alone. */
function startBoard(board) {
  const figures = [...board.querySelectorAll(".pictures figure")];
  const heads = [...board.querySelectorAll("th[data-picture]")];
  if (!heads.length) return;
  const table = board.querySelector("table");
  const groups = [...table.tHead.rows[0].querySelectorAll("th")].flatMap((head) => Array(head.colSpan).fill(head));
  const select = make("select", { "aria-label": "Setting of the picture", onchange: () => choose(select.value) },
    ...figures.map((figure) => make("option", { value: figure.id }, figure.dataset.title)));

  function choose(id) {
    const place = heads.findIndex((head) => head.dataset.picture === id);
    for (const figure of figures) figure.hidden = figure.id !== id && figures.some((each) => each.id === id);
    for (const head of heads) head.classList.toggle("chosen", head.dataset.picture === id);
    if (figures.some((figure) => figure.id === id)) select.value = id;
    const first = table.rows[1].cells.length - heads.length;
    for (const row of [...table.rows].slice(1)) {
      const cells = heads.map((_, k) => row.cells[first + k]);
      cells.forEach((cell, k) => cell.classList.toggle("far", groups[k] !== groups[place]));
      row.classList.toggle("far", cells.every((cell) => cell.matches(".far") || !cell.textContent));
    }
    for (const head of new Set(groups)) head.classList.toggle("far", head !== groups[place]);
  }

  if (figures.length > 1) figures[0].before(select);
  for (const head of heads) head.addEventListener("click", () => choose(head.dataset.picture));
  choose((figures[0]?.id) ?? heads[0].dataset.picture);
}

const unlisted = new Set();
const listed = (text) => text.replaceAll("†", "").split(" = ").map((name) => name.trim()).some((name) => !unlisted.has(name));

/** Put a filter of methods above the first board: it hides their rows in tables and pictures, and their curves in Explore. */
function startMethods() {
  const heads = ["method", "label", "algorithm"];
  const tables = [...document.querySelectorAll("main table")].filter((table) => heads.includes(words(table.tHead.rows[table.tHead.rows.length - 1].cells[0]).toLowerCase()));
  const rows = tables.flatMap((table) => [...table.tBodies[0].rows].map((row) => [row, words(row.cells[0])]));
  const marks = [...document.querySelectorAll("[data-method]")].map((mark) => [mark, mark.dataset.method]);
  const names = [...new Set(rows.flatMap(([, text]) => text.replaceAll("†", "").split(" = ").map((name) => name.trim())))];
  const place = document.querySelector(".verdicts");
  if (!place || names.length < 2) return;
  const boxes = names.map((name) => make("input", { type: "checkbox", checked: true, value: name, onchange: apply }));
  const all = (checked) => () => { boxes.forEach((box) => { box.checked = checked; }); apply(); };
  const summary = make("summary", {}, "Methods");

  function apply() {
    unlisted.clear();
    boxes.filter((box) => !box.checked).forEach((box) => unlisted.add(box.value));
    for (const [part, text] of [...rows, ...marks]) part.classList.toggle("unlisted", !listed(text));
    summary.textContent = unlisted.size ? `Methods: ${names.length - unlisted.size} of ${names.length} on this page` : "Methods";
    if (section && current) show();
  }

  place.before(make("details", { class: "shape methods" }, summary,
    make("div", { class: "shaping", role: "group", "aria-label": "Methods on this page" },
      make("fieldset", { class: "columns" }, make("legend", {}, "Shown on the whole page"),
        ...boxes.map((box) => make("label", { class: "check" }, box, make("span", {}, box.value)))),
      make("button", { type: "button", onclick: all(true) }, "All"),
      make("button", { type: "button", onclick: all(false) }, "None"))));
}

/** On a narrow page a row of a table is a card: each cell says what its column is. */
function labelCells(table) {
  if (table.matches(".cards, .matrix") || table.tHead.rows.length > 1) return;
  const heads = [...table.tHead.rows[0].cells].map(words);
  for (const row of table.tBodies[0].rows) [...row.cells].forEach((cell, k) => { if (k) cell.dataset.label = heads[k]; });
  table.classList.add("stacked");
}
