import type { Colour, Look, StyledRun } from "../test/terminal/styled-lines.ts";

export interface TerminalPicture {
  readonly title: string;
  readonly columns: number;
  /** From top to bottom; empty lines at the end are left out. */
  readonly lines: readonly (readonly StyledRun[])[];
}

/**
 * A terminal as an SVG with selectable text in a grid of cells. Every run has its own column and the length of its cells, so
 * that nothing shifts with another font. The same screen gives the same bytes.
 */
export function terminalSvg({ title, columns, lines }: TerminalPicture): string {
  const rows = lines.slice(0, lines.findLastIndex((runs) => runs.length > 0) + 1);
  const width = round(columns * cellWidth + 2 * margin);
  const height = barHeight + rows.length * cellHeight + 2 * margin;
  const papers = rows.flatMap((runs, row) => runs.flatMap((run) => paperOf(run, row)));
  const texts = rows.flatMap((runs, row) => textOf(joinRuns(runs), row));
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" xml:space="preserve" role="img" aria-label="${escapeXml(title)}">`,
    `<style>text{font:14px ${fonts};fill:${paint.ink};white-space:pre}${usedStyles(rows)}</style>`,
    `<rect width="${width}" height="${height}" rx="9" fill="${paint.paper}"/>`,
    `<path d="M0 ${barHeight - 0.5}H${width}" stroke="${paint.rule}"/>`,
    ...[0, 1, 2].map(
      (at) => `<rect x="${margin + at * 16}" y="11" width="9" height="9" rx="2.5" fill="${paint.rule}"/>`,
    ),
    `<text x="${round(width / 2)}" y="21" text-anchor="middle" class="title">${escapeXml(title)}</text>`,
    ...papers,
    ...texts,
    "</svg>",
    "",
  ].join("\n");
}

/** For a font of 14 pixels: most monospaced fonts advance by three fifths of their height. */
const cellWidth = 8.4;
const cellHeight = 19;
const margin = 14;
const barHeight = 32;
/** From the top of a cell to the baseline of its text. */
const baseline = 14;
const fonts = "ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace";

const paint = { ink: "#d7dce2", paper: "#16181d", rule: "#30343c", faint: "#7d8590" };

/** The sixteen colours with numbers. */
const palette: readonly string[] = [
  "#3a3f48",
  "#ff7b72",
  "#7ee787",
  "#e3b341",
  "#79c0ff",
  "#d2a8ff",
  "#76e3ea",
  "#d7dce2",
  "#7d8590",
  "#ffa198",
  "#a5f3ae",
  "#f2cc60",
  "#a5d6ff",
  "#e2c5ff",
  "#b3f0ff",
  "#ffffff",
];

function hexOf(colour: Colour): string {
  if (colour.kind === "rgb") return hex(colour.rgb);
  const { index } = colour;
  if (index < palette.length) return palette[index] ?? paint.ink;
  if (index >= 232) return hex((8 + (index - 232) * 10) * 0x01_01_01);
  const [red, green, blue] = [36, 6, 1].map((step) => cubeLevel(Math.floor((index - 16) / step) % 6));
  return hex(((red ?? 0) << 16) | ((green ?? 0) << 8) | (blue ?? 0));
}

/** A level of the colour cube that follows the first sixteen colours. */
const cubeLevel = (at: number): number => (at === 0 ? 0 : 55 + at * 40);

const hex = (rgb: number): string => `#${rgb.toString(16).padStart(6, "0")}`;

/** The text colour of a run after `inverse` is applied. */
const inkOf = ({ inverse, ink, paper }: Look): string =>
  inverse ? (paper === undefined ? paint.paper : hexOf(paper)) : ink === undefined ? paint.ink : hexOf(ink);

function paperOf({ column, cells, look }: StyledRun, row: number): readonly string[] {
  const { inverse, ink, paper } = look;
  const background = inverse
    ? ink === undefined
      ? paint.ink
      : hexOf(ink)
    : paper === undefined
      ? undefined
      : hexOf(paper);
  if (background === undefined) return [];
  const [x, y] = [round(margin + column * cellWidth), barHeight + margin + row * cellHeight];
  return [`<rect x="${x}" y="${y}" width="${round(cells * cellWidth)}" height="${cellHeight}" fill="${background}"/>`];
}

/** Blanks between two runs of the same look take that look, which they do not show: one run is shorter than three. */
function joinRuns(runs: readonly StyledRun[]): readonly StyledRun[] {
  const all: StyledRun[] = [];
  for (const run of runs) {
    const last = all.at(-1);
    const look = last !== undefined && isBlank(run) && !isSeenOnBlanks(last.look) ? last.look : run.look;
    if (
      last !== undefined &&
      last.text.length === last.cells &&
      run.text.length === run.cells &&
      isSame(last.look, look)
    )
      all[all.length - 1] = { ...last, cells: last.cells + run.cells, text: last.text + run.text };
    else all.push({ ...run, look });
  }
  return all;
}

const isBlank = ({ text, look }: StyledRun): boolean => text.trim() === "" && !isSeenOnBlanks(look);

const isSeenOnBlanks = ({ underline, strike, inverse, paper }: Look): boolean =>
  underline || strike || inverse || paper !== undefined;

const isSame = (one: Look, other: Look): boolean => JSON.stringify(one) === JSON.stringify(other);

function textOf(runs: readonly StyledRun[], row: number): readonly string[] {
  const spans = runs.flatMap(spanOf);
  if (spans.length === 0) return [];
  return [`<text y="${barHeight + margin + row * cellHeight + baseline}">${spans.join("")}</text>`];
}

function spanOf({ column, cells, text, look }: StyledRun): readonly string[] {
  const trimmed = text.trimEnd();
  if (trimmed === "" && !look.underline) return [];
  // Invisible blanks are left out: the next run has its own column.
  const shown = look.underline ? text : trimmed;
  const length = cells - (text.length - shown.length);
  const style = classesOf(look).join(" ");
  const fill = inkOf(look);
  const attributes = [
    `x="${round(margin + column * cellWidth)}"`,
    // A single character needs no length.
    ...(length > 1 && shown.length > 1 ? [`textLength="${round(length * cellWidth)}"`] : []),
    ...(style === "" ? [] : [`class="${style}"`]),
    ...(fill === paint.ink ? [] : [`fill="${fill}"`]),
  ];
  return [`<tspan ${attributes.join(" ")}>${escapeXml(shown)}</tspan>`];
}

const styleByClass = {
  bold: "font-weight:bold",
  dim: "fill-opacity:.6",
  italic: "font-style:italic",
  underline: "text-decoration:underline",
  strike: "text-decoration:line-through",
} as const;

type Class = keyof typeof styleByClass;

const classes = ["bold", "dim", "italic", "underline", "strike"] as const satisfies readonly Class[];

const classesOf = (look: Look): readonly Class[] => classes.filter((name) => look[name]);

function usedStyles(rows: TerminalPicture["lines"]): string {
  const used = new Set(rows.flatMap((runs) => runs.flatMap(({ look }) => classesOf(look))));
  const rules = classes.filter((name) => used.has(name)).map((name) => `.${name}{${styleByClass[name]}}`);
  return [`.title{font-size:13px;fill:${paint.faint}}`, ...rules].join("");
}

/** More digits would be invisible, and would be most of the file. */
const round = (pixels: number): number => Math.round(pixels * 10) / 10;

const escapeXml = (text: string): string =>
  text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");
