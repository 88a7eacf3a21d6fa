import { escapeHtml } from "palimpsest/internal/export/render-html";
import { hasBounds, type MoneyBySource, type PolicySummary, type PriceSummary } from "../tally.ts";
import { formatMillions, noFigure, formatPercent, formatRange, formatRatios, sum } from "../statistics.ts";
import { type PlotLine, drawLinePlot, niceCeiling, drawStackedBars, drawWhiskers } from "./svg.ts";
import type { ReplayOutcome } from "../replay-outcome.ts";

interface Report {
  readonly summaries: readonly PriceSummary[];
  readonly plotted: readonly PlottedSession[];
  /** What a reader should know about this run, for example that files were left out or that it was stopped early. */
  readonly notes: readonly string[];
}

/** Nothing may load or run: the page contains everything it needs. */
const contentPolicy = "default-src 'none'; style-src 'unsafe-inline'";

/** A self-contained HTML page without scripts. */
export function renderReport({ summaries, plotted, notes }: Report): string {
  const baseline = summaries[0]?.baseline ?? "";
  return [
    `<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<meta name="viewport" content="width=device-width, initial-scale=1">`,
    `<meta http-equiv="Content-Security-Policy" content="${contentPolicy}">\n<meta name="generator" content="palimpsest">`,
    `<title>Replay</title>\n<style>${reportStyle}</style>\n</head>\n<body>\n<main>\n<h1>Recorded sessions under other policies</h1>`,
    "<p>Costs are in tokens at the base input price: one uncached input token costs 1. A saving is the share of the baseline's cost over all sessions, with a 95 % bootstrap interval over sessions.</p>",
    ...notes.map((note) => `<p class="note">${escapeHtml(note)}</p>`),
    ...summaries.map(priceSection),
    ...(plotted.length === 0 ? [] : ["<h2>Context over time</h2>"]),
    ...plotted.map((session) => contextSection(session, baseline)),
    definitions,
    "</main>\n</body>\n</html>\n",
  ].join("\n");
}

function priceSection(summary: PriceSummary): string {
  const { prices, compaction, sessions, rounds, tooShort, hopeless, policies, baseline, recorded } = summary;
  const leftOut = [
    ...(tooShort === 0 ? [] : [` Left out with too few rounds: ${formatRounded(tooShort)}.`]),
    ...(hopeless === 0 ? [] : [` Left out because no policy completes them: ${formatRounded(hopeless)}.`]),
  ].join("");
  const usage =
    recorded === undefined
      ? ""
      : ` The usage recorded in ${formatRounded(recorded.sessions)} of them costs ${formatMillions(recorded.cost)}${recorded.lossCost === 0 ? "" : ` (${formatMillions(recorded.lossCost)} of it for caches that were lost before they expired)`}; ${baseline} costs ${formatMillions(recorded.baselineCost)} in the same, at the median ${recorded.ratioMedian.toFixed(2)} times as much.`;
  const summariesNote =
    compaction === "stand-in" ? "" : ` Compaction ${compaction}: summaries are extracted from the conversation.`;
  const head = `<h2>${escapeHtml(prices)} prices</h2>\n<p>${escapeHtml(`${formatRounded(sessions)} sessions, ${formatRounded(rounds)} rounds.${summariesNote}${leftOut}${usage}`)}</p>`;
  if (sessions === 0) return head;
  const compared = policies.filter(({ failedSessions }) => failedSessions === 0);
  return [
    head,
    card(moneyTable(policies)),
    `<h3>${escapeHtml(`SavingLevel against ${baseline}`)}</h3>`,
    card(
      drawWhiskers({
        title: `SavingLevel against ${baseline} with 95 % intervals`,
        rows: compared.flatMap(({ policy, saving }) =>
          saving === undefined ? [] : [{ name: policy, ...saving, text: formatPercent(saving.estimate) }],
        ),
      }),
    ),
    "<h3>Money by source</h3>",
    card(
      `${drawStackedBars({
        title: "Money by source",
        bars: policies.map(({ policy, money, cost }) => ({
          name: policy,
          parts: moneyParts(money),
          text: formatMillions(cost),
        })),
      })}${legend(sources)}`,
    ),
    "<h3>What it did</h3>",
    card(actionsTable(policies)),
  ].join("\n");
}

const sources = [
  { name: "header, read from the cache", colour: "--header", figure: "headerRead" },
  { name: "the rest, read from the cache", colour: "--read", figure: "otherRead" },
  { name: "written to the cache, or not cached", colour: "--written", figure: "written" },
  { name: "fetched again after clearing", colour: "--refetch", figure: "refetch" },
  { name: "output of compactions", colour: "--output", figure: "compactionOutput" },
] as const satisfies readonly { name: string; colour: string; figure: keyof MoneyBySource }[];

const moneyParts = (money: MoneyBySource) =>
  sources.map(({ name, colour, figure }) => ({
    name: `${name}: ${formatMillions(money[figure])}`,
    colour,
    value: money[figure],
  }));

