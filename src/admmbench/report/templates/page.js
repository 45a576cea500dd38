// What all scripts of the page use: elements, and files to save. explore.py joins the scripts into one.

/** An HTML element with attributes and children; attributes that begin with "on" are listeners. */
function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value !== false) element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children);
  return element;
}

function makeSvg(tag, attributes = {}, ...children) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

function download(name, type, ...parts) {
  const address = URL.createObjectURL(new Blob(parts, { type }));
  make("a", { href: address, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(address), 1000);
}

const CSV = "text/csv;charset=utf-8";
const quoted = (cell) => (/[",\n]/.test(cell) ? `"${String(cell).replaceAll('"', '""')}"` : String(cell));
const asCsv = (rows) => rows.map((row) => row.map(quoted).join(",") + "\r\n").join("");

/** What the address asks of a part of the page, as in #claims?verdict=contradicted; null if it is of another part. */
function asked(part) {
  const [name, query = ""] = location.hash.slice(1).split("?");
  return name === part ? new URLSearchParams(query) : null;
}

/** Put a link to itself behind the words of every heading, caption, figure and claim that has a name. */
function linkParts() {
  for (const part of document.querySelectorAll(":is(h2, h3, p.caption, summary, figure, tr)[id]")) {
    if (part.closest("#explore-view, .pictures")) continue;
    const link = make("a", { class: "permalink", href: `#${part.id}`, "aria-label": "Link to this part" }, "#");
    const small = part.querySelector("th > small"); // below the statement of a claim
    if (small) small.before(link);
    else (part.querySelector("figcaption") ?? part).append(link);
  }
}
