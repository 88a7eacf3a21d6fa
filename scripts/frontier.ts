import { writeFileSync } from "node:fs";
import { resolve } from "node:path";
import { PolicyRun } from "../packages/lab/src/policy-run.ts";
import { breakpointCache } from "../packages/lab/src/replay-cache.ts";
import { thresholdsFor } from "../packages/lab/src/replay-file.ts";
import { createReplayWorld, type ReplayWorld } from "../packages/lab/src/replay-world.ts";
import { reworkTokens } from "../packages/lab/src/limits.ts";
import type { EarlyCompactRule, Policy } from "../packages/palimpsest/src/layers/policy.ts";
import type { PriceRule } from "../packages/palimpsest/src/cache/clear-price.ts";
import { getPreset, policyCatalogue, resolvePolicy } from "../packages/palimpsest/src/policy/policy-catalogue.ts";
import { savingLevels } from "../packages/palimpsest/src/schema/policy-names.ts";
import { recordingsBelow } from "./need-table.ts";

/**
 * What restraint costs: replays of the default policy with more and more of it, over recorded sessions.
 * `node scripts/frontier.ts <folder> [<picture.svg>]` prints the table of docs/benchmarks.md and draws it.
 */
const prices = ["5m", "1h", "auto"] as const;
type PriceName = (typeof prices)[number];

/** Shorter sessions have nothing to save. */
const roundsMin = 20;

export interface SessionFigures {
  readonly session: number;
  readonly rounds: number;
  readonly cost: number;
  readonly edits: number;
  readonly refetched: number;
  readonly compactions: number;
}

interface Variant {
  readonly label: string;
  readonly family: "nothing" | "warm" | "cold" | "before";
  /** The setting of the dial, if it is one. */
  readonly saving?: string;
  readonly policy: Policy;
}

const palimpsest = getPreset("palimpsest");
const never = policyCatalogue().find(({ name }) => name === "never") ?? palimpsest;

function vary(clear: Partial<PriceRule>, early: Partial<EarlyCompactRule>): Policy {
  const { byPrice } = palimpsest.clear;
  const { compact } = palimpsest;
  if (byPrice === undefined || compact?.early === undefined) throw new Error("the default prices");
  return {
    ...palimpsest,
    clear: { ...palimpsest.clear, byPrice: { ...byPrice, ...clear } },
    compact: { ...compact, early: { ...compact.early, ...early } },
  };
}

const warmRule = resolvePolicy("palimpsest", "thrifty").clear.byPrice ?? {};
const shares = [0, 0.25, 0.35, 0.45, 0.55, 0.65, 0.75] as const;
const percent = (share: number): string => `${Math.round(100 * share)} %`;

const variants: readonly Variant[] = [
  { label: "never clear, compact at the threshold", family: "nothing", policy: never },
  {
    label: "whatever pays, as before the dial",
    family: "before",
    policy: vary(
      { patience: 0.3, riskWeight: 1, worth: { windowShareMin: { warm: 0, cold: 0 }, savesMin: 0 } },
      { patience: { first: 1.5, later: 1.5 }, fromWindowShare: 0, whenCold: "if-it-pays" },
    ),
  },
  ...savingLevels.map((saving): Variant => ({
    label: saving,
    family: saving === "thrifty" ? "warm" : "cold",
    saving,
    policy: resolvePolicy("palimpsest", saving),
  })),
  ...shares.map((fromWindowShare): Variant => ({
    label: `cold clearing, compaction from ${percent(fromWindowShare)}`,
    family: "cold",
    policy: vary({}, { fromWindowShare }),
  })),
  ...shares.map((fromWindowShare): Variant => ({
    label: `warm clearing too, compaction from ${percent(fromWindowShare)}`,
    family: "warm",
    policy: vary(warmRule, { fromWindowShare }),
  })),
];

