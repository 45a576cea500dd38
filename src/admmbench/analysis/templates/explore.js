// The interactive parts of the report: tables that sort, and the view "Explore".
// Data and texts are in the page; nothing is loaded. explore.py packs the data that `unpack` reads.
(() => {
  "use strict";

  // ---------------------------------------------------------------- small helpers

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

  function download(name, type, text) {
    const address = URL.createObjectURL(new Blob([text], { type: `${type};charset=utf-8` }));
    make("a", { href: address, download: name }).click();
    setTimeout(() => URL.revokeObjectURL(address), 1000);
  }

  const quoted = (cell) => (/[",\n]/.test(cell) ? `"${String(cell).replaceAll('"', '""')}"` : String(cell));
  const asCsv = (rows) => rows.map((row) => row.map(quoted).join(",") + "\r\n").join("");

  // ---------------------------------------------------------------- tables

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

  // ---------------------------------------------------------------- data

  const section = document.getElementById("explore-view");
  const facts = section && JSON.parse(document.getElementById("explore-facts").textContent);

  /** An array of the packed experiment: differences of neighbours, folded, bytes of equal weight together. */
  function readArray(bytes, { at, shape, bytes: width, drop }) {
    const length = shape.reduce((a, b) => a * b, 1);
    const run = shape[shape.length - 1];
    const mask = width === 2 ? 0xffff : -1;
    const values = new Uint32Array(length);
    for (let k = 0; k < length; k++) {
      let folded = 0;
      for (let b = 0; b < width; b++) folded |= bytes[at + b * length + k] << (8 * b);
      const step = (folded >>> 1) ^ -(folded & 1);
      values[k] = ((k % run ? values[k - 1] : 0) + step) & mask;
    }
    if (drop === undefined) return values;
    for (let k = 0; k < length; k++) values[k] <<= drop;
    return new Float32Array(values.buffer);
  }

  /** Header and arrays of an experiment. */
  async function unpack(text) {
    const packed = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
    const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
    const body = new Uint8Array(await new Response(stream).arrayBuffer());
    const length = new DataView(body.buffer).getUint32(0, true);
    const data = JSON.parse(new TextDecoder().decode(body.subarray(4, 4 + length)));
    const arrays = body.subarray(4 + length);
    for (const each of [...data.metrics, ...data.axes]) {
      for (const [name, note] of Object.entries(each)) {
        if (note.shape) each[name] = readArray(arrays, note);
      }
    }
    return data;
  }

  const unpacked = new Map();
  /** Experiments are unpacked once, when they are first asked for. */
  function load(name) {
    if (!unpacked.has(name)) {
      const holder = document.querySelector(`script[data-experiment="${CSS.escape(name)}"]`);
      unpacked.set(name, unpack(holder.textContent));
    }
    return unpacked.get(name);
  }

  // ---------------------------------------------------------------- statistics, as statistics.py computes them

  const NO_COUNT = 65535;

  /** Percentile of sorted values by linear interpolation, as numpy's default. */
  function percentile(sorted, percent) {
    const place = ((sorted.length - 1) * percent) / 100;
    const below = Math.floor(place);
    const above = Math.min(below + 1, sorted.length - 1);
    return sorted[below] + (sorted[above] - sorted[below]) * (place - below);
  }

  /** Mean, band, and half of the t interval of the mean, of the seeds that have a value. */
  function summary(values) {
    const sorted = values.filter((value) => !isNaN(value)).sort((a, b) => a - b);
    const n = sorted.length;
    if (!n) return { n, mean: NaN };
    const mean = sorted.reduce((a, b) => a + b, 0) / n;
    const [lower, upper] = facts.percentiles.map((percent) => percentile(sorted, percent));
    const squares = sorted.reduce((sum, value) => sum + (value - mean) ** 2, 0);
    const half = n > 1 ? facts.t[n - 2] * Math.sqrt(squares / (n - 1) / n) : NaN;
    return { n, mean, lower, upper, half };
  }

  /** Values of all seeds at a round, in the unit that is shown; undefined if they were not kept. */
  function seedsAt(data, metric, curve, round) {
    const kept = metric.counts ?? metric.seeds;
    if (!kept) return undefined;
    const unit = (metric.percent ? 100 : 1) / (metric.counts ? data.tests : 1);
    return data.seeds.map((_, seed) => {
      const value = kept[(curve * data.seeds.length + seed) * data.rounds.length + round];
      return metric.counts && value === NO_COUNT ? NaN : value * unit;
    });
  }

  /** Statistics of a column of a metric, which is a round unless only some rounds were kept. */
  function statisticsAt(data, metric, curve, column) {
    const seeds = seedsAt(data, metric, curve, column);
    if (seeds) return { ...summary(seeds), seeds };
    const at = curve * (metric.columns ?? data.rounds.length) + column;
    const unit = metric.percent ? 100 : 1;
    if (metric.values) return { mean: metric.values[at] * unit };
    const [mean, lower, upper] = ["mean", "lower", "upper"].map((name) => metric[name][at] * unit);
    return { mean, lower, upper, n: metric.n[at] };
  }

  /** Places of the rounds that a metric has of a curve. */
  function roundsOf(data, metric, curve) {
    if (!metric.kept) return data.rounds.map((_, k) => k);
    return [...metric.kept.subarray(curve * metric.columns, (curve + 1) * metric.columns)];
  }

  /** Points of a curve; where several are at one place, the last stands for them. */
  function pointsOf(data, metric, axis, curve, { logx, logy }) {
    const drawn = ({ x, mean }) => isFinite(x) && isFinite(mean) && (!logx || x > 0) && (!logy || mean > 0);
    return roundsOf(data, metric, curve)
      .map((k, column) => {
        const x = axis.values ? axis.values[curve * data.rounds.length + k] : data.rounds[k];
        return { round: data.rounds[k], x, ...statisticsAt(data, metric, curve, column) };
      })
      .filter(drawn)
      .filter((point, k, all) => k === all.length - 1 || all[k + 1].x > point.x);
  }

  /** Curves at the chosen budget; a method that ran without noise alone is a reference at every budget. */
  function curvesOf(data, view) {
    const budget = data.budgets.indexOf(view.epsilon);
    const found = [];
    data.methods.forEach((method, number) => {
      const own = data.curves.map(([a, e], curve) => ({ a, e, curve })).filter(({ a }) => a === number);
      const exact = own.find(({ e }) => e === budget);
      const reference = view.metric.references && own.every(({ e }) => !data.finite[e]) && own[0];
      const chosen = exact || reference;
      if (!chosen) return;
      found.push({
        ...method,
        lost: data.lost[chosen.curve],
        reference: !exact,
        points: pointsOf(data, view.metric, view.axis, chosen.curve, view),
      });
    });
    return found;
  }

  // ---------------------------------------------------------------- numbers as text

  const digits = (value, count) => String(Number(value.toPrecision(count)));

  /** A value as the tables print it: fractions in percent with two decimals, others with four digits or three. */
  function shown(value, metric) {
    const text = metric.percent ? value.toFixed(2) : digits(value, metric.seeds || metric.values ? 4 : 3);
    return text.replace(/^-/, "−");
  }

  function tick(value) {
    const size = Math.abs(value);
    if (size >= 1e9) return `${digits(value / 1e9, 3)}B`;
    if (size >= 1e6) return `${digits(value / 1e6, 3)}M`;
    if (size >= 1e4) return `${digits(value / 1e3, 3)}k`;
    if (size && size < 1e-3) return value.toExponential().replace("e-0", "e-");
    return digits(value, 4);
  }

  /** Ticks of a logarithmic axis: powers of ten, and more between them where they are few. */
  function logTicks([low, high]) {
    const decades = Math.log10(high / low);
    const factors = decades > 3 ? [1] : decades > 2 ? [1, 3] : decades > 0.7 ? [1, 2, 5] : [1, 1.5, 2, 3, 4, 5, 6, 7, 8, 9];
    const every = Math.ceil(decades / 8);
    const found = [];
    for (let power = Math.floor(Math.log10(low)); power <= Math.log10(high); power++) {
      if (power % every === 0) found.push(...factors.map((factor) => factor * 10 ** power));
    }
    return found.map((value) => Number(value.toPrecision(3))).filter((value) => value >= low && value <= high);
  }

  function sentence(curve, point, view) {
    const { metric, axis } = view;
    const parts = [`${metric.label} ${shown(point.mean, metric)}`];
    if (point.n > 1 && !isNaN(point.lower)) {
      const [a, b] = facts.percentiles;
      parts.push(`${a}–${b} percentile ${shown(point.lower, metric)} to ${shown(point.upper, metric)}`);
      // Where single seeds were kept there is a t interval as well.
      const ends = point.seeds && [point.mean - point.half, point.mean + point.half].map((end) => shown(end, metric));
      if (ends) parts.push(`${Math.round(100 * facts.level)} % interval of the mean ${ends.join(" to ")}`);
    }
    if (point.n !== undefined) parts.push(`n = ${point.n}`);
    const place = axis.name === "round" ? "" : `${axis.label} ${digits(point.x, 4)}, `;
    return [`${curve.label}${curve.reference ? " (ε = ∞)" : ""}`, `${place}round ${point.round.toLocaleString("en")}`, ...parts];
  }

  // ---------------------------------------------------------------- state, in the fragment of the address

  const CHOICES = ["experiment", "metric", "epsilon", "x", "logx", "logy", "spread", "hide", "zoom"];
  const state = { hide: [] };

  const flag = (text) => (text === undefined ? undefined : text === "1");

  function fromFragment() {
    const [name, query = ""] = location.hash.slice(1).split("?");
    if (name !== "explore" || !query) return null;
    const given = Object.fromEntries([...new URLSearchParams(query)].filter(([key]) => CHOICES.includes(key)));
    const zoom = (given.zoom || "").split(",").map(Number);
    return {
      ...given,
      logx: flag(given.logx),
      logy: flag(given.logy),
      hide: new URLSearchParams(query).getAll("hide"),
      zoom: zoom.length === 4 && zoom.every(isFinite) ? zoom : undefined,
    };
  }

  function fragment() {
    const query = new URLSearchParams();
    for (const key of ["experiment", "metric", "epsilon", "x", "spread"]) query.set(key, state[key]);
    for (const key of ["logx", "logy"]) query.set(key, state[key] ? "1" : "0");
    for (const label of state.hide) query.append("hide", label);
    if (state.zoom) query.set("zoom", state.zoom.map((value) => digits(value, 5)).join(","));
    return `#explore?${query}`;
  }

  /** What is chosen, as far as the experiment has it; else what the report would choose. */
  function settle(data) {
    const keep = (key, options, standard) => {
      if (!options.includes(state[key])) state[key] = standard;
    };
    const names = data.metrics.map(({ name }) => name);
    keep("metric", names, names[0]);
    keep("x", data.axes.map(({ name }) => name), "round");
    const ran = data.budgets.filter((_, number) => data.curves.some(([, e]) => e === number));
    keep("epsilon", ran, ran[0]);
    keep("spread", ["band", "seeds"], "band");
    state.hide = state.hide.filter((label) => data.methods.some((method) => method.label === label));
    const metric = data.metrics.find(({ name }) => name === state.metric);
    state.logy ??= metric.log;
    state.logx ??= false;
    return {
      ...state,
      metric,
      axis: data.axes.find(({ name }) => name === state.x),
      budgets: ran,
      // There is no band of a few seeds; where seeds were not kept there is nothing else.
      fixed: data.seeds.length <= facts.few ? "seeds" : metric.counts || metric.seeds ? "" : "band",
    };
  }

  /** Choose something, write it into the address, and draw. */
  async function choose(change) {
    Object.assign(state, change);
    await show();
    history.replaceState(null, "", fragment());
  }

  // ---------------------------------------------------------------- controls

  const parts = {};

  function select(key, label) {
    parts[key] = make("select", { id: `explore-${key}`, onchange: (event) => pick(key, event.target.value) });
    return make("label", {}, make("span", {}, label), parts[key]);
  }

  /** Another metric or axis has another scale, so that a zoom and a logarithm are its own. */
  function pick(key, value) {
    const scale = { experiment: ["logx", "logy"], metric: ["logy"], x: ["logx"] }[key] ?? [];
    const fresh = Object.fromEntries(scale.map((name) => [name, undefined]));
    choose({ ...fresh, zoom: undefined, [key]: value });
  }

  function check(key, label) {
    parts[key] = make("input", { type: "checkbox", id: `explore-${key}`, onchange: (event) => choose({ [key]: event.target.checked, zoom: undefined }) });
    return make("label", { class: "check" }, parts[key], make("span", {}, label));
  }

  function fill(key, options, disabled = false) {
    parts[key].replaceChildren(...options.map(([value, text]) => make("option", { value }, text)));
    parts[key].value = state[key];
    parts[key].disabled = disabled || options.length < 2;
  }

  function fillControls(data, view) {
    fill("experiment", facts.experiments.map(({ name, title }) => [name, `${title} (${name})`]));
    fill("metric", data.metrics.map(({ name, label }) => [name, label]));
    fill("epsilon", view.budgets.map((budget) => [budget, budget]));
    fill("x", data.axes.map(({ name, label }) => [name, label]));
    fill("spread", [["band", facts.percentiles.join("–") + " percentile"], ["seeds", "single seeds"]], Boolean(view.fixed));
    if (view.fixed) parts.spread.value = view.fixed;
    parts.budget.textContent = data.budget;
    parts.epsilon.parentElement.hidden = !data.finite.some(Boolean);
    parts.logx.checked = view.logx;
    parts.logy.checked = view.logy;
    parts.link.href = fragment();
    parts.reset.hidden = !view.zoom;
  }

  function build() {
    const button = (label, act) => make("button", { type: "button", onclick: act }, label);
    const budget = select("epsilon", "");
    parts.budget = budget.firstChild;
    parts.link = make("a", { href: "#explore" }, "Link to this view");
    parts.reset = button("Reset zoom", () => choose({ zoom: undefined }));
    parts.legend = make("ul", { class: "legend", "aria-label": "Methods; press to hide or show" });
    parts.chart = make("div", { class: "chart", tabindex: "0", role: "application", "aria-describedby": "explore-help",
      onkeydown: key, onpointermove: hover, onpointerleave: () => mark(null), onpointerdown: startBox, onblur: () => mark(null) });
    parts.tip = make("div", { class: "tip", hidden: true });
    parts.live = make("p", { class: "unseen", "aria-live": "polite", id: "explore-live" });
    parts.note = make("figcaption", { id: "explore-note" });
    parts.frame = make("div", { class: "frame" }, parts.chart, parts.tip);
    section.replaceChildren(
      make("div", { class: "controls" }, select("experiment", "Experiment"), select("metric", "Vertical axis"), budget,
        select("x", "Horizontal axis"), select("spread", "Spread over seeds"),
        make("span", { class: "checks" }, check("logx", "log x"), check("logy", "log y"))),
      make("figure", { id: "explore-figure", class: "card" }, parts.legend, parts.frame, parts.note),
      parts.live,
      make("p", { class: "tools" }, button("CSV", saveCsv), button("SVG", saveSvg), button("PDF", printFigure), parts.link, parts.reset),
      make("p", { class: "small", id: "explore-help" },
        "Arrow keys on the chart: left and right move along a curve, up and down change the curve; + and − zoom, 0 resets. " +
        "Drag over the chart to zoom. A method's button hides or shows it; a double click shows it alone."));
  }

  // ---------------------------------------------------------------- chart

  const MARKERS_PER_LINE = 7;
  // Symbols that Plot lacks: triangles to the left and right, and a filled x (its own is strokes alone).
  const arrow = (way) => ({
    draw(context, size) {
      const r = Math.sqrt(size / 1.3);
      context.moveTo(way * r, 0);
      context.lineTo(-0.6 * way * r, 0.9 * r);
      context.lineTo(-0.6 * way * r, -0.9 * r);
      context.closePath();
    },
  });
  const times = {
    draw(context, size) {
      const [a, b] = [Math.sqrt(size) / 1.6, Math.sqrt(size) / 3.6];
      const corners = [[0, b], [a - b, a], [a, a - b], [b, 0], [a, b - a], [a - b, -a], [0, -b], [b - a, -a], [-a, b - a], [-b, 0], [-a, a - b], [b - a, a]];
      corners.forEach(([x, y], k) => (k ? context.lineTo(x, y) : context.moveTo(x, y)));
      context.closePath();
    },
  };
  const SYMBOLS = { left: arrow(-1), right: arrow(1), times };
  const symbolOf = (marker) => SYMBOLS[marker] ?? marker;

  let current = null; // what is drawn: data, view, curves, chart
  let cursor = null; // the point that is told: curve, k

  const asSeeds = (curve, view) => {
    const most = Math.max(0, ...curve.points.map(({ n }) => n ?? 0));
    return Boolean(curve.points[0]?.seeds) && most > 1 && (view.fixed === "seeds" || (view.spread === "seeds" && !view.fixed) || most <= facts.few);
  };

  function seedLines(curve, data, view) {
    const own = curve.points.flatMap(({ x, seeds }) => seeds.map((y, seed) => ({ x, y, seed })));
    const drawn = own.filter(({ y }) => isFinite(y) && (!view.logy || y > 0));
    const z = { x: "x", y: "y", z: "seed", stroke: curve.color, clip: true };
    return [
      Plot.line(drawn, { ...z, strokeWidth: 1, strokeOpacity: 0.55 }),
      // A few seeds are points as well: one of a single round would be no line.
      ...(data.seeds.length <= facts.few ? [Plot.dot(drawn, { ...z, r: 1.6, fill: curve.color, stroke: null })] : []),
    ];
  }

  function band(curve, view) {
    const edges = curve.points.filter(({ lower, n }) => !isNaN(lower) && n > 1);
    const y1 = ({ lower, mean }) => (view.logy && lower <= 0 ? mean : lower);
    return [Plot.areaY(edges, { x: "x", y1, y2: "upper", fill: curve.color, fillOpacity: 0.2, clip: true })];
  }

  function meanLine(curve, turn, clip = true) {
    const width = 1.8;
    // Markers at equal distances, shifted so that those of two methods do not coincide.
    const every = Math.max(1, curve.points.length / MARKERS_PER_LINE);
    const marked = curve.points.filter((_, k) => Math.floor((k + turn) / every) !== Math.floor((k + turn - 1) / every));
    return [
      Plot.line(curve.points, { x: "x", y: "mean", stroke: curve.color, strokeWidth: width, strokeDasharray: curve.dashes.map((dash) => dash * width).join(" ") || null, clip }),
      ...(curve.marker ? [Plot.dot(marked, { x: "x", y: "mean", fill: curve.color, stroke: "white", strokeWidth: 0.6, symbol: symbolOf(curve.marker), r: 4, clip })] : []),
    ];
  }

  function extent(values) {
    const finite = values.filter(isFinite);
    return finite.length ? [Math.min(...finite), Math.max(...finite)] : [0, 1];
  }

  /** Ends of an axis, with some room; a logarithmic one has room in its own scale. */
  function domain(values, log, room) {
    let [low, high] = extent(log ? values.filter((value) => value > 0) : values);
    if (low === high) [low, high] = log ? [low / 2, high * 2] : [low - (Math.abs(low) || 1) / 2, high + (Math.abs(high) || 1) / 2];
    if (log) return [low / (high / low) ** room, high * (high / low) ** room];
    return [low - room * (high - low), high + room * (high - low)];
  }

  function domains(curves, data, view) {
    if (view.zoom) return { x: view.zoom.slice(0, 2), y: view.zoom.slice(2) };
    const points = curves.flatMap((curve) => curve.points);
    const heights = curves.flatMap((curve) => curve.points.flatMap((point) =>
      asSeeds(curve, view) ? [...point.seeds, point.mean] : [point.lower ?? NaN, point.mean, point.upper ?? NaN]));
    return { x: domain(points.map(({ x }) => x), view.logx, 0.01), y: domain(heights, view.logy, 0.04) };
  }

  function axisOptions(label, log, ends, count) {
    return { type: log ? "log" : "linear", domain: ends, label, labelArrow: "none", grid: true, tickFormat: tick, ticks: log ? logTicks(ends) : count };
  }

  function plot(curves, data, view, width) {
    const height = Math.round(Math.max(300, Math.min(460, width * 0.55)));
    const ends = domains(curves, data, view);
    return Plot.plot({
      width, height, marginLeft: 56, marginTop: 28, marginBottom: 42, marginRight: 16,
      style: { background: "#fff", color: "#1d2125", fontFamily: "system-ui, sans-serif", fontSize: "12px", overflow: "visible" },
      ariaLabel: `${view.metric.label} against ${view.axis.label}, ${curves.map(({ label }) => label).join(", ")}`,
      x: axisOptions(view.axis.label, view.logx, ends.x, Math.round(width / 110)),
      y: axisOptions(view.metric.label, view.logy, ends.y, 6),
      marks: [
        ...curves.flatMap((curve) => (asSeeds(curve, view) ? seedLines(curve, data, view) : band(curve, view))),
        ...curves.flatMap((curve, turn) => meanLine(curve, turn)),
      ],
    });
  }

  /** Sample of a method's line and marker. */
  function swatch(method) {
    const points = [{ x: 0, mean: 0 }, { x: 1, mean: 0 }, { x: 2, mean: 0 }];
    const line = { ...method, marker: "", points };
    const middle = { ...method, points: [points[1]] };
    const sample = Plot.plot({ width: 44, height: 14, margin: 6, axis: null, x: { domain: [0, 2] }, y: { domain: [-1, 1] },
      marks: [...meanLine(line, 0, false), ...meanLine(middle, 0, false).slice(1)] });
    sample.setAttribute("aria-hidden", "true");
    return sample;
  }

  function fillLegend(curves) {
    const focused = parts.legend.contains(document.activeElement) && document.activeElement.dataset.label;
    parts.legend.replaceChildren(...curves.map((curve) => {
      const label = curve.label + (curve.lost ? " †" : "");
      const pressed = !state.hide.includes(curve.label);
      return make("li", {}, make("button", { type: "button", "aria-pressed": String(pressed), "data-label": curve.label,
        onclick: () => toggle(curve.label), ondblclick: () => isolate(curve.label) }, swatch(curve), label));
    }));
    if (focused) parts.legend.querySelector(`[data-label="${CSS.escape(focused)}"]`)?.focus();
  }

  function toggle(label) {
    const hidden = state.hide.includes(label);
    choose({ hide: hidden ? state.hide.filter((each) => each !== label) : [...state.hide, label] });
  }

  function isolate(label) {
    choose({ hide: current.all.map((curve) => curve.label).filter((each) => each !== label) });
  }

  /** A label within a sentence; a symbol such as F keeps its capital. */
  const inSentence = (label) => (/^[A-Z][a-z]/.test(label) ? label[0].toLowerCase() + label.slice(1) : label);

  function caption({ data, view, all, curves }) {
    const title = facts.experiments.find(({ name }) => name === data.name).title;
    const seeds = curves.some((curve) => asSeeds(curve, view));
    const single = data.seeds.length === 1;
    const spread = single ? "one seed" : seeds ? `mean and each of ${data.seeds.length} seeds` :
      view.metric.values ? "" : `mean and ${facts.percentiles.join("–")} percentile over ${data.seeds.length} seeds`;
    const lost = all.filter((curve) => curve.lost).map((curve) => `${curve.label}: ${curve.lost} runs`);
    const absent = curves.filter((curve) => !curve.points.length).map((curve) => curve.label);
    return [
      `${title}: ${inSentence(view.metric.label)}, ${data.dataset}${data.finite.some(Boolean) ? `, ${data.budget} ${view.epsilon}` : ""}${spread && "; " + spread}.`,
      data.note && `Data: ${data.note}.`,
      all.some((curve) => curve.reference) && `At ε = ∞: ${all.filter((curve) => curve.reference).map(({ label }) => label).join(", ")}.`,
      absent.length && `No values on these axes: ${absent.join(", ")}.`,
      lost.length && `† ${lost.join("; ")}; drawn until they stop.`,
    ].filter(Boolean).join(" ");
  }

  function drawChart() {
    const { data, view, curves } = current;
    const chart = plot(curves, data, view, Math.max(280, parts.frame.clientWidth));
    current.chart = chart;
    current.ends = domains(curves, data, view);
    const at = (name) => (value) => chart.scale(name).apply(value);
    for (const curve of curves) {
      curve.at = curve.points.map(({ x, mean }) => [at("x")(x), at("y")(mean)]);
    }
    parts.chart.replaceChildren(chart);
    parts.chart.setAttribute("aria-label", "Chart. " + caption(current));
    mark(null);
  }

  let turn = 0;
  async function show() {
    const own = ++turn; // what is chosen while an experiment is unpacked comes after it
    const names = facts.experiments.map(({ name }) => name);
    if (!names.includes(state.experiment)) state.experiment = names[0];
    const data = await load(state.experiment);
    if (own !== turn) return;
    const view = settle(data);
    const all = curvesOf(data, view);
    const curves = all.filter((curve) => !state.hide.includes(curve.label));
    current = { data, view, all, curves };
    fillControls(data, view);
    fillLegend(all);
    parts.note.textContent = caption(current);
    drawChart();
    section.dataset.shown = fragment(); // for whoever waits for it
  }

  // ---------------------------------------------------------------- pointer and keys

  /** Tell the values of a point: a ring around it and a box beside it; no point removes them. */
  function mark(found) {
    cursor = found;
    current?.chart.querySelector(".cursor")?.remove();
    parts.tip.hidden = !found;
    if (!found) return;
    const { curve, k } = found;
    const [x, y] = curve.at[k];
    const ring = makeSvg("g", { class: "cursor", fill: "none", stroke: "#1d2125" },
      makeSvg("line", { x1: x, x2: x, y1: 28, y2: current.chart.getAttribute("height") - 42, "stroke-opacity": 0.35 }),
      makeSvg("circle", { cx: x, cy: y, r: 6, "stroke-width": 2 }));
    current.chart.append(ring);
    const [name, ...lines] = sentence(curve, curve.points[k], current.view);
    parts.tip.replaceChildren(make("strong", {}, name), ...lines.map((line) => make("span", {}, line)));
    // On a narrow screen the box is as wide as the chart: it goes to the other half.
    const narrow = parts.frame.clientWidth < 500;
    const low = parts.frame.clientHeight - parts.tip.offsetHeight;
    const top = narrow ? (y > parts.frame.clientHeight / 2 ? 0 : low) : y - 20;
    const left = x > parts.frame.clientWidth / 2 ? x - parts.tip.offsetWidth - 14 : x + 14;
    const most = parts.frame.clientWidth - parts.tip.offsetWidth;
    parts.tip.style.left = `${Math.max(0, Math.min(left, most))}px`;
    parts.tip.style.top = `${Math.max(0, Math.min(top, low))}px`;
  }

  function place(event) {
    const box = current.chart.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  }

  function inside([x, y]) {
    const { x: xs, y: ys } = current.ends;
    const [px, py] = [xs.map(current.chart.scale("x").apply), ys.map(current.chart.scale("y").apply)];
    return x >= px[0] - 1 && x <= px[1] + 1 && y >= py[1] - 1 && y <= py[0] + 1;
  }

  function nearest([x, y]) {
    let best = null;
    for (const curve of current.curves) {
      curve.at.forEach((point, k) => {
        const distance = Math.hypot(point[0] - x, point[1] - y);
        if (inside(point) && (!best || distance < best.distance)) best = { curve, k, distance };
      });
    }
    return best && best.distance < 60 ? best : null;
  }

  function hover(event) {
    if (!current || box) return;
    mark(nearest(place(event)));
  }

  function key(event) {
    const curves = current.curves.filter((curve) => curve.points.length);
    if (event.ctrlKey || event.metaKey || event.altKey || !curves.length) return;
    const steps = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1], Home: [-Infinity, 0], End: [Infinity, 0] };
    const zooms = { "+": 0.5, "=": 0.5, "-": 2, 0: 0 };
    if (event.key in steps) tell(move(curves, ...steps[event.key]));
    else if (event.key in zooms) zoomAt(zooms[event.key]);
    else if (event.key === "Escape") mark(null);
    else return;
    event.preventDefault();
  }

  /** The point that a step leads to; the first step leads to the first point. */
  function move(curves, along, across) {
    if (!cursor) return { curve: curves[0], k: 0 };
    const count = curves.length;
    const curve = curves[(curves.indexOf(cursor.curve) + across + count) % count];
    const x = cursor.curve.points[cursor.k].x;
    // Curves may have other points: the one nearest to where we are.
    const distance = (k) => Math.abs(curve.points[k].x - x);
    const start = across ? curve.points.reduce((best, _, k) => (distance(k) < distance(best) ? k : best), 0) : cursor.k;
    return { curve, k: Math.max(0, Math.min(start + along, curve.points.length - 1)) };
  }

  function tell(found) {
    mark(found);
    parts.live.textContent = sentence(found.curve, found.curve.points[found.k], current.view).join(", ");
  }

  function zoomAt(factor) {
    if (!factor) return choose({ zoom: undefined });
    const pixels = cursor ? cursor.curve.at[cursor.k] : null;
    const ends = [["x", 0], ["y", 1]].flatMap(([name, side]) => {
      const scale = current.chart.scale(name);
      const [a, b] = current.ends[name].map(scale.apply);
      const middle = pixels ? pixels[side] : (a + b) / 2;
      return [a, b].map((end) => scale.invert(middle + (end - middle) * factor));
    });
    choose({ zoom: ends });
  }

  let box = null; // the rectangle that is dragged: start and element
  function startBox(event) {
    if (event.pointerType === "touch" || event.button || !current) return;
    const start = place(event);
    box = { start, element: makeSvg("rect", { fill: "#0b5a8f", "fill-opacity": 0.12, stroke: "#0b5a8f" }) };
    current.chart.append(box.element);
    const stretch = (moved) => {
      const [x, y] = place(moved);
      const sides = { x: Math.min(x, start[0]), y: Math.min(y, start[1]), width: Math.abs(x - start[0]), height: Math.abs(y - start[1]) };
      for (const [name, value] of Object.entries(sides)) box.element.setAttribute(name, value);
    };
    addEventListener("pointermove", stretch);
    addEventListener("pointerup", (end) => {
      removeEventListener("pointermove", stretch);
      box.element.remove();
      box = null;
      zoomTo(start, place(end));
    }, { once: true });
  }

  /** Show what is between two corners; a click is no corner. */
  function zoomTo(start, end) {
    if (Math.abs(start[0] - end[0]) < 8 || Math.abs(start[1] - end[1]) < 8) return;
    const ends = [["x", 0, 1], ["y", 1, -1]].flatMap(([name, side, way]) => {
      const scale = current.chart.scale(name);
      const [low, high] = current.ends[name];
      const values = [start[side], end[side]].sort((a, b) => way * (a - b)).map(scale.invert);
      return [Math.max(low, values[0]), Math.min(high, values[1])];
    });
    choose({ zoom: ends });
  }

  // ---------------------------------------------------------------- files

  const fileName = () => ["explore", state.experiment, state.metric, state.epsilon === "∞" ? "inf" : state.epsilon].join("-");

  function saveCsv() {
    const { data, view, curves } = current;
    const [low, high] = facts.percentiles;
    const level = Math.round(100 * facts.level);
    const seeds = curves.some((curve) => asSeeds(curve, view)) ? data.seeds.map((seed) => `seed_${seed}`) : [];
    const extra = view.axis.name === "round" ? [] : [view.axis.label];
    const head = ["experiment", "dataset", "method", "epsilon", "round", ...extra, `mean of ${view.metric.label}`, `percentile_${low}`, `percentile_${high}`, `interval_${level}_lower`, `interval_${level}_upper`, "n", ...seeds];
    const number = (value) => (value === undefined || isNaN(value) ? "" : digits(value, 10));
    const rows = curves.flatMap((curve) => curve.points.map((point) => [
      data.name, data.dataset, curve.label, curve.reference ? "∞" : view.epsilon, point.round, ...extra.map(() => number(point.x)),
      ...[point.mean, point.lower, point.upper, point.mean - point.half, point.mean + point.half, point.n].map(number),
      ...(seeds.length ? point.seeds ?? seeds : []).map(number)]));
    download(`${fileName()}.csv`, "text/csv", asCsv([head, ...rows]));
  }

  /** The chart with legend and caption as one drawing that needs no page. */
  function standalone() {
    const { data, view, curves } = current;
    const width = 760;
    const chart = plot(curves, data, view, width);
    chart.setAttribute("y", 8);
    const top = Number(chart.getAttribute("height")) + 20;
    const columns = Math.max(1, Math.min(4, Math.floor(width / (70 + 7 * Math.max(1, ...curves.map(({ label }) => label.length))))));
    const entries = curves.map((curve, number) => {
      const sample = swatch(curve);
      sample.setAttribute("y", -7);
      const [x, y] = [16 + (number % columns) * (width / columns), top + 20 * Math.floor(number / columns)];
      return makeSvg("g", { transform: `translate(${x},${y})` }, sample, makeSvg("text", { x: 50, y: 4 }, curve.label + (curve.lost ? " †" : "")));
    });
    const below = top + 20 * Math.ceil(curves.length / columns);
    const lines = wrap(caption(current), 118);
    const texts = lines.map((line, k) => makeSvg("text", { x: 16, y: below + 8 + 15 * k, "font-size": 11 }, line));
    const height = below + 12 + 15 * lines.length;
    return makeSvg("svg", { xmlns: "http://www.w3.org/2000/svg", viewBox: `0 0 ${width} ${height}`, width, height, "font-family": "system-ui, sans-serif", "font-size": 12, fill: "#1d2125", role: "img" },
      makeSvg("rect", { width, height, fill: "#fff" }), chart, ...entries, ...texts);
  }

  function wrap(text, length) {
    const lines = [""];
    for (const word of text.split(" ")) {
      if ((lines[lines.length - 1] + word).length > length) lines.push("");
      lines[lines.length - 1] += `${word} `;
    }
    return lines;
  }

  function saveSvg() {
    download(`${fileName()}.svg`, "image/svg+xml", new XMLSerializer().serializeToString(standalone()));
  }

  /** The browser's print makes the PDF; for that time the page is this figure alone. */
  function printFigure() {
    const sheet = make("div", { id: "explore-print" }, standalone());
    const title = document.title;
    document.body.append(sheet);
    document.documentElement.classList.add("figure-alone");
    document.title = fileName(); // browsers call the file so
    addEventListener("afterprint", () => {
      sheet.remove();
      document.documentElement.classList.remove("figure-alone");
      document.title = title;
    }, { once: true });
    print();
  }

  // ---------------------------------------------------------------- start

  function restore() {
    const given = fromFragment();
    if (!given) return false;
    Object.assign(state, given);
    show().then(() => document.getElementById("explore").scrollIntoView());
    return true;
  }

  document.documentElement.classList.add("scripted");
  document.querySelectorAll("main table").forEach(enliven);
  if (!section) return;
  if (typeof DecompressionStream === "undefined") {
    section.textContent = "This view needs a newer browser.";
    return;
  }
  build();
  if (!restore()) show();
  addEventListener("hashchange", restore);
  let width = 0;
  new ResizeObserver(() => {
    if (current && width !== parts.frame.clientWidth) drawChart();
    width = parts.frame.clientWidth;
  }).observe(parts.frame);
})();
