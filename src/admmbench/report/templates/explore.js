// The view "Explore": what is chosen, the controls, the pointer and the keys.

let current = null; // what is drawn: data, view, curves, chart
let cursor = null; // the point that is told: curve, k

// ---------------------------------------------------------------- state, in the fragment of the address

const CHOICES = ["experiment", "metric", "kind", "epsilon", "x", "logx", "logy", "relative", "spread", "hide", "zoom", "size"];
const state = { hide: [] };

const flag = (text) => (text === undefined ? undefined : text === "1");

const LEAST = { width: 280, height: 160 };
const MOST = { width: 2000, height: 2000 };
const limited = (value, side) => Math.round(Math.max(LEAST[side], Math.min(value, MOST[side])));

/** Width and height, as 640x400 gives them; undefined if they are not given so. */
function sizeOf(text) {
  const found = /^(\d{1,4})x(\d{1,4})$/.exec(text ?? "");
  return found ? { width: limited(Number(found[1]), "width"), height: limited(Number(found[2]), "height") } : undefined;
}

function fromFragment() {
  const query = asked("explore");
  if (!query || !String(query)) return null;
  const given = Object.fromEntries([...query].filter(([key]) => CHOICES.includes(key)));
  const zoom = (given.zoom || "").split(",").map(Number);
  return {
    ...given,
    logx: flag(given.logx),
    logy: flag(given.logy),
    relative: flag(given.relative),
    size: sizeOf(given.size),
    hide: query.getAll("hide"),
    zoom: zoom.length === 4 && zoom.every(isFinite) ? zoom : undefined,
  };
}

