// Final values of the view "Explore": a row for each method, with a bar to the mean, a box over many seeds, or a point for
// each of a few.

const isFinal = ({ kind }) => kind !== "curves";
const HALF_BOX = 0.17; // of the distance of rows

/** Quartiles, whiskers to the furthest value within 1.5 box lengths, and the values beyond. */
function boxOf(values) {
  const sorted = values.filter((value) => !isNaN(value)).sort((a, b) => a - b);
  const [first, median, third] = [25, 50, 75].map((percent) => percentile(sorted, percent));
  const near = (value) => value >= first - 1.5 * (third - first) && value <= third + 1.5 * (third - first);
  const whiskers = extent(sorted.filter(near));
  return { first, median, third, whiskers, beyond: sorted.filter((value) => !near(value)) };
}

/** The last value of a curve with its statistics; undefined if all its runs failed. */
function finalOf(data, metric, curve) {
  const at = data.rounds.map((round, k) => ({ round, ...statisticsAt(data, metric, curve, k) }));
  const last = at.findLast(({ mean }) => isFinite(mean));
  if (!last || (!metric.values && data.unfinished[curve].length === data.seeds.length)) return undefined;
  if (!last.seeds) return last;
  const seeds = ofRuns(data, metric, curve);
  return { round: last.round, ...summary(seeds, data.redrawn), seeds };
}

const hasBox = ({ seeds, n }) => Boolean(seeds) && n > facts.few;

/** Marks of one row: what the seeds are, and the mean as the method's marker. */
function finalMarks(curve, point, row, { bars, start, log }) {
  const at = (x, y = row) => ({ x, y });
  const xy = { x: "x", y: "y", stroke: curve.color };
  const marks = [];
  const block = (ends) => Plot.areaY(ends.map((x) => at(x)), { x: "x", y1: row - HALF_BOX, y2: row + HALF_BOX, fill: curve.color, fillOpacity: 0.2, stroke: curve.color });
  if (bars) marks.push(block([start, point.mean]));
  if (!bars && hasBox(point)) {
    const { first, median, third, whiskers, beyond } = boxOf(point.seeds);
    marks.push(
      block([first, third]),
      Plot.line([at(whiskers[0]), at(first)], xy),
      Plot.line([at(third), at(whiskers[1])], xy),
      Plot.line([at(median, row - HALF_BOX), at(median, row + HALF_BOX)], { ...xy, strokeWidth: 2.5, strokeLinecap: "butt" }),
      Plot.dot(beyond.map((value) => at(value)), { ...xy, r: 2.5 }));
  } else if (point.seeds && !hasBox(point)) {
    marks.push(Plot.dot(point.seeds.filter(isFinite).map((value) => at(value)), { ...xy, r: 3 }));
  } else if (isFinite(point.lower)) {
    const lower = log && point.lower <= 0 ? start : point.lower;
    marks.push(Plot.line([at(lower), at(point.upper)], { ...xy, strokeWidth: 2 }));
  }
  const symbol = SYMBOLS[curve.marker || "o"];
  return [...marks, Plot.dot([at(point.mean)], { x: "x", y: "y", symbol, r: 4.5, fill: curve.color, stroke: "white", strokeWidth: 0.8 })];
}

function finalDomains(curves, view) {
  const values = curves.flatMap(({ points }) => points.flatMap(({ seeds, lower, upper, mean }) => [mean, lower ?? NaN, upper ?? NaN, ...(seeds ?? [])]));
  const zero = view.kind === "bars" && !view.logy ? [0] : []; // where bars begin
  return { x: domain([...zero, ...values], view.logy, 0.04), y: [curves.length - 0.4, -0.75] };
}

function plotFinals(curves, view, { width, height }) {
  const ends = finalDomains(curves, view);
  // On a logarithmic axis bars begin where the axis does.
  const style = { bars: view.kind === "bars", start: view.logy ? ends.x[0] : 0, log: view.logy };
  const chart = Plot.plot({
    width, height, marginLeft: 16, marginTop: MARGINS.top, marginBottom: MARGINS.bottom, marginRight: 16,
    style: CHART_STYLE,
    ariaLabel: `Final values: ${view.metric.label}, ${curves.map(({ label }) => label).join(", ")}`,
    x: axisOptions(view.metric.label, view.logy, ends.x, Math.round(width / 110)),
    y: { domain: ends.y, axis: null },
    marks: curves.flatMap((curve, row) => curve.points.flatMap((point) => finalMarks(curve, point, row, style))),
  });
  // Names stand above their boxes, where any length has room.
  curves.forEach((curve, row) => {
    const name = curve.label + (curve.failed ? " †" : "") + (curve.points.length ? "" : ": none");
    chart.append(makeSvg("text", { x: 18, "text-anchor": "start", y: chart.scale("y").apply(row - 0.38), fill: "currentColor" }, fitting(name, (width - 36) / 6.8)));
  });
  return chart;
}

const fitting = (text, length) => (text.length > length ? `${text.slice(0, Math.floor(length) - 1)}…` : text);
