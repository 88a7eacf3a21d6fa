import { escape } from "palimpsest/internal/export/html";
import { hasBounds, type MoneyBySource, type PolicySummary, type PriceSummary } from "../summary.ts";
import { millions, nothing, percent, range, ratios } from "./figures.ts";
import type { PlottedLine, PlottedSession } from "./plotted.ts";
import { reportStyle } from "./style.ts";
import { type Line, linePlot, niceCeiling, stackedBars, whiskers } from "./svg.ts";

export interface Report {
  readonly summaries: readonly PriceSummary[];
  readonly plotted: readonly PlottedSession[];
  /** What a reader should know of this run: files left out, stopped early. */
  readonly notes: readonly string[];
}

/** Nothing may load or run: the page is its own text. */
const contentPolicy = "default-src 'none'; style-src 'unsafe-inline'";

/** One file that needs nothing else, not even scripts. */
export function renderReport({ summaries, plotted, notes }: Report): string {
  const baseline = summaries[0]?.baseline ?? "";
  return [
    `<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<meta name="viewport" content="width=device-width, initial-scale=1">`,
    `<meta http-equiv="Content-Security-Policy" content="${contentPolicy}">\n<meta name="generator" content="palimpsest">`,
    `<title>Replay</title>\n<style>${reportStyle}</style>\n</head>\n<body>\n<main>\n<h1>Recorded sessions under other policies</h1>`,
    "<p>Money is in tokens at the base input price: one that is not cached costs 1. A saving is the share of the baseline's money in all sessions together, its interval covers 95 % of the results with sessions drawn anew.</p>",
    ...notes.map((note) => `<p class="note">${escape(note)}</p>`),
    ...summaries.map(priceSection),
    ...(plotted.length === 0 ? [] : ["<h2>Context over time</h2>"]),
    ...plotted.map((session) => contextSection(session, baseline)),
    definitions,
    "</main>\n</body>\n</html>\n",
  ].join("\n");
}

function priceSection(summary: PriceSummary): string {
  const { prices, compaction, sessions, rounds, tooShort, hopeless, policies, baseline, recorded } = summary;
  const left = [
    ...(tooShort === 0 ? [] : [` Left out with too few rounds: ${count(tooShort)}.`]),
    ...(hopeless === 0 ? [] : [` Left out, since no policy comes through them: ${count(hopeless)}.`]),
  ].join("");
  const usage =
    recorded === undefined
      ? ""
      : ` The usage recorded in ${count(recorded.sessions)} of them costs ${millions(recorded.cost)}; ${baseline} costs ${millions(recorded.baselineCost)} in the same.`;
  const made = compaction === "stand-in" ? "" : ` Compaction ${compaction}: summaries are made from what was said.`;
  const head = `<h2>${escape(prices)} prices</h2>\n<p>${escape(`${count(sessions)} sessions, ${count(rounds)} rounds.${made}${left}${usage}`)}</p>`;
  if (sessions === 0) return head;
  const compared = policies.filter(({ failedSessions }) => failedSessions === 0);
  return [
    head,
    card(moneyTable(policies)),
    `<h3>${escape(`Saving against ${baseline}`)}</h3>`,
    card(
      whiskers({
        title: `Saving against ${baseline} with 95 % intervals`,
        rows: compared.flatMap(({ policy, saving }) =>
          saving === undefined ? [] : [{ name: policy, ...saving, text: percent(saving.estimate) }],
        ),
      }),
    ),
    "<h3>Money by source</h3>",
    card(
      `${stackedBars({
        title: "Money by source",
        bars: policies.map(({ policy, money, cost }) => ({
          name: policy,
          parts: partsOf(money),
          text: millions(cost),
        })),
      })}${legend(sources)}`,
    ),
    "<h3>What it did</h3>",
    card(deedsTable(policies)),
  ].join("\n");
}

const sources = [
  { name: "header, read from the cache", colour: "--header", figure: "headerRead" },
  { name: "the rest, read from the cache", colour: "--read", figure: "otherRead" },
  { name: "written to the cache, or not cached", colour: "--written", figure: "written" },
  { name: "fetched again after clearing", colour: "--refetch", figure: "refetch" },
  { name: "output of compactions", colour: "--output", figure: "compactionOutput" },
] as const satisfies readonly { name: string; colour: string; figure: keyof MoneyBySource }[];

const partsOf = (money: MoneyBySource) =>
  sources.map(({ name, colour, figure }) => ({
    name: `${name}: ${millions(money[figure])}`,
    colour,
    value: money[figure],
  }));

