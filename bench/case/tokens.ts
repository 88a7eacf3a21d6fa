import { readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { nextCallErrors, quantile } from "../../test/fixture/next-call.ts";
import { entryId } from "../../packages/palimpsest/src/schema/brand.ts";
import { TokenLedger } from "../../packages/palimpsest/src/tokens/token-ledger.ts";
import { Fold } from "../../packages/palimpsest/src/transcript/fold.ts";
import { type LoggedEntry, readLines } from "../../packages/palimpsest/src/transcript/read-lines.ts";
import { GeneratedLog } from "../generated-log.ts";
import { type BenchCase, type Figure, median, timed } from "../measure.ts";
import { parsed } from "../parsed-line.ts";

const corpus = resolve(
  process.env["PALIMPSEST_CORPUS"] ?? join(import.meta.dirname, "../../../shared/corpus"),
  "claude-code",
);
const millionTokenBytes = 4_000_000;
const repeats = 15;

/** How well the size of the next call is estimated, and what the estimate costs. */
export const tokensCase: BenchCase = {
  name: "tokens",
  run: async () => [...accuracy(), ...cost()],
};

function accuracy(): Figure[] {
  const files = filesIn(corpus);
  if (files.length === 0) return [];
  const all = files.map((file) =>
    nextCallErrors(readLines({ bytes: readFileSync(file), start: 0, last: true }).logged),
  );
  const rows = {
    calibrated: all.flatMap((errors) => errors.calibrated),
    "not calibrated": all.flatMap((errors) => errors.uncalibrated),
    "characters / 4": all.flatMap((errors) => errors.naive),
  };
  return Object.entries(rows).flatMap(([name, errors]): Figure[] => {
    const limited = name === "calibrated";
    const detail = `${errors.length} calls of ${files.length} sessions; p1 ${percent(quantile(errors, 0.01))}, median ${percent(quantile(errors, 0.5))}, p99 ${percent(quantile(errors, 0.99))}`;
    return [
      {
        name: `${name}: under at p99`,
        value: -100 * quantile(errors, 0.01),
        unit: "%",
        ...(limited ? { limit: 5 } : {}),
        detail,
      },
      {
        name: `${name}: off at the median`,
        value: 100 * quantile(errors.map(Math.abs), 0.5),
        unit: "%",
        ...(limited ? { limit: 3 } : {}),
        detail,
      },
    ];
  });
}

const percent = (share: number): string => `${(100 * share).toFixed(2)} %`;

function filesIn(folder: string): string[] {
  try {
    return readdirSync(folder).map((name) => join(folder, name));
  } catch {
    // Without a corpus the figures are left out.
    return [];
  }
}

function cost(): Figure[] {
  const logged = generated(millionTokenBytes);
  const ledger = new TokenLedger();
  const fold = new Fold({ watch: ledger });
  fold.appendAll(logged);
  const messages = fold.messages;
  const recount: number[] = [];
  const stringify: number[] = [];
  for (let repeat = 0; repeat < repeats; repeat += 1) {
    stringify.push(timed(() => void JSON.stringify(messages)));
    recount.push(
      timed(
        () =>
          void recounted(
            messages.flatMap((message) => message.content),
            ledger,
          ),
      ),
    );
  }
  const short = appendCosts(1_000);
  const long = appendCosts(100_000);
  return [
    {
      name: "full recount of a view of 4 MB over JSON.stringify of it",
      value: median(recount) / median(stringify),
      unit: "×",
      limit: 1,
      detail: `recount ${median(recount).toFixed(1)} ms, stringify ${median(stringify).toFixed(1)} ms, medians of ${repeats}`,
    },
    {
      name: "append with counting, 100,000 entries over 1,000",
      value: long / short,
      unit: "×",
      limit: 1.5,
      detail: `${long.toFixed(2)} µs against ${short.toFixed(2)} µs, medians of 2,000 appends, line parsed each time`,
    },
  ];
}

function recounted(blocks: readonly Parameters<TokenLedger["shown"]>[0][], like: TokenLedger): number {
  const ledger = new TokenLedger({ learned: like.learned });
  ledger.reset(-1, "anew");
  for (const block of blocks) ledger.shown(block, entryId("e"));
  return ledger.size.tokens;
}

function appendCosts(size: number): number {
  const log = new GeneratedLog();
  const lines: string[] = [];
  while (lines.length < size + 2_000) lines.push(...log.round(312));
  const fold = new Fold({ watch: new TokenLedger() });
  fold.appendAll(lines.slice(0, size).map(parsed));
  return median(lines.slice(size, size + 2_000).map((line) => 1000 * timed(() => void fold.append(parsed(line)))));
}

function generated(bytes: number): LoggedEntry[] {
  const log = new GeneratedLog();
  const lines: string[] = [];
  for (let size = 0; size < bytes;) {
    for (const line of log.round(4_000)) {
      lines.push(line);
      size += line.length;
    }
  }
  return lines.map(parsed);
}
