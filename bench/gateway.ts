import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { loadavg } from "node:os";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { z } from "zod";
import { filledPage, type Row } from "../scripts/doc-tables.ts";
import { BenchChild } from "./gateway/child.ts";
import { conditions } from "./measure.ts";

/**
 * `npm run bench:gateway [-- <rounds> <idle conversations>]`: what the gateway costs. Clients, upstream and each proxy are processes of their own.
 * Every body goes to the upstream directly, through a plain pass-through and through two gateways, one after the other with a pause, in an
 * order that rotates. Then 10,000 short conversations are opened and left alone. Prints the tables and writes them into
 * docs/gateway.md, and what was measured into .bench/gateway.json. Exits with 1 if a limit is missed.
 */
const rounds = Number(process.argv[2] ?? "60");
const warmUpRounds = 25;
const conversations = 10;
/** At the beginning. They grow by some 8 KB a round: to 1 MB on average over the rounds that count. */
const bodyBytes = 540_000;
const idleConversations = Number(process.argv[3] ?? "10000");
/** The gateway closes a conversation that was idle for 30 s, and looks for them at half of that. */
const idleWaitMs = 50_000;
/** What a gateway keeps of requests that were answered would grow with their number. */
const limits = { addedRatio: 2, rssBytes: 1e9 };

const started = z.object({ url: z.string() });
const grown = z.object({
  times: z.array(z.object({ firstByteMs: z.array(z.number()), lastByteMs: z.array(z.number()) })),
  bodyBytes: z.number(),
});
const failures = z.object({ failures: z.number() });

async function start(name: string, file: string, ...args: readonly string[]) {
  const { child, said } = await BenchChild.start(file, args);
  return { name, child, url: started.parse(said).url };
}

type Target = Awaited<ReturnType<typeof start>>;

interface TargetFigures {
  readonly name: string;
  readonly firstP50: number;
  readonly firstP99: number;
  readonly lastP50: number;
  readonly lastP99: number;
  readonly cpuSecondsPer1000: number;
  readonly rssBytes: number;
}

const upstream = await start("direct", "upstream-process.ts");
const targets = [
  upstream,
  await start("plain pass-through", "pass-through-process.ts", upstream.url),
  await start("gateway, all fits", "gateway-process.ts", upstream.url),
  await start("gateway, window of 200,000", "gateway-process.ts", upstream.url, "200000"),
];
const { child: load } = await BenchChild.start("load-process.ts");
const { figures, bytes } = await measureTimes();
console.error(figures);
const idle = await measureIdle();
const failed = await Promise.all(
  targets.slice(2).map(async ({ child }) => failures.parse(await child.ask({ kind: "facts" }))),
);
for (const { child } of targets) await child.stop();
await load.stop();

const [direct, plain] = figures;
if (direct === undefined || plain === undefined) throw new Error("nothing was measured");
const ratio = (one: TargetFigures, key: "lastP50" | "lastP99"): number =>
  (one[key] - direct[key]) / (plain[key] - direct[key]);
const shown = {
  ...conditions(),
  measured: new Date().toISOString().slice(0, 10),
  "load average": loadavg()
    .map((one) => one.toFixed(1))
    .join(", "),
  load: `${conversations} conversations in turn, ${rounds} requests each to each target after ${warmUpRounds} that do not count, one at a time, 10 ms apart; bodies of ${(bytes / 1e6).toFixed(1)} MB on average, each a call and a result larger than the one before; replies of 200 events, each written alone`,
};
const tables = {
  "gateway times": timeRows(),
  "gateway memory": memoryRows(),
  "gateway conditions": [["condition", "value"], ...Object.entries(shown)],
};
for (const rows of Object.values(tables)) console.log(`\n${rows.map((row) => row.join(" | ")).join("\n")}`);
const root = join(import.meta.dirname, "..");
mkdirSync(join(root, ".bench"), { recursive: true });
writeFileSync(
  join(root, ".bench/gateway.json"),
  `${JSON.stringify({ conditions: shown, figures, idle }, undefined, 2)}\n`,
);
const page = join(root, "docs/gateway.md");
writeFileSync(page, filledPage(readFileSync(page, "utf8"), tables));
const isMissed =
  [idle, ...figures.slice(2)].some(({ rssBytes }) => rssBytes > limits.rssBytes) ||
  failed.some(({ failures: count }) => count > 0) ||
  figures
    .slice(2)
    .some((one) => !(ratio(one, "lastP50") <= limits.addedRatio && ratio(one, "lastP99") <= limits.addedRatio));