function moneyTable(policies: readonly PolicySummary[]): string {
  const bounds = policies.some(hasBounds) ? boundColumns : [];
  const groups = [
    { title: "", span: 1 },
    { title: "money", span: 4 },
    ...bounds.map(({ title }) => ({ title, span: spread.length })),
  ];
  const titles = ["policy", "cost", "saving", "95 %", "with rework", ...bounds.flatMap(() => spread)];
  const above = groups.map(({ title, span }) => `<th class="group" colspan="${span}">${title}</th>`).join("");
  return table({ above: `<tr>${above}</tr>`, titles, rows: policies.map((policy) => moneyRow(policy, bounds)) });
}

const spread = ["mean", "median", "p90", "max"];

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
    millions(policy.cost),
    `<span class="${tone}">${saving === undefined ? nothing : percent(saving.estimate)}</span>`,
    saving === undefined ? nothing : range(saving),
    savingWithRework === undefined ? nothing : percent(savingWithRework.estimate),
    ...bounds.flatMap(({ figure }) => ratios(policy[figure])),
  ];
  const failed = `<br><small>fails in ${count(failedSessions)} of ${count(failedSessions + sessions)}</small>`;
  const name = `${escape(policy.policy)}${failedSessions === 0 ? "" : failed}`;
  return `<tr${failedSessions === 0 ? "" : ` class="failed"`}>${[name, ...cells].map((cell) => `<td>${cell}</td>`).join("")}</tr>`;
}

const deedsTable = (policies: readonly PolicySummary[]): string =>
  table({
    above: "",
    titles: ["policy", "edits", "compactions", "refetched", "peak", "refused"],
    rows: policies.map(({ policy, edits, compactions, refetched, peakContext, refused }) => {
      const cells = [edits, compactions, refetched, peakContext, refused].map(count);
      return `<tr>${[escape(policy), ...cells].map((cell) => `<td>${cell}</td>`).join("")}</tr>`;
    }),
  });

interface Table {
  /** Rows of the head above the titles. */
  readonly above: string;
  readonly titles: readonly string[];
  readonly rows: readonly string[];
}

const table = ({ above, titles, rows }: Table): string =>
  `<table><thead>${above}<tr>${titles.map((title) => `<th>${title}</th>`).join("")}</tr></thead><tbody>${rows.join("")}</tbody></table>`;

/** A small plot for each policy with the baseline behind it: a dozen lines in one plot hide each other. */
function contextSection({ file, rounds, lines }: PlottedSession, baseline: string): string {
  const tokens = lines.reduce(
    (most, { contextByRound }) => contextByRound.reduce((high, one) => Math.max(high, one), most),
    1,
  );
  const behind = lines.filter(({ policy }) => policy === baseline);
  const plots = lines
    .filter(({ policy }) => policy !== baseline || lines.length === 1)
    .map((line) => {
      const plot = linePlot({
        title: `Tokens of each request under ${line.policy}`,
        lines: [...behind.map((one) => drawn(one, "--behind")), drawn(line, "--header")],
        xMax: rounds - 1,
        yMax: niceCeiling(tokens),
        yText: (value) => `${Math.round(value / 1_000)}K`,
      });
      return `<figure><figcaption>${escape(line.policy)}</figcaption>${plot}</figure>`;
    });
  const name = file.split(/[\\/]/).at(-1) ?? file;
  const caption = `<p class="note">Tokens of each request by round; ${escape(baseline)} in grey.</p>`;
  return `<h3>${escape(name)}, ${count(rounds)} rounds</h3>\n${caption}\n${card(`<div class="plots">${plots.join("")}</div>`)}`;
}

const drawn = ({ policy, contextByRound }: PlottedLine, colour: string): Line => ({
  name: policy,
  colour,
  values: contextByRound,
});

const legend = (entries: readonly { readonly name: string; readonly colour: string }[]): string =>
  `<ul class="legend">${entries.map(({ name, colour }) => `<li><i style="background:var(${colour})"></i>${escape(name)}</li>`).join("")}</ul>`;

const card = (body: string): string => `<div class="card">${body}</div>`;

const count = (value: number): string => Math.round(value).toLocaleString("en-US");

const definitions = `<h2>What the figures are</h2>
<dl>
<dt>cost</dt><dd>input as the cache bills it, results fetched again after they were cleared, output of compactions</dd>
<dt>with rework</dt><dd>the saving where every compaction is charged for what summaries lose</dd>
<dt>over the best</dt><dd>cost without fetching again, over the lower bound that knew the whole session: clearing and compacting, or clearing alone; under auto prices, and where summaries are made from what was said, no such bound is known</dd>
<dt>refetched</dt><dd>results that were needed again when they were cleared</dd>
<dt>peak</dt><dd>tokens of the largest request</dd>
<dt>refused</dt><dd>requests that the API would not take</dd>
</dl>`;
