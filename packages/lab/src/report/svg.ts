import { escapeHtml } from "palimpsest/internal/export/render-html";

/** Draws plots as SVG text. Colours are names of CSS variables, so that the page decides about light and dark. */

export interface PlotLine {
  readonly name: string;
  readonly colour: string;
  /** The values at x = 0, 1, 2 … */
  readonly values: readonly number[];
}

interface LinePlot {
  readonly title: string;
  /** The last is drawn on top. */
  readonly lines: readonly PlotLine[];
  /** The ends of both axes are given, so that plots can be compared. */
  readonly xMax: number;
  readonly yMax: number;
  readonly yText: (value: number) => string;
}

/** The width of a plot with rows, in its own units; the page scales all plots. */
const width = 900;
/** The size of one of several small plots. */
const small = { width: 320, height: 170 } as const;
const margin = { left: 44, right: 14, top: 10, bottom: 22 } as const;
/** More points than pixels only make the file larger. */
const pointsMax = 400;

export function drawLinePlot({ title, lines, xMax, yMax, yText }: LinePlot): string {
  const x = (at: number): number => margin.left + (at / Math.max(1, xMax)) * (small.width - margin.left - margin.right);
  const y = (value: number): number =>
    small.height - margin.bottom - (value / yMax) * (small.height - margin.top - margin.bottom);
  const paths = lines.map(({ name, colour, values }) => {
    const points = thinPoints(values).map(([at, value]) => `${x(at).toFixed(1)},${y(value).toFixed(1)}`);
    return `<polyline fill="none" stroke="var(${colour})" stroke-width="1.5" stroke-linejoin="round" points="${points.join(" ")}"><title>${escapeHtml(name)}</title></polyline>`;
  });
  const grid = [0, 0.5, 1].map((share) => {
    const at = y(yMax * share).toFixed(1);
    return `<line class="grid" x1="${margin.left}" x2="${small.width - margin.right}" y1="${at}" y2="${at}"/><text class="end" x="${margin.left - 6}" y="${at}" dy=".32em">${escapeHtml(yText(yMax * share))}</text>`;
  });
  const ticks = [0, 0.5, 1].map(
    (share) =>
      `<text class="middle" x="${x(xMax * share).toFixed(1)}" y="${small.height - margin.bottom + 15}">${Math.round(xMax * share)}</text>`,
  );
  return wrapSvg({ title, ...small, body: [...grid, ...ticks, ...paths].join("") });
}

/** Keeps the lowest and the highest value of each stretch, in order, so that the line keeps its peaks. */
export function thinPoints(values: readonly number[]): readonly (readonly [number, number])[] {
  if (values.length <= pointsMax) return values.map((value, at) => [at, value]);
  const stretch = Math.ceil((2 * values.length) / pointsMax);
  const points: (readonly [number, number])[] = [];
  for (let from = 0; from < values.length; from += stretch) {
    const part = values.slice(from, from + stretch);
    const low = part.indexOf(part.reduce((a, b) => Math.min(a, b)));
    const high = part.indexOf(part.reduce((a, b) => Math.max(a, b)));
    for (const at of new Set([Math.min(low, high), Math.max(low, high)])) points.push([from + at, part[at] ?? 0]);
  }
  return points;
}

interface Bar {
  readonly name: string;
  readonly parts: readonly { readonly name: string; readonly colour: string; readonly value: number }[];
  /** Shown after the bar. */
  readonly text: string;
}

const row = { height: 26, bar: 16, name: 190, text: 90 } as const;

/** Horizontal bars, each made of parts in a row. */
export function drawStackedBars({ title, bars }: { readonly title: string; readonly bars: readonly Bar[] }): string {
  const total = ({ parts }: Bar): number => parts.reduce((all, { value }) => all + value, 0);
  const most = Math.max(1, ...bars.map(total));
  const scale = (width - row.name - row.text) / most;
  const rows = bars.map((bar, at) => {
    const y = at * row.height + (row.height - row.bar) / 2;
    let x: number = row.name;
    const parts = bar.parts.map(({ name, colour, value }) => {
      const from = x;
      x += Math.max(0, value) * scale;
      return `<rect x="${from.toFixed(1)}" y="${y}" width="${(x - from).toFixed(1)}" height="${row.bar}" fill="var(${colour})"><title>${escapeHtml(`${bar.name}: ${name}`)}</title></rect>`;
    });
    return `${rowName(bar.name, at)}${parts.join("")}<text x="${(x + 6).toFixed(1)}" y="${middle(at)}" dy=".32em">${escapeHtml(bar.text)}</text>`;
  });
  return wrapSvg({ title, width, height: bars.length * row.height, body: rows.join("") });
}

interface Whisker {
  readonly name: string;
  readonly low: number;
  readonly estimate: number;
  readonly high: number;
  readonly text: string;
}

/** Estimates with their intervals on one axis, with a line at zero. */
export function drawWhiskers({ title, rows }: { readonly title: string; readonly rows: readonly Whisker[] }): string {
  const low = Math.min(0, ...rows.map((whisker) => whisker.low));
  const high = Math.max(0, ...rows.map((whisker) => whisker.high));
  const span = Math.max(Number.EPSILON, high - low);
  const x = (value: number): string =>
    (row.name + 10 + ((value - low) / span) * (width - row.name - row.text - 20)).toFixed(1);
  const height = rows.length * row.height;
  const zero = `<line class="axis" x1="${x(0)}" x2="${x(0)}" y1="0" y2="${height}"/>`;
  const whiskers = rows.map((whisker, at) => {
    const colour = whisker.low > 0 ? "--good" : whisker.high < 0 ? "--bad" : "--faint";
    const y = middle(at);
    const line = `<line x1="${x(whisker.low)}" x2="${x(whisker.high)}" y1="${y}" y2="${y}" stroke="var(${colour})" stroke-width="3" stroke-linecap="round"/>`;
    const dot = `<circle cx="${x(whisker.estimate)}" cy="${y}" r="5" fill="var(${colour})"/>`;
    return `${rowName(whisker.name, at)}${line}${dot}<text class="end" x="${width - 4}" y="${y}" dy=".32em">${escapeHtml(whisker.text)}</text>`;
  });
  return wrapSvg({ title, width, height, body: `${zero}${whiskers.join("")}` });
}

const middle = (at: number): number => at * row.height + row.height / 2;

const rowName = (name: string, at: number): string =>
  `<text class="end" x="${row.name - 8}" y="${middle(at)}" dy=".32em">${escapeHtml(name)}</text>`;

const wrapSvg = (drawing: {
  readonly title: string;
  readonly width: number;
  readonly height: number;
  readonly body: string;
}): string =>
  `<svg viewBox="0 0 ${drawing.width} ${drawing.height}" role="img" aria-label="${escapeHtml(drawing.title)}">${drawing.body}</svg>`;

/** The next of 1, 2, 2.5 or 5 times a power of ten, so that axes have round numbers. */
export function niceCeiling(value: number): number {
  const power = 10 ** Math.floor(Math.log10(value));
  const step = [1, 2, 2.5, 5, 10].find((one) => one * power >= value) ?? 10;
  return step * power;
}
