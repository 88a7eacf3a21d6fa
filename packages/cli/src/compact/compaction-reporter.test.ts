import { PassThrough } from "node:stream";
import { describe, expect, it } from "vitest";
import { entryId, nanoUsd, tokens } from "palimpsest/internal/schema/brand";
import type { LoopEvent } from "palimpsest/internal/schema/loop-event";
import { createOutput } from "../program/output.ts";
import { compactionReporter, type CompactionReporterInput } from "./compaction-reporter.ts";

const plain: CompactionReporterInput = { answerer: "provider", pins: () => 0, ownPrompt: async () => undefined };

interface Heard extends Partial<CompactionReporterInput> {
  readonly stream?: PassThrough;
}

async function heard(
  { stream = new PassThrough(), ...telling }: Heard,
  ...events: readonly LoopEvent[]
): Promise<string> {
  const tell = compactionReporter({ err: createOutput(stream, { NO_COLOR: "1" }) }, { ...plain, ...telling });
  for (const event of events) await tell(event);
  return String(stream.read() ?? "");
}

const toPipe = (...events: readonly LoopEvent[]): Promise<string> => heard({}, ...events);
const toTerminal = (...events: readonly LoopEvent[]): Promise<string> =>
  heard({ stream: Object.assign(new PassThrough(), { isTTY: true }) }, ...events);

const start: LoopEvent = { kind: "compaction-start", trigger: "auto", cause: "threshold", tokens: tokens(171_200) };
const progress = (chars: number): LoopEvent => ({ kind: "compaction-progress", phase: "fork", chars });
const compacted: Extract<LoopEvent, { kind: "compacted" }> = {
  kind: "compacted",
  trigger: "auto",
  cause: "threshold",
  path: "fork",
  tokensBefore: tokens(171_200),
  tokensAfter: tokens(12_300),
  auditScore: 0.999,
  entries: [entryId("b")],
  price: { writeRate: 1.25, readRate: 0.1, now: 1, perRound: 1 },
  costNanos: nanoUsd(12_300_000),
};

describe("what the user is told of compactions", () => {
  it("a line at the start and one at the end, with tokens, path, audit and cost", async () => {
    expect(await toPipe(start, compacted)).toBe(
      "compacting (threshold): about 171,200 tokens\n" +
        "compacted (threshold): 171,200 → 12,300 tokens, by a fork of the conversation, audit 99%, $0.0123\n",
    );
  });

  it("why no model wrote it, and no cost that nobody knows", async () => {
    const { costNanos: _known, ...unpriced } = compacted;
    const said = await toPipe({ ...unpriced, path: "extractive", instead: "the model\ncan't be reached." });
    expect(said).toContain("without a model (the model can't be reached), audit 99%\n");
  });

  it("in a pipe a phase is one line, however often it is told", async () => {
    expect(await toPipe(progress(0), progress(500), progress(900))).toBe("the model summarises\n");
  });

  it("at a terminal the line stands in place, and is gone before the next one is written", async () => {
    const said = await toTerminal(progress(0), progress(1500), compacted);
    expect(said).toContain("\r\u001B[Kthe model summarises: 1,500 characters\r\u001B[Kcompacted (threshold)");
  });

  it("a failure says what to do, and when no model is asked any more", async () => {
    const failed = { kind: "compaction-failed", trigger: "auto", reason: "still_over", message: "Too much." } as const;
    const said = await toPipe({ ...failed, state: "trying" }, { ...failed, state: "degraded" });
    expect(said).toMatch(/^warning: not compacted \(still_over\): Too much\. `palimpsest context` names.*\n/);
    expect(said).toMatch(/Too much\. No model is asked for summaries for the time being\. `palimpsest context`/);
  });

  it("nothing of other events", async () => {
    expect(await toPipe({ kind: "text-delta", text: "hello" })).toBe("");
  });

  it("where nobody can be asked, no phase says that a model summarises", async () => {
    const extract: LoopEvent = { kind: "compaction-progress", phase: "extract", chars: 0 };
    const stream: LoopEvent = { kind: "compaction-progress", phase: "stream", chars: 0 };
    expect(await heard({ answerer: "none" }, progress(0), stream, extract)).toBe(
      "putting a summary together without a model\n",
    );
  });

  it("money that nobody pays is marked", async () => {
    expect(await heard({ answerer: "simulator" }, compacted)).toMatch(/, \$0\.0123 \(simulated\)\n$/);
  });

  it("only where something is pinned, unpinning is advised", async () => {
    const failed = { kind: "compaction-failed", trigger: "auto", reason: "still_over", message: "Too much." } as const;
    expect(await heard({ pins: () => 0 }, { ...failed, state: "trying" })).not.toContain("unpin");
    expect(await heard({ pins: () => 2 }, { ...failed, state: "trying" })).toContain("unpin some of it");
  });

  it("the user's own prompt is warned of once, and named where no summary came of it", async () => {
    const ownPrompt = async () => ({ path: "/h/compact.md", problems: ["/h/compact.md: it does not ask"] });
    const failed = { kind: "compaction-failed", trigger: "auto", reason: "no_summary", message: "None." } as const;
    const said = await heard({ ownPrompt }, start, { ...failed, state: "trying" }, start);
    expect(said.match(/^warning: \/h\/compact\.md: it does not ask$/gm)).toHaveLength(1);
    expect(said).toContain("not compacted (no_summary): None. The prompt is your own, /h/compact.md:");
  });
});
