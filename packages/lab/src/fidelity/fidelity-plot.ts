import { escapeHtml } from "palimpsest/internal/export/render-html";
import { formatCount } from "palimpsest/internal/text/format-count";
import { type FactKind, factKinds } from "./fact.ts";
import { type FidelityFigures, computeShownShare } from "./fidelity-tally.ts";

const panel = { width: 320, height: 206, left: 62, right: 12, top: 30, bottom: 40 } as const;
const columns = 3;
const legendRow = 20;
const headHeight = 34;
/** The vertical distance between lines of different policies with equal figures, and the most for all lines together. */
const apart = { each: 1.8, all: 7.2 } as const;

/** Distinguishable with red-green colour blindness; further policies reuse the colours with dashed lines. */
const colours = ["#0b5a8a", "#d1660a", "#a33a86", "#4aa9b5", "#6b6b1e", "#b3261e", "#5c6670", "#1f7a4d"] as const;

const kindTitles: Readonly<Record<FactKind, string>> = {
  userMessages: "user messages",
  filesModified: "files modified",
  filesRead: "files read",
  commands: "commands",
  errors: "earlier errors",
  lastErrors: "last errors",
  details: "identifiers and numbers",
  decisions: "decisions",
  openTodos: "open todos",
};

/** A self-contained SVG with a panel for each kind of fact: the share that is shown after each compaction, with a line for each policy. */
export function fidelityPlot(
  { compactions, runs }: FidelityFigures,
  { window }: { readonly window: number | "none" },
): string {
  const policies = runs.filter(({ compacted }) => compacted > 0).map(({ policy }) => policy);
  const panels = factKinds.map((kind, at) => {
    const x = (at % columns) * panel.width;
    const y = headHeight + Math.floor(at / columns) * panel.height;
    return `<g transform="translate(${x} ${y})">${drawPanel(kind, { compactions, policies })}</g>`;
  });
  const gridHeight = headHeight + Math.ceil(factKinds.length / columns) * panel.height;
  const width = columns * panel.width;
  const height = gridHeight + legendRow * Math.ceil(policies.length / columns) + 10;
  const legend = policies.map((policy, at) => {
    const x = (at % columns) * panel.width + panel.left;
    const y = gridHeight + Math.floor(at / columns) * legendRow + 12;
    return `<line x1="${x}" x2="${x + 22}" y1="${y}" y2="${y}" ${lineStroke(at)}/><text x="${x + 28}" y="${y + 4}">${escapeHtml(policy)}</text>`;
  });
  const style =
    "text{font:11px ui-sans-serif,system-ui,sans-serif;fill:#1d2126}.title{font-weight:600}.head{font-size:14px}.axis{fill:#5c6670}.end{text-anchor:end}.middle{text-anchor:middle}.grid{stroke:#dedad0}";
  const under = window === "none" ? "no window" : `a window of ${formatCount(window)} tokens`;
  const head = `What each policy shows verbatim after its compactions, under ${under}`;
  const title = `<text class="title head" x="${panel.left}" y="24">${head}</text>`;
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" role="img" aria-label="${head}"><style>${style}</style><rect width="${width}" height="${height}" fill="#fbfaf7"/>${title}${panels.join("")}${legend.join("")}</svg>\n`;
}

interface PanelInput extends Pick<FidelityFigures, "compactions"> {
  readonly policies: readonly string[];
}

function drawPanel(kind: FactKind, { compactions, policies }: PanelInput): string {
  const span = Math.max(1, compactions.length - 1);
  const x = (at: number): string =>
    (panel.left + 8 + (at / span) * (panel.width - panel.left - panel.right - 16)).toFixed(1);
  const y = (share: number): string =>
    (panel.height - panel.bottom - share * (panel.height - panel.top - panel.bottom)).toFixed(1);
  const grid = [0, 0.5, 1].map(
    (share) =>
      `<line class="grid" x1="${panel.left}" x2="${panel.width - panel.right}" y1="${y(share)}" y2="${y(share)}"/><text class="end" x="${panel.left - 5}" y="${y(share)}" dy=".32em">${share * 100} %</text>`,
  );
  const ticks = compactions.map(
    ({ compaction }, at) =>
      `<text class="middle" x="${x(at)}" y="${panel.height - panel.bottom + 16}">${compaction}</text>`,
  );
  const step = Math.min(apart.each, apart.all / Math.max(1, policies.length - 1));
  const lines = policies.map((policy, index) => {
    const offset = (index - (policies.length - 1) / 2) * step;
    const points = compactions.flatMap(({ policies: summaries }, at) => {
      const summary = summaries.find((candidate) => candidate.policy === policy);
      const share = summary === undefined ? undefined : computeShownShare(summary.facts[kind]);
      return share === undefined ? [] : [`${x(at)},${(Number(y(share)) + offset).toFixed(1)}`];
    });
    const dots = points.map((point) => {
      const [cx = "", cy = ""] = point.split(",");
      return `<circle cx="${cx}" cy="${cy}" r="2.5" fill="${lineColour(index)}"/>`;
    });
    return `<polyline fill="none" ${lineStroke(index)} points="${points.join(" ")}"><title>${escapeHtml(policy)}</title></polyline>${dots.join("")}`;
  });
  const title = `<text class="title" x="${panel.left}" y="16">${kindTitles[kind]}</text>`;
  const middle = { x: (panel.left + panel.width - panel.right) / 2, y: (panel.top + panel.height - panel.bottom) / 2 };
  const axes = [
    `<text class="axis middle" x="${middle.x}" y="${panel.height - 6}">compaction</text>`,
    `<text class="axis middle" transform="translate(16 ${middle.y}) rotate(-90)">shown, in % of all</text>`,
  ];
  // The first policy is drawn last, on top of the others.
  return [title, ...axes, ...grid, ...ticks, ...lines.toReversed()].join("");
}

const lineColour = (at: number): string => colours[at % colours.length] ?? colours[0];

const lineStroke = (at: number): string =>
  `stroke="${lineColour(at)}" stroke-width="1.8"${at < colours.length ? "" : ' stroke-dasharray="4 3"'}`;