function fragment() {
  const query = new URLSearchParams();
  for (const key of ["experiment", "metric", "kind", "epsilon", "x", "spread"]) query.set(key, state[key]);
  for (const key of ["logx", "logy", "relative"]) query.set(key, state[key] ? "1" : "0");
  for (const label of state.hide) query.append("hide", label);
  if (state.zoom) query.set("zoom", state.zoom.map((value) => digits(value, 5)).join(","));
  if (state.size) query.set("size", `${state.size.width}x${state.size.height}`);
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
  keep("kind", ["curves", "final", "bars"], "curves");
  keep("spread", ["band", "seeds"], "band");
  state.hide = state.hide.filter((label) => data.methods.some((method) => method.label === label));
  const metric = data.metrics.find(({ name }) => name === state.metric);
  state.logy ??= metric.log;
  state.logx ??= false;
  state.relative ??= false;
  const relative = state.relative && !metric.percent;
  return {
    ...state,
    relative,
    metric: relative ? { ...metric, label: `${metric.label.replace(/ \([^()]*\)$/, "")}, relative to the start` } : metric,
    zoom: isFinal(state) ? undefined : state.zoom,
    axis: data.axes.find(({ name }) => name === state.x),
    budgets: ran,
    // There is no band of a few seeds, and none where values do not depend on the seed.
    fixed: data.seeds.length <= facts.few ? "seeds" : metric.seeds ? "" : "band",
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
  fill("kind", [["curves", "curves"], ["final", "final values"], ["bars", "final values, bars"]]);
  fill("epsilon", view.budgets.map((budget) => [budget, budget]));
  fill("x", data.axes.map(({ name, label }) => [name, label]));
  fill("spread", [["band", facts.percentiles.join("–") + " percentile"], ["seeds", "single seeds"]], Boolean(view.fixed));
  if (view.fixed) parts.spread.value = view.fixed;
  parts.budget.textContent = data.budget;
  parts.epsilon.parentElement.hidden = !data.finite.some(Boolean);
  const final = isFinal(view);
  for (const part of [parts.x, parts.spread, parts.logx]) part.closest("label").hidden = final;
  parts.logy.nextSibling.textContent = final ? "log values" : "log y";
  parts.relative.closest("label").hidden = data.metrics.find(({ name }) => name === state.metric).percent;
  parts.relative.checked = view.relative;
  parts.logx.checked = view.logx;
  parts.logy.checked = view.logy;
  parts.link.href = fragment();
  parts.reset.hidden = !view.zoom;
  parts.follow.hidden = !view.size;
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
  parts.handle = makeHandle();
  parts.follow = button("Size of the window", () => choose({ size: undefined }));
  parts.frame = make("div", { class: "frame" }, parts.chart, parts.tip, parts.handle);
  section.replaceChildren(
    make("div", { class: "controls" }, select("experiment", "Experiment"), select("metric", "Metric"), select("kind", "Chart"), budget,
      select("x", "Horizontal axis"), select("spread", "Spread over seeds"),
      make("span", { class: "checks" }, check("logx", "log x"), check("logy", "log y"), check("relative", "relative to the start"))),
    make("figure", { id: "explore-figure", class: "card" }, parts.legend, parts.frame, parts.note),
    parts.live,
    make("p", { class: "tools" }, button("CSV", saveCsv), button("SVG", saveSvg), button("PNG", savePng), button("PDF", printFigure), parts.link, parts.reset, parts.follow),
    make("p", { class: "small", id: "explore-help" },
      "Arrow keys on the chart: left and right move along a curve, up and down change the curve; + and − zoom, 0 resets. " +
      "Drag over the chart to zoom. A method's button hides or shows it; a double click shows it alone. " +
      "The corner of the chart changes its size, by dragging or by arrow keys."));
}

// ---------------------------------------------------------------- what is shown

function fillLegend(curves) {
  const focused = parts.legend.contains(document.activeElement) && document.activeElement.dataset.label;
  parts.legend.replaceChildren(...curves.map((curve) => {
    const label = curve.label + (curve.failed ? " †" : "");
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

/** Name the methods without noise where others have some. */
function withoutNoise(curves, view) {
  const free = curves.filter(({ reference, noisy }) => reference || (view.epsilon === "none" && !noisy));
  return free.length && free.length < curves.length && `Without noise: ${free.map(({ label }) => label).join("; ")}.`;
}

/** Say that methods are not equally private, by the totals of their runs; those without noise have none. */
function unequal(curves) {
  const spent = curves.filter(({ reference, total }) => !reference && total);
  const totals = spent.map(({ total }) => total);
  const [low, high] = [Math.min(...totals), Math.max(...totals)];
  const open = spent.filter(({ proof }) => !proof).length;
  const unproved = open ? `, ${open === spent.length ? "all" : `${open} of ${spent.length}`} without a guarantee` : "";
  return high > 1.02 * low && `Not equally private: composed totals ε from ${digits(low, 3)} to ${digits(high, 3)}${unproved}.`;
}

function caption({ data, view, all, curves }) {
  const title = facts.experiments.find(({ name }) => name === data.name).title;
  const seeds = curves.some((curve) => asSeeds(curve, view));
  const single = data.seeds.length === 1;
  const final = isFinal(view);
  const many = data.seeds.length > facts.few; // a few are shown one by one, whatever the chart
  const bars = view.kind === "bars" && !view.metric.values && many;
  const boxes = "boxes from the first to the third quartile of the seeds, with the median, whiskers to the furthest value within 1.5 box lengths, and the mean as marker";
  const spread = single ? "one seed" : bars ? `bars to the mean, lines from the ${facts.percentiles[0]}th to the ${facts.percentiles[1]}th percentile over ${data.seeds.length} seeds` :
    final && curves.some(({ points }) => points.some(hasBox)) ? boxes : seeds ? `mean and each of ${data.seeds.length} seeds` :
    view.metric.values ? "" : `mean and ${facts.percentiles.join("–")} percentile over ${data.seeds.length} seeds`;
  const failed = all.filter((curve) => curve.failed).map((curve) => `${curve.label}: ${curve.failed} runs`);
  const absent = curves.filter((curve) => !curve.points.length).map((curve) => curve.label);
  return [
    `${title}: ${final ? "final values, " : ""}${inSentence(view.metric.label)}, ${data.dataset}${data.finite.some(Boolean) ? `, ${view.epsilon === "none" ? "no budget" : `${data.budget} ${view.epsilon}`}` : ""}${spread && "; " + spread}.`,
    data.note && `Data: ${data.note}.`,
    withoutNoise(all, view),
    unequal(curves),
    absent.length && `${final ? "No final values on this axis" : "No values on these axes"}: ${absent.join("; ")}.`,
    view.relative && "Each method is divided by its mean at the start, or at its first evaluated round where the start was not evaluated or is 0.",
    failed.length && `† ${failed.join("; ")}; ${final ? "left out" : "drawn until they stop"}.`,
  ].filter(Boolean).join(" ");
}

function drawChart() {
  const { data, view, curves } = current;
  // A chosen width is that of files as well; the page shows as much of it as it has room for.
  parts.frame.style.maxWidth = view.size ? `${view.size.width}px` : "";
  const width = Math.max(LEAST.width, parts.frame.clientWidth);
  const size = view.size ? { width, height: view.size.height } : standardSize(curves, view, width);
  const { chart, ends } = plot(curves, data, view, size);
  Object.assign(current, { chart, ends, size });
  parts.handle.setAttribute("aria-label", `Size of the chart: ${size.width} by ${size.height} pixels`);
  const at = (name) => (value) => chart.scale(name).apply(value);
  curves.forEach((curve, row) => {
    const [x, y] = [at("x"), at("y")];
    curve.at = curve.points.map((point) => (isFinal(view) ? [x(point.mean), y(row)] : [x(point.x), y(point.mean)]));
  });
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
  const all = curvesOf(data, view).filter((curve) => listed(curve.label));
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
    makeSvg("line", { x1: x, x2: x, y1: MARGINS.top, y2: current.chart.getAttribute("height") - MARGINS.bottom, "stroke-opacity": 0.35 }),
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
      // A row of final values is told from anywhere along it.
      const distance = isFinal(current.view) ? Math.abs(point[1] - y) : Math.hypot(point[0] - x, point[1] - y);
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
  if (isFinal(current.view)) return;
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
  if (event.pointerType === "touch" || event.button || !current || isFinal(current.view)) return;
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

// ---------------------------------------------------------------- size

/** The corner that changes the size of the chart. */
function makeHandle() {
  const lines = makeSvg("svg", { viewBox: "0 0 14 14", width: 14, height: 14, "aria-hidden": "true" },
    makeSvg("path", { d: "M13 3 3 13M13 8 8 13", stroke: "currentColor", "stroke-width": 1.5 }));
  return make("button", { type: "button", class: "handle", onpointerdown: startSize, onkeydown: keySize }, lines);
}

/** A size that the page has room for. */
function fittingSize(width, height) {
  const room = parts.frame.parentElement.clientWidth;
  const padding = ["paddingLeft", "paddingRight"].reduce((sum, side) => sum + parseFloat(getComputedStyle(parts.frame.parentElement)[side]), 0);
  return { width: Math.min(limited(width, "width"), Math.floor(room - padding)), height: limited(height, "height") };
}

function keySize(event) {
  const steps = { ArrowLeft: [-20, 0], ArrowRight: [20, 0], ArrowUp: [0, -20], ArrowDown: [0, 20] };
  const step = steps[event.key];
  if (!step || event.ctrlKey || event.metaKey || event.altKey) return;
  event.preventDefault();
  const size = fittingSize(current.size.width + step[0], current.size.height + step[1]);
  choose({ size });
  parts.live.textContent = `${size.width} by ${size.height} pixels`;
}

function startSize(event) {
  if (event.button || !current) return;
  const { size } = current;
  const start = [event.clientX, event.clientY];
  const stretch = (moved) => {
    current.view.size = fittingSize(size.width + moved.clientX - start[0], size.height + moved.clientY - start[1]);
    drawChart();
  };
  addEventListener("pointermove", stretch);
  addEventListener("pointerup", () => {
    removeEventListener("pointermove", stretch);
    choose({ size: current.view.size });
  }, { once: true });
}

// ---------------------------------------------------------------- start

/** Show what the address asks for; null if it asks for nothing. */
function restore() {
  const given = fromFragment();
  if (!given) return null;
  Object.assign(state, given);
  return show().then(() => document.getElementById("explore").scrollIntoView());
}

/** Make the view; it is there when the promise is kept. */
async function startExplore() {
  if (typeof DecompressionStream === "undefined") {
    section.textContent = "This view needs a newer browser.";
    return;
  }
  build();
  const first = restore() ?? show();
  addEventListener("hashchange", restore);
  let width = 0;
  new ResizeObserver(() => {
    if (current && width !== parts.frame.clientWidth) drawChart();
    width = parts.frame.clientWidth;
  }).observe(parts.frame);
  await first;
}
