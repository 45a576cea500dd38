// The data of the view "Explore": unpacked, summarised, and as text. explore.py packs what `unpack` reads.

const section = document.getElementById("explore-view");
const facts = section && JSON.parse(document.getElementById("explore-facts").textContent);

/** An experiment: base64 of gzip of JSON, in which null stands for what is missing. */
async function unpack(text) {
  const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  const data = JSON.parse(await new Response(stream).text(), (_, value) => value ?? NaN);
  for (const axis of data.axes) {
    const metric = data.metrics.find(({ name }) => name === axis.name); // the round is none
    axis.values = metric && (metric.values ?? metric.seeds.map(meansOf));
  }
  return data;
}

/** Mean over the seeds of a curve at each round. */
const meansOf = (seeds) => seeds[0].map((_, round) => summary(seeds.map((values) => values[round]), 0).mean);

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

/** Percentile of sorted values by linear interpolation, as numpy's default. */
function percentile(sorted, percent) {
  const place = ((sorted.length - 1) * percent) / 100;
  const below = Math.floor(place);
  const above = Math.min(below + 1, sorted.length - 1);
  return sorted[below] + (sorted[above] - sorted[below]) * (place - below);
}

/** Mean, band, and half of the t interval of the mean, of the seeds that have a value; see statistics.py on `redrawn`. */
function summary(values, redrawn) {
  const sorted = values.filter((value) => !isNaN(value)).sort((a, b) => a - b);
  const n = sorted.length;
  if (!n) return { n, mean: NaN };
  const mean = sorted.reduce((a, b) => a + b, 0) / n;
  const [lower, upper] = facts.percentiles.map((percent) => percentile(sorted, percent));
  const squares = sorted.reduce((sum, value) => sum + (value - mean) ** 2, 0);
  const half = n > 1 ? facts.t[n - 2] * Math.sqrt((squares / (n - 1)) * (1 / n + redrawn)) : NaN;
  return { n, mean, lower, upper, half };
}

/** Values of all seeds at a round, in the unit that is shown; undefined if they do not depend on the seed. */
function seedsAt(metric, curve, round) {
  return metric.seeds?.[curve].map((values) => values[round] * (metric.percent ? 100 : 1));
}

/** The final value of each run, as statistics.py takes it; NaN for failed or diverged runs. */
function ofRuns(data, metric, curve) {
  const rounds = data.rounds.map((_, k) => seedsAt(metric, curve, k));
  return data.seeds.map((_, seed) => {
    const own = rounds.map((seeds) => seeds[seed]).filter((value, k) => data.rounds[k] > 0 && !isNaN(value));
    if (!own.length || data.unfinished[curve].includes(seed)) return NaN;
    return own[own.length - 1];
  });
}

/** Statistics of a metric at a round. */
function statisticsAt(data, metric, curve, round) {
  const seeds = seedsAt(metric, curve, round);
  return seeds ? { ...summary(seeds, data.redrawn), seeds } : { mean: metric.values[curve][round] * (metric.percent ? 100 : 1) };
}

/** Points of a curve; where several are at one place, the last stands for them. */
function pointsOf(data, metric, axis, curve, { logx, logy }, change) {
  const drawn = ({ x, mean }) => isFinite(x) && isFinite(mean) && (!logx || x > 0) && (!logy || mean > 0);
  const points = data.rounds
    .map((round, k) => ({ round, x: axis.values ? axis.values[curve][k] : round, ...change(statisticsAt(data, metric, curve, k)) }))
    .filter(drawn)
    .filter((point, k, all) => k === all.length - 1 || all[k + 1].x > point.x);
  // A method without a total has the start alone on its axis.
  return points.some(({ round }) => round > 0) ? points : [];
}

/** Divide what a point holds by a number. */
function divided(point, by) {
  const [lower, upper] = by < 0 ? [point.upper, point.lower] : [point.lower, point.upper];
  const parts = { mean: point.mean, lower, upper, half: point.half * Math.sign(by) };
  const each = Object.entries(parts).filter(([, value]) => value !== undefined).map(([name, value]) => [name, value / by]);
  return { ...point, ...Object.fromEntries(each), ...(point.seeds && { seeds: point.seeds.map((value) => value / by) }) };
}

/** First mean of a curve that something can be divided by; NaN if it has none. */
function firstMean(data, metric, curve) {
  const means = data.rounds.map((_, k) => statisticsAt(data, metric, curve, k).mean);
  return means.find((mean) => isFinite(mean) && mean !== 0) ?? NaN;
}

/** Composed total of a run after its last round; undefined where nothing is composed. */
function lastTotal(data, curve) {
  const axis = data.axes.find(({ name }) => name === "epsilon_composed");
  return axis?.values[curve].findLast((value) => isFinite(value) && value > 0);
}

/** Curves at the chosen budget; a method that ran without budget and without noise is a reference at every budget. */
function curvesOf(data, view) {
  const budget = data.budgets.indexOf(view.epsilon);
  const found = [];
  data.methods.forEach((method, number) => {
    const own = data.curves.map(([a, e], curve) => ({ a, e, curve })).filter(({ a }) => a === number);
    const exact = own.find(({ e }) => e === budget);
    const reference = view.metric.references && !method.noisy && own.every(({ e }) => !data.finite[e]) && own[0];
    const chosen = exact || reference;
    if (!chosen) return;
    const { metric } = view;
    const by = view.relative ? firstMean(data, metric, chosen.curve) : 1;
    const change = (point) => (view.relative ? divided(point, by) : point);
    const final = isFinal(view) && finalOf(data, metric, chosen.curve);
    const drawn = ({ mean, seeds = [] }) => isFinite(mean) && (!view.logy || Math.min(mean, ...seeds.filter(isFinite)) > 0);
    found.push({
      ...method,
      failed: data.failed[chosen.curve],
      total: lastTotal(data, chosen.curve),
      reference: !exact,
      points: isFinal(view)
        ? [final].filter(Boolean).map(change).filter(drawn)
        : pointsOf(data, metric, view.axis, chosen.curve, view, change),
    });
  });
  return found;
}

// ---------------------------------------------------------------- numbers as text

const digits = (value, count) => String(Number(value.toPrecision(count)));

/** A value as the tables print it: fractions in percent with two decimals, others with four digits. */
function shown(value, metric) {
  const text = metric.percent ? value.toFixed(2) : digits(value, 4);
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
    if (point.lower === point.upper) parts.push("the same for all seeds");
    else if (point.n <= facts.few && point.seeds) parts.push(`seeds ${point.seeds.filter(isFinite).map((value) => shown(value, metric)).join(", ")}`);
    else parts.push(`${a}–${b} percentile ${shown(point.lower, metric)} to ${shown(point.upper, metric)}`);
    const ends = point.seeds && point.lower < point.upper && [point.mean - point.half, point.mean + point.half].map((end) => shown(end, metric));
    if (ends) parts.push(`${Math.round(100 * facts.level)} % interval of the mean ${ends.join(" to ")}`);
  }
  if (isFinal(view) && hasBox(point)) {
    const { first, median, third } = boxOf(point.seeds);
    parts.push(`median ${shown(median, metric)}, quartiles ${shown(first, metric)} and ${shown(third, metric)}`);
  }
  if (point.n !== undefined) parts.push(`n = ${point.n}`);
  const place = isFinal(view) || axis.name === "round" ? "" : `${axis.label} ${digits(point.x, 4)}, `;
  return [`${curve.label}${curve.reference ? " (without noise)" : ""}`, `${place}round ${point.round.toLocaleString("en")}`, ...parts];
}