async function replay(
  world: ReplayWorld,
  policy: Policy,
  price: PriceName,
): Promise<Omit<SessionFigures, "session"> | undefined> {
  const run = new PolicyRun({
    world,
    policy,
    lifetime: price === "auto" ? "chosen" : price,
    thresholds: thresholdsFor(policy, { world, request: { windowTokens: undefined } }),
    cache: breakpointCache(world.model.cachePrefixTokensMin),
    refetch: "charged",
    compaction: "stand-in",
  });
  await run.run();
  const { edits, refetched, compactions } = run;
  if (run.failedAt !== undefined) return undefined;
  return { rounds: world.recording.rounds.length, cost: run.spending.cost, edits, refetched, compactions };
}

export interface FrontierRow {
  readonly saving: number;
  readonly savingWithRework: number;
  /** Each for 100 rounds. */
  readonly edits: number;
  readonly refetched: number;
  readonly compactions: number;
  /** Share of the sessions that cost more than the baseline. */
  readonly dearer: number;
  /** By how much the worst one does. */
  readonly worst: number;
}

/** Over the sessions that both completed. */
export function compare(sessions: readonly SessionFigures[], baseline: readonly SessionFigures[]): FrontierRow {
  const baselineById = new Map(baseline.map((figures) => [figures.session, figures]));
  const pairs = sessions.flatMap((figures) => {
    const base = baselineById.get(figures.session);
    return base === undefined ? [] : [{ figures, base }];
  });
  const sum = (of: (pair: (typeof pairs)[number]) => number): number =>
    pairs.reduce((total, pair) => total + of(pair), 0);
  const rounds = sum(({ figures }) => figures.rounds);
  const withRework = ({ cost, compactions }: SessionFigures): number => cost + reworkTokens * compactions;
  const ratios = pairs.map(({ figures, base }) => figures.cost / base.cost - 1);
  return {
    saving: 1 - sum(({ figures }) => figures.cost) / sum(({ base }) => base.cost),
    savingWithRework: 1 - sum(({ figures }) => withRework(figures)) / sum(({ base }) => withRework(base)),
    edits: (100 * sum(({ figures }) => figures.edits)) / rounds,
    refetched: (100 * sum(({ figures }) => figures.refetched)) / rounds,
    compactions: (100 * sum(({ figures }) => figures.compactions)) / rounds,
    dearer: ratios.filter((ratio) => ratio > 1e-6).length / pairs.length,
    worst: Math.max(0, ...ratios),
  };
}

type Measured = Variant & { readonly rows: Readonly<Record<PriceName, FrontierRow>> };

/** One recording at a time, under every variant. */
async function measure(folder: string): Promise<readonly Measured[]> {
  const figures = new Map<string, SessionFigures[]>();
  const figuresOf = ({ label }: Variant, price: PriceName): SessionFigures[] => {
    const key = `${label} ${price}`;
    const known = figures.get(key) ?? [];
    figures.set(key, known);
    return known;
  };
  let session = 0;
  for await (const recording of recordingsBelow(folder)) {
    if (recording.rounds.length < roundsMin) continue;
    session += 1;
    const world = createReplayWorld(recording);
    for (const price of prices)
      for (const variant of variants) {
        const outcome = await replay(world, variant.policy, price);
        if (outcome !== undefined) figuresOf(variant, price).push({ session, ...outcome });
      }
    console.error(`session ${session}`);
  }
  const [baseline] = variants;
  if (baseline === undefined) throw new Error("there is nothing to compare with");
  return variants.map((variant) => {
    const row = (price: PriceName): FrontierRow => compare(figuresOf(variant, price), figuresOf(baseline, price));
    return { ...variant, rows: { "5m": row("5m"), "1h": row("1h"), auto: row("auto") } };
  });
}

const inPercent = (share: number): string => (100 * share).toFixed(1);
const byPrice = (rows: Measured["rows"], of: (row: FrontierRow) => string): string =>
  prices.map((price) => of(rows[price])).join(" / ");

