// What the view "Explore" draws: curves with their bands or seeds, and axes.

const MARGINS = { top: 28, bottom: 42 };
const MARKERS_PER_LINE = 7;
// Symbols that Plot lacks: triangles to the left, to the right and down, and a filled x (its own is strokes alone).
const arrow = (x, y) => ({
  draw(context, size) {
    const r = Math.sqrt(size / 1.3);
    context.moveTo(x * r, y * r);
    context.lineTo((-0.6 * x - 0.9 * y) * r, (0.9 * x - 0.6 * y) * r);
    context.lineTo((-0.6 * x + 0.9 * y) * r, (-0.9 * x - 0.6 * y) * r);
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
// By the markers of the figures.
const SYMBOLS = {
  o: "circle", s: "square", D: "diamond", "^": "triangle", P: "cross", "*": "star",
  v: arrow(0, 1), "<": arrow(-1, 0), ">": arrow(1, 0), X: times,
};

const asSeeds = (curve, view) => {
  const most = Math.max(0, ...curve.points.map(({ n }) => n ?? 0));
  return Boolean(curve.points[0]?.seeds) && most > 1 && (view.fixed === "seeds" || (view.spread === "seeds" && !view.fixed) || most <= facts.few);
};

function seedLines(curve, data, view) {
  const own = curve.points.flatMap(({ x, seeds }) => seeds.map((y, seed) => ({ x, y, seed })));
  const drawn = own.filter(({ y }) => isFinite(y) && (!view.logy || y > 0));
  const z = { x: "x", y: "y", z: "seed", stroke: curve.color, clip: true };
  return [
    Plot.line(drawn, { ...z, strokeWidth: 0.8 }),
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
    ...(curve.marker ? [Plot.dot(marked, { x: "x", y: "mean", fill: curve.color, stroke: "white", strokeWidth: 0.6, symbol: SYMBOLS[curve.marker], r: 4, clip })] : []),
  ];
}

function extent(values) {
  const finite = values.filter(isFinite);
  return finite.length ? [Math.min(...finite), Math.max(...finite)] : [1, 1]; // of nothing: any ends, which a logarithm has as well
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

const CHART_STYLE = { background: "#fff", color: "#1d2125", fontFamily: "system-ui, sans-serif", fontSize: "12px", overflow: "visible" };

function plotCurves(curves, data, view, { width, height }) {
  const ends = domains(curves, data, view);
  if (!curves.some(({ points }) => points.length)) {
    const chart = Plot.plot({ width, height, style: CHART_STYLE, x: { domain: ends.x, axis: null }, y: { domain: ends.y, axis: null } });
    chart.append(makeSvg("text", { x: width / 2, y: height / 2, "text-anchor": "middle", fill: "#555555" }, "no values"));
    return chart;
  }
  return Plot.plot({
    width, height, marginLeft: 56, marginTop: MARGINS.top, marginBottom: MARGINS.bottom, marginRight: 16,
    style: CHART_STYLE,
    ariaLabel: `${view.metric.label} against ${view.axis.label}, ${curves.map(({ label }) => label).join(", ")}`,
    x: axisOptions(view.axis.label, view.logx, ends.x, Math.round(width / 110)),
    y: axisOptions(view.metric.label, view.logy, ends.y, 6),
    marks: [
      ...curves.flatMap((curve) => (asSeeds(curve, view) ? seedLines(curve, data, view) : band(curve, view))),
      ...curves.flatMap((curve, turn) => meanLine(curve, turn)),
    ],
  });
}

/** How large a chart is if nobody has chosen: as wide as its place, with room for all rows. */
function standardSize(curves, view, width) {
  if (isFinal(view)) return { width, height: Math.max(160, 46 * curves.length + MARGINS.top + MARGINS.bottom) };
  return { width, height: Math.round(Math.max(300, Math.min(460, width * 0.55))) };
}

/** Draw what is chosen, and tell the ends of its axes. */
function plot(curves, data, view, size) {
  if (isFinal(view)) return { chart: plotFinals(curves, view, size), ends: finalDomains(curves, view) };
  return { chart: plotCurves(curves, data, view, size), ends: domains(curves, data, view) };
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