function moneyTable(policies: readonly PolicySummary[]): string {
  const bounds = policies.some(hasBounds) ? boundColumns : [];
  const groups = [
    { title: "", span: 1 },
    { title: "money", span: 4 },
    ...bounds.map(({ title }) => ({ title, span: spreadTitles.length })),
  ];
  const titles = ["policy", "cost", "saving", "95 %", "with rework", ...bounds.flatMap(() => spreadTitles)];
  const above = groups.map(({ title, span }) => `<th class="group" colspan="${span}">${title}</th>`).join("");
  return table({ above: `<tr>${above}</tr>`, titles, rows: policies.map((policy) => moneyRow(policy, bounds)) });
}

const spreadTitles = ["mean", "median", "p90", "max"];

interface BoundColumn {
  readonly title: string;
  readonly figure: "overFull" | "overClearOnly";
}

const boundColumns: readonly BoundColumn[] = [
  { title: "over the best", figure: "overFull" },
  { title: "over clearing alone", figure: "overClearOnly" },
];

function moneyRow(policy: PolicySummary, bounds: readonly BoundColumn[]): string {
  const { saving, savingWithRework, failedSessions, sessions } = policy;
  const tone = saving === undefined ? "" : saving.low > 0 ? "good" : saving.high < 0 ? "bad" : "";
  const cells = [
    formatMillions(policy.cost),
    `<span class="${tone}">${saving === undefined ? noFigure : formatPercent(saving.estimate)}</span>`,
    saving === undefined ? noFigure : formatRange(saving),
    savingWithRework === undefined ? noFigure : formatPercent(savingWithRework.estimate),
    ...bounds.flatMap(({ figure }) => formatRatios(policy[figure])),
  ];
  const failed = `<br><small>fails in ${formatRounded(failedSessions)} of ${formatRounded(failedSessions + sessions)}</small>`;
  const name = `${escapeHtml(policy.policy)}${failedSessions === 0 ? "" : failed}`;
  return `<tr${failedSessions === 0 ? "" : ` class="failed"`}>${[name, ...cells].map((cell) => `<td>${cell}</td>`).join("")}</tr>`;
}

const actionsTable = (policies: readonly PolicySummary[]): string =>
  table({
    above: "",
    titles: ["policy", "edits", "compactions", "refetched", "peak", "refused"],
    rows: policies.map(({ policy, edits, compactions, refetched, peakContext, refused }) => {
      const cells = [edits, compactions, refetched, peakContext, refused].map(formatRounded);
      return `<tr>${[escapeHtml(policy), ...cells].map((cell) => `<td>${cell}</td>`).join("")}</tr>`;
    }),
  });

interface Table {
  /** Header rows above the titles. */
  readonly above: string;
  readonly titles: readonly string[];
  readonly rows: readonly string[];
}

const table = ({ above, titles, rows }: Table): string =>
  `<table><thead>${above}<tr>${titles.map((title) => `<th>${title}</th>`).join("")}</tr></thead><tbody>${rows.join("")}</tbody></table>`;

/** A small plot for each policy with the baseline in the background, because a dozen lines in one plot would hide each other. */
function contextSection({ file, rounds, lines }: PlottedSession, baseline: string): string {
  const tokens = lines.reduce(
    (most, { contextByRound }) => contextByRound.reduce((high, size) => Math.max(high, size), most),
    1,
  );
  const baselineLines = lines.filter(({ policy }) => policy === baseline);
  const plots = lines
    .filter(({ policy }) => policy !== baseline || lines.length === 1)
    .map((line) => {
      const plot = drawLinePlot({
        title: `Tokens of each request under ${line.policy}`,
        lines: [...baselineLines.map((other) => toPlotLine(other, "--behind")), toPlotLine(line, "--header")],
        xMax: rounds - 1,
        yMax: niceCeiling(tokens),
        yText: (value) => `${Math.round(value / 1_000)}K`,
      });
      return `<figure><figcaption>${escapeHtml(line.policy)}</figcaption>${plot}</figure>`;
    });
  const name = file.split(/[\\/]/).at(-1) ?? file;
  const caption = `<p class="note">Tokens of each request by round; ${escapeHtml(baseline)} in grey.</p>`;
  return `<h3>${escapeHtml(name)}, ${formatRounded(rounds)} rounds</h3>\n${caption}\n${card(`<div class="plots">${plots.join("")}</div>`)}`;
}

const toPlotLine = ({ policy, contextByRound }: PlottedLine, colour: string): PlotLine => ({
  name: policy,
  colour,
  values: contextByRound,
});

const legend = (entries: readonly { readonly name: string; readonly colour: string }[]): string =>
  `<ul class="legend">${entries.map(({ name, colour }) => `<li><i style="background:var(${colour})"></i>${escapeHtml(name)}</li>`).join("")}</ul>`;

const card = (body: string): string => `<div class="card">${body}</div>`;

const formatRounded = (value: number): string => Math.round(value).toLocaleString("en-US");

