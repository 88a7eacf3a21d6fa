/** Computes a replay's bill again, without Palimpsest: node examples/check-replay.ts <file>.trace.jsonl */
import { readFileSync } from "node:fs";
import { z } from "zod";

const millis = { "5m": 5 * 60_000, "1h": 60 * 60_000 };
const shape = z.object({
  policy: z.string(),
  prices: z.string(),
  kind: z.enum(["round", "compaction", "notes"]),
  call: z.enum(["fork", "plain"]).optional(),
  round: z.number(),
  at: z.number(),
  cacheEvents: z.array(z.enum(["header-shared"])).default([]),
  blocks: z.array(z.tuple([z.number(), z.number()])),
  marks: z.array(z.tuple([z.number(), z.enum(["5m", "1h"])])),
  usage: z.object({ inputTokens: z.number(), cacheReadTokens: z.number() }),
});

/** The cache: expiry by run and prefix. A prefix is named by the one before it and its last block. */
const cached = new Map<string, { until: number; life: number }>();
const prefixes = new Map<string, number>();
const different = new Set<number>();
let lastRound = "";

const lines = readFileSync(process.argv[2] ?? "", "utf8")
  .trimEnd()
  .split("\n");
for (const [n, line] of lines.entries()) {
  const { policy, prices, kind, call, round, at, cacheEvents, blocks, marks, usage } = shape.parse(JSON.parse(line));
  const [keys, tokensUpTo] = [[""], [0]];
  for (const [id, tokens] of blocks) {
    const step = `${keys.at(-1)} ${id}`;
    prefixes.set(step, prefixes.get(step) ?? prefixes.size);
    keys.push(`${policy} ${prices} ${prefixes.get(step)}`);
    tokensUpTo.push((tokensUpTo.at(-1) ?? 0) + tokens);
  }
  // Events come before the first request of a round: another session has written the beginning of the header.
  const isNewRound = lastRound !== `${policy} ${prices} ${round}`;
  lastRound = `${policy} ${prices} ${round}`;
  const isLive = (end: number): boolean => (cached.get(keys[end] ?? "")?.until ?? at) > at;
  if (isNewRound && cacheEvents.includes("header-shared") && !isLive(1)) {
    const shared = millis[prices === "1h" ? "1h" : "5m"];
    cached.set(keys[1] ?? "", { life: shared, until: at + shared });
  }
  // A mark reads the longest live prefix, at most 20 blocks back, and so extends its lifetime.
  const reads = marks.flatMap(([mark]) => {
    const ends = Array.from({ length: Math.min(20, mark + 1) }, (_, back) => mark + 1 - back);
    return ends.find(isLive) ?? [];
  });
  // Compactions and notes write nothing, and read only if they are requested as the conversation's next message.
  const isRound = kind === "round";
  const read = isRound || call === "fork" ? Math.max(0, ...reads) : 0;
  const last = isRound ? Math.max(read, ...marks.map(([mark]) => mark + 1)) : read;
  const inputTokens = (tokensUpTo.at(-1) ?? 0) - (tokensUpTo[last] ?? 0);
  if (usage.cacheReadTokens !== tokensUpTo[read] || usage.inputTokens !== inputTokens) different.add(n);
  if (!isRound) continue;
  for (const end of reads) {
    const { life } = cached.get(keys[end] ?? "") ?? { life: 0 };
    cached.set(keys[end] ?? "", { life, until: at + life });
  }
  for (const [mark, lifetime] of marks)
    if (mark + 1 > read) cached.set(keys[mark + 1] ?? "", { life: millis[lifetime], until: at + millis[lifetime] });
}
console.log(`${lines.length} requests, ${different.size} billed differently`);
