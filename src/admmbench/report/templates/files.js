// Files of what the view "Explore" shows.

const fileName = () => ["explore", state.experiment, state.metric, state.epsilon,
  ...(current.view.relative ? ["relative"] : []), ...(isFinal(current.view) ? [current.view.kind] : [])].join("-");

function saveCsv() {
  const { data, view, curves } = current;
  const [low, high] = facts.percentiles;
  const level = Math.round(100 * facts.level);
  const final = isFinal(view);
  const seeds = curves.some((curve) => (final ? curve.points[0]?.seeds : asSeeds(curve, view))) ? data.seeds.map((seed) => `seed_${seed}`) : [];
  const extra = final || view.axis.name === "round" ? [] : [view.axis.label];
  const head = ["experiment", "dataset", "method", "epsilon", "round", ...extra, `mean of ${view.metric.label}`, `percentile_${low}`, `percentile_${high}`, `interval_${level}_lower`, `interval_${level}_upper`, "n", ...(final ? ["first_quartile", "median", "third_quartile"] : []), ...seeds];
  const number = (value) => (value === undefined || isNaN(value) ? "" : digits(value, 10));
  const rows = curves.flatMap((curve) => curve.points.map((point) => [
    data.name, data.dataset, curve.label, curve.reference ? "none" : view.epsilon, point.round, ...extra.map(() => number(point.x)),
    ...[point.mean, point.lower, point.upper, point.mean - point.half, point.mean + point.half, point.n].map(number),
    ...(final ? quartiles(point) : []).map(number),
    ...(seeds.length ? point.seeds ?? seeds : []).map(number)]));
  download(`${fileName()}.csv`, CSV, asCsv([head, ...rows]));
}

function quartiles(point) {
  if (!point.seeds) return [NaN, NaN, NaN];
  const { first, median, third } = boxOf(point.seeds);
  return [first, median, third];
}

/** The chart with legend and caption as one drawing that needs no page. */
function standalone() {
  const { data, view, curves } = current;
  const size = view.size ?? standardSize(curves, view, 760);
  const { width } = size;
  const { chart } = plot(curves, data, view, size);
  chart.setAttribute("y", 8);
  const top = Number(chart.getAttribute("height")) + 20;
  const columns = Math.max(1, Math.min(4, Math.floor(width / (70 + 7 * Math.max(1, ...curves.map(({ label }) => label.length))))));
  // Rows of final values have their names already.
  const named = isFinal(view) ? [] : curves;
  const entries = named.map((curve, number) => {
    const sample = swatch(curve);
    sample.setAttribute("y", -7);
    const [x, y] = [16 + (number % columns) * (width / columns), top + 20 * Math.floor(number / columns)];
    return makeSvg("g", { transform: `translate(${x},${y})` }, sample, makeSvg("text", { x: 50, y: 4 }, curve.label + (curve.failed ? " †" : "")));
  });
  const below = top + 20 * Math.ceil(named.length / columns);
  const lines = wrap(caption(current), width / 6.4);
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
  download(`${fileName()}.svg`, "image/svg+xml;charset=utf-8", new XMLSerializer().serializeToString(standalone()));
}

/** The drawing as an image, with three pixels for each of the drawing's. */
async function savePng() {
  const drawing = standalone();
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(new XMLSerializer().serializeToString(drawing))}`;
  await image.decode();
  const [width, height] = ["width", "height"].map((side) => 3 * drawing.getAttribute(side));
  const canvas = make("canvas", { width, height });
  canvas.getContext("2d").drawImage(image, 0, 0, width, height);
  canvas.toBlob((content) => download(`${fileName()}.png`, "image/png", content));
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