const definitions = `<h2>What the figures are</h2>
<dl>
<dt>cost</dt><dd>input as the cache bills it, results fetched again after they were cleared, output of compactions</dd>
<dt>with rework</dt><dd>the saving if every compaction is charged for the information that summaries lose</dd>
<dt>over the best</dt><dd>cost without refetching, divided by the lower bound for a policy that knows the whole session: clearing and compacting, or clearing alone; no bound is known under auto prices or with extracted summaries</dd>
<dt>refetched</dt><dd>results that were needed again after they were cleared</dd>
<dt>peak</dt><dd>tokens of the largest request</dd>
<dt>refused</dt><dd>requests that the API would refuse</dd>
</dl>`;

/** Light and dark, printable. The colours of the parts are distinguishable with red-green colour blindness. */
const reportStyle = `
:root{color-scheme:light dark;--ink:#1d2126;--faint:#5c6670;--paper:#fbfaf7;--card:#fff;--line:#dedad0;--good:#1f7a4d;--bad:#b3401a;--header:#0b5a8a;--written:#d1660a;--output:#a33a86;--refetch:#b3261e;--read:#4aa9b5;--behind:#b4b8bd}
@media (prefers-color-scheme:dark){:root{--ink:#e4e2dc;--faint:#9aa2aa;--paper:#16181b;--card:#1d2024;--line:#34383d;--good:#6fcf97;--bad:#ef8a62;--header:#6db8ea;--written:#f2a154;--output:#e08fc8;--refetch:#f2665a;--read:#3f8c98;--behind:#5d636a}}
*{box-sizing:border-box}
body{margin:0;background:var(--paper);color:var(--ink);font:16px/1.55 ui-sans-serif,system-ui,"Segoe UI",Roboto,"Noto Sans",sans-serif}
main{max-width:76rem;margin:0 auto;padding:2rem 1.25rem 5rem}
h1{font-size:1.6rem;line-height:1.25;margin:0 0 .5rem}
h2{font-size:1.3rem;margin:2.5rem 0 .5rem}
h3{font-size:1rem;margin:1.75rem 0 .4rem}
p{margin:.4rem 0;max-width:48rem}.note{color:var(--faint);font-size:.9rem}
.card{border:1px solid var(--line);border-radius:.5rem;background:var(--card);padding:.9rem;overflow-x:auto}
table{border-collapse:collapse;width:100%;font-size:.8rem;font-variant-numeric:tabular-nums}
th,td{padding:.3rem .4rem;text-align:right;white-space:nowrap;border-bottom:1px solid var(--line)}
thead th{color:var(--faint);font-weight:600;vertical-align:bottom}
th:first-child,td:first-child{text-align:left}
tr:last-child td{border-bottom:0}.group{border-bottom:0;text-align:center}
.good{color:var(--good)}.bad{color:var(--bad)}.failed td{color:var(--faint)}
svg{display:block;width:100%;height:auto;font:12px ui-sans-serif,system-ui,sans-serif}
svg text{fill:var(--ink)}svg .end{text-anchor:end}svg .middle{text-anchor:middle}
svg .grid{stroke:var(--line)}svg .axis{stroke:var(--faint);stroke-dasharray:3 3}
ul.legend{display:flex;flex-wrap:wrap;gap:.2rem 1rem;list-style:none;margin:.6rem 0 0;padding:0;font-size:.85rem}
ul.legend i{display:inline-block;width:.8rem;height:.8rem;border-radius:.2rem;margin-right:.35rem;vertical-align:-.08rem}
figure{margin:0}figcaption{font-size:.85rem;font-weight:600;text-align:center}
.plots{display:grid;grid-template-columns:repeat(auto-fill,minmax(19rem,1fr));gap:1rem}
dl{display:grid;grid-template-columns:max-content 1fr;gap:.2rem 1rem;font-size:.9rem}dt{font-weight:600}dd{margin:0;color:var(--faint)}
@media print{body{background:#fff;color:#000;font-size:10pt}main{max-width:none;padding:0}.card{break-inside:avoid}}
`.trim();

/** A session whose context is drawn over its rounds. */
interface PlottedSession {
  readonly file: string;
  readonly rounds: number;
  readonly lines: readonly PlottedLine[];
}

interface PlottedLine {
  readonly policy: string;
  readonly contextByRound: readonly number[];
}

interface SessionPicker {
  /** All outcomes of one file. */
  add(outcomes: readonly ReplayOutcome[]): void;
  sessions(): readonly PlottedSession[];
}

/** Keeps the sessions with the most tokens sent at one price table, because the policies differ most there. */
export function pickSessions(sessionsMax: number): SessionPicker {
  let kept: readonly { readonly size: number; readonly session: PlottedSession }[] = [];
  return {
    add: (outcomes) => {
      const [first] = outcomes;
      if (first === undefined) return;
      const lines = outcomes
        .filter(({ prices }) => prices === first.prices)
        .map(({ policy, contextByRound }) => ({ policy, contextByRound }));
      const size = Math.max(...lines.map(({ contextByRound }) => sum(contextByRound)));
      kept = [...kept, { size, session: { file: first.file, rounds: first.rounds, lines } }]
        .toSorted((a, b) => b.size - a.size)
        .slice(0, sessionsMax);
    },
    sessions: () => kept.map(({ session }) => session),
  };
}