process.exitCode = isMissed ? 1 : 0;

async function measureTimes(): Promise<{ readonly figures: readonly TargetFigures[]; readonly bytes: number }> {
  await load.ask({ kind: "begin", urls: targets.map(({ url }) => url), conversations, bytes: bodyBytes });
  await load.ask({ kind: "grow", rounds: warmUpRounds });
  const before = await measureUsage(targets);
  const { times, bodyBytes: sent } = grown.parse(await load.ask({ kind: "grow", rounds }));
  const after = await measureUsage(targets);
  const requests = rounds * conversations;
  const measured = targets.map(({ name }, at) => {
    const { firstByteMs = [], lastByteMs = [] } = times[at] ?? {};
    const seconds = (after[at]?.cpuSeconds ?? NaN) - (before[at]?.cpuSeconds ?? NaN);
    return {
      name,
      firstP50: quantile(firstByteMs, 0.5),
      firstP99: quantile(firstByteMs, 0.99),
      lastP50: quantile(lastByteMs, 0.5),
      lastP99: quantile(lastByteMs, 0.99),
      // The upstream answers the requests of all targets.
      cpuSecondsPer1000: ((seconds / requests) * 1_000) / (at === 0 ? targets.length : 1),
      rssBytes: after[at]?.rssBytes ?? NaN,
    };
  });
  return { figures: measured, bytes: sent / requests };
}

/** After a moment: what a gateway does behind a reply belongs to it. */
async function measureUsage(of: readonly Target[]) {
  await wait(1_000);
  return await Promise.all(of.map(({ child }) => child.usage()));
}

async function measureIdle() {
  const gateway = await start("idle", "gateway-process.ts", upstream.url);
  await load.ask({ kind: "open", url: gateway.url, first: 0, conversations: 100, parallel: 8 });
  await wait(idleWaitMs);
  const before = await gateway.child.usage();
  await load.ask({ kind: "open", url: gateway.url, first: 100, conversations: idleConversations, parallel: 8 });
  const opened = await gateway.child.usage();
  await wait(idleWaitMs);
  const after = await gateway.child.usage();
  await gateway.child.stop();
  return {
    rssBytes: after.rssBytes,
    rssBytesOpened: opened.rssBytes,
    rssBytesBefore: before.rssBytes,
    heapBytesPerConversation: (after.heapBytes - before.heapBytes) / idleConversations,
  };
}

function timeRows(): readonly Row[] {
  return [
    [
      "target",
      "first byte p50, p99",
      "last byte p50, p99",
      "added p50, p99",
      "over the pass-through's",
      "processor s per 1,000",
      "RSS",
    ],
    ...figures.map((one, at) => [
      one.name,
      `${formatMs(one.firstP50)}, ${formatMs(one.firstP99)}`,
      `${formatMs(one.lastP50)}, ${formatMs(one.lastP99)}`,
      at === 0
        ? "–"
        : `${formatMs(one.lastP50 - (figures[0]?.lastP50 ?? NaN))}, ${formatMs(one.lastP99 - (figures[0]?.lastP99 ?? NaN))}`,
      at < 2 ? "–" : `${ratio(one, "lastP50").toFixed(1)} ×, ${ratio(one, "lastP99").toFixed(1)} ×`,
      one.cpuSecondsPer1000.toFixed(1),
      `${(one.rssBytes / 1e6).toFixed(0)} MB`,
    ]),
  ];
}

function memoryRows(): readonly Row[] {
  const grownBytes = (idle.rssBytes - idle.rssBytesBefore) / idleConversations;
  return [
    ["figure", "value", "limit"],
    ["RSS before", `${(idle.rssBytesBefore / 1e6).toFixed(0)} MB`, ""],
    ["RSS when the last was opened", `${(idle.rssBytesOpened / 1e6).toFixed(0)} MB`, ""],
    [
      `RSS with ${idleConversations.toLocaleString("en")} idle conversations`,
      `${(idle.rssBytes / 1e6).toFixed(0)} MB`,
      "1,000 MB",
    ],
    ["RSS for each", `${(grownBytes / 1e3).toFixed(1)} kB`, ""],
    ["heap for each", `${(idle.heapBytesPerConversation / 1e3).toFixed(1)} kB`, ""],
  ];
}

function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((one, other) => one - other);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? NaN;
}

function formatMs(ms: number): string {
  return `${ms.toFixed(1)} ms`;
}