function printTable(measured: readonly Measured[]): void {
  console.log(
    "| setting | saves, % (5m / 1h / chosen) | with rework | edits | fetched again | compactions | dearer, % | worst, % |\n| --- | --- | --- | --- | --- | --- | --- | --- |",
  );
  for (const { label, saving, rows } of measured) {
    const cells = [
      saving === undefined ? label : `**${label}**`,
      byPrice(rows, (row) => inPercent(row.saving)),
      byPrice(rows, (row) => inPercent(row.savingWithRework)),
      byPrice(rows, (row) => row.edits.toFixed(1)),
      byPrice(rows, (row) => row.refetched.toFixed(1)),
      byPrice(rows, (row) => row.compactions.toFixed(1)),
      byPrice(rows, (row) => (100 * row.dearer).toFixed(0)),
      byPrice(rows, (row) => inPercent(row.worst)),
    ];
    console.log(`| ${cells.join(" | ")} |`);
  }
}

const colors = { nothing: "#888", before: "#b55", warm: "#c80", cold: "#27a" } as const;
const [width, height, margin] = [640, 380, 48];

const text = (px: string, py: string, words: string, more = ""): string =>
  `<text x="${px}" y="${py}" ${more}>${words}</text>`;

/** Compactions for 100 rounds against what is saved at five-minute prices. */
export function drawFrontier(measured: readonly Pick<Measured, "label" | "family" | "saving" | "rows">[]): string {
  const points = measured.map(({ label, family, saving, rows }) => ({ label, family, saving, at: rows["5m"] }));
  const xMax = Math.max(...points.map(({ at }) => at.compactions)) * 1.1;
  const yMax = Math.max(...points.map(({ at }) => at.saving)) * 1.15;
  const x = (compactions: number): string => (margin + ((width - 2 * margin) * compactions) / xMax).toFixed(1);
  const y = (saving: number): string => (height - margin - ((height - 2 * margin) * saving) / yMax).toFixed(1);
  const line = (family: "warm" | "cold"): string => {
    const places = points
      .filter((point) => point.family === family && point.saving === undefined)
      .map(({ at }) => `${x(at.compactions)},${y(at.saving)}`);
    return `<polyline points="${places.join(" ")}" fill="none" stroke="${colors[family]}"/>`;
  };
  const dots = points.map(({ family, saving, label, at }) => {
    const [px, py] = [x(at.compactions), y(at.saving)];
    const isNamed = saving !== undefined || family === "nothing" || family === "before";
    const name = isNamed ? text(px, String(Number(py) - 9), label, 'text-anchor="middle"') : "";
    return `<circle cx="${px}" cy="${py}" r="${isNamed ? 5 : 3}" fill="${colors[family]}"/>${name}`;
  });
  const ticks = [0.1, 0.2, 0.3, 0.4].filter((share) => share < yMax);
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" font-family="sans-serif" font-size="12">`,
    `<rect width="${width}" height="${height}" fill="white"/>`,
    ...ticks.map((share) => text(String(margin - 8), y(share), percent(share), 'text-anchor="end"')),
    ...[1, 2, 3, 4]
      .filter((count) => count < xMax)
      .map((count) => text(x(count), String(height - margin + 18), String(count), 'text-anchor="middle"')),
    `<path d="M${margin} ${margin}V${height - margin}H${width - margin}" fill="none" stroke="#444"/>`,
    text(String(width / 2), String(height - 10), "compactions for 100 rounds", 'text-anchor="middle"'),
    text(String(margin), String(margin - 18), "saved against never clearing, five-minute prices"),
    text(
      String(width - margin),
      String(margin),
      "orange: clearing on a warm cache too; blue: only on a cold one",
      'text-anchor="end"',
    ),
    line("warm"),
    line("cold"),
    ...dots,
    "</svg>\n",
  ].join("\n");
}

if (import.meta.main) {
  const [folder, picture] = process.argv.slice(2);
  if (folder === undefined) throw new Error("name a folder of recorded sessions");
  const measured = await measure(resolve(folder));
  printTable(measured);
  if (picture !== undefined) writeFileSync(picture, drawFrontier(measured));
}
