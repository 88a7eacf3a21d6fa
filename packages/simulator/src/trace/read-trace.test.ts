import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { asyncLines, type Made, message, promptOf, system, tool, TraceMaker } from "../../../../test/fixture/trace.ts";
import { millis } from "palimpsest/internal/schema/brand";
import type { JsonObject } from "palimpsest/internal/schema/json";
import { formatFault } from "../fault/fault.ts";
import type { Prompt } from "palimpsest/internal/cache/prompt";
import { readTrace, type Trace, type ReadTraceOutcome } from "./read-trace.ts";
import { type TracedRequest, TraceWriter } from "./trace-writer.ts";

const salts = { tools: "t", system: "s", messages: "m" };
const facts = { workspace: "w", model: "claude-opus-5", endpoint: "/v1/messages", betas: [], body: {}, faults: [] };

interface Written {
  readonly prompts: readonly (Prompt | undefined)[];
  readonly request?: (n: number) => Partial<TracedRequest>;
  readonly blocksMax?: number;
}

async function linesOf({ prompts, request, blocksMax }: Written): Promise<string[]> {
  const lines: string[] = [];
  const write = async (line: string): Promise<void> => void lines.push(line);
  const writer = new TraceWriter({ write }, blocksMax);
  await writer.begin({ seed: 1, startedAt: millis(0) });
  for (const [at, prompt] of prompts.entries()) {
    const n = at + 1;
    const told = prompt === undefined ? {} : { prompt };
    await writer.request({ ...facts, n, id: `req_${n}`, at: millis(n), ...told, ...request?.(n) });
  }
  return lines;
}

const reading = (lines: readonly string[]): Promise<ReadTraceOutcome> => readTrace(asyncLines(lines));

async function traceOf(lines: readonly string[]): Promise<Trace> {
  const read = await reading(lines);
  if (read.kind !== "trace") throw new Error(read.message);
  return read.trace;
}

/** What a trace says of a prompt: no chains, the breakpoints with their blocks. */
const toldBlocks = ({ blocks }: Prompt) =>
  blocks.map(({ hash, tokens, path, level, type, breakpoint }) => ({ hash, tokens, path, level, type, breakpoint }));

const readBlocks = ({ blocks, breakpoints }: Trace["requests"][number]) =>
  [...blocks].map((block, at) => ({ ...block, breakpoint: breakpoints.find((mark) => mark.at === at)?.lifetime }));

/** Edits of a conversation: each makes the next request from one of the last ones. */
const anyEdit = fc.record({
  from: fc.nat(20),
  kind: fc.constantFrom("append", "insert", "replace", "remove", "truncate", "again", "fresh"),
  at: fc.nat(12),
  text: fc.constantFrom("a", "b", "c", "d", "e", "\u2028 😀 \n"),
  level: fc.constantFrom(tool, system, message),
  tokens: fc.constantFrom(1, 7),
  mark: fc.constantFrom(undefined, "5m" as const, "1h" as const),
});
type Edit = typeof anyEdit extends fc.Arbitrary<infer One> ? One : never;

function edited(before: readonly Made[], { kind, at, text, level, tokens, mark }: Edit): readonly Made[] {
  const made = level(text, { tokens, ...(mark === undefined ? {} : { mark }) });
  const place = Math.min(at, before.length);
  switch (kind) {
    case "append":
      return [...before, made];
    case "insert":
      return before.toSpliced(place, 0, made);
    case "replace":
      return before.toSpliced(place, 1, made);
    case "remove":
      return before.toSpliced(place, 1);
    case "truncate":
      return before.slice(0, place);
    case "again":
      return before;
    case "fresh":
      return [made];
  }
}

describe("a trace that was written and read again", () => {
  it("has the same requests, whatever was edited and however much was forgotten", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(anyEdit, { maxLength: 60 }), fc.constantFrom(1, 3, 1000), async (edits, blocksMax) => {
        const sent: (readonly Made[])[] = [[]];
        for (const edit of edits) sent.push(edited(sent.at(-1 - (edit.from % sent.length)) ?? [], edit));
        const prompts = sent.map((made) => promptOf(made, salts));
        const trace = await traceOf(await linesOf({ prompts, blocksMax }));
        expect(trace.requests.map(readBlocks)).toEqual(prompts.map(toldBlocks));
        for (const [at, { blocks }] of trace.requests.entries()) {
          expect(blocks.tokensUpTo(blocks.length)).toBe(prompts[at]?.tokens);
          for (const [place, block] of [...blocks].entries()) expect(blocks.at(place)).toBe(block);
        }
      }),
      { numRuns: 200 },
    );
  });

  it("has what was said of a request besides its blocks", async () => {
    const body: JsonObject = { model: "x", system: "s", messages: [], tools: [], max_tokens: 5, stream: null };
    const cache = {
      hit: 0,
      breakpoints: [{ at: 1, found: { at: 0, lifetime: "1h" }, outcome: "written" }],
    } as const;
    const fault = { kind: "break", afterEvents: 2 } as const;
    const request = () => ({ workspace: "mine", betas: ["b"], body, cache, faults: [fault] });
    const [read] = (await traceOf(await linesOf({ prompts: [undefined], request }))).requests;
    expect(read).toMatchObject({
      n: 1,
      id: "req_1",
      at: "1970-01-01T00:00:00.001Z",
      workspace: "mine",
      betas: ["b"],
      base: null,
      cache,
      params: { max_tokens: 5, stream: null },
      faults: [formatFault(fault)],
    });
    expect(read?.salts).toBeUndefined();
    expect(read?.blocks).toHaveLength(0);
  });

  it("has replies with their requests, also those that came behind later requests", async () => {
    const lines: string[] = [];
    const writer = new TraceWriter({ write: async (line) => void lines.push(line) });
    await writer.begin({ seed: 1, startedAt: millis(0) });
    for (const n of [1, 2, 3]) await writer.request({ ...facts, n, id: `req_${n}`, at: millis(n) });
    await writer.reply({ n: 2, status: 200, outcome: "broken" });
    await writer.reply({
      n: 1,
      status: 400,
      outcome: "refused",
      error: { type: "invalid_request_error", message: "no" },
    });
    const { requests } = await traceOf(lines);
    expect(requests.map(({ reply }) => [reply?.status, reply?.outcome, reply?.error?.message])).toEqual([
      [400, "refused", "no"],
      [200, "broken", undefined],
      [undefined, undefined, undefined],
    ]);
  });

  it("keeps web tools at the level where they stand for the cache", async () => {
    const prompt = promptOf([tool("read"), tool("web")], salts);
    const blocks = prompt.blocks.map((block, at) => (at === 1 ? { ...block, level: "system" as const } : block));
    const trace = await traceOf(await linesOf({ prompts: [{ ...prompt, blocks }] }));
    expect([...(trace.requests[0]?.blocks ?? [])].map(({ path, level }) => [path, level])).toEqual([
      ["tools.0", "tools"],
      ["tools.1", "system"],
    ]);
  });
});

describe("the size of a trace", () => {
  const turn = (at: number): Made => message(`turn ${at} ${"x".repeat(200)}`);
  const conversation = (turns: number): Prompt[] => {
    const { blocks } = promptOf(
      Array.from({ length: turns }, (_, at) => turn(at)),
      salts,
    );
    return blocks.map((last, at) => ({
      blocks: [...blocks.slice(0, at), { ...last, breakpoint: "5m" }],
      tokens: last.tokensUpTo,
      boundChain: last.chain,
      salts,
    }));
  };
  const bytesOf = (lines: readonly string[]): number => lines.reduce((sum, line) => sum + Buffer.byteLength(line), 0);

  it("grows with the turns of a conversation, not with their square", async () => {
    const prompts = conversation(1000);
    const [half, whole] = [await linesOf({ prompts: prompts.slice(0, 500) }), await linesOf({ prompts })];
    expect(bytesOf(whole) / bytesOf(half)).toBeLessThan(2.05);
    expect(whole).toHaveLength(1 + 2 * 1000);
    const lengths = whole.map((line) => line.length);
    expect(Math.max(...lengths)).toBeLessThan(600);
  });

  it("grows as little with conversations that take turns", async () => {
    const made = (name: number, turns: number) =>
      Array.from({ length: turns }, (_, at) => message(`${name} says ${at}`));
    const prompts = Array.from({ length: 800 }, (_, at) => promptOf(made(at % 8, 1 + Math.floor(at / 8)), salts));
    const lines = await linesOf({ prompts });
    expect(Math.max(...lines.map((line) => line.length))).toBeLessThan(400);
  });

  it("has the content of a block once, and again only where it was forgotten", async () => {
    const prompts = ["1 a", "2 b", "3 a"].map((texts) =>
      promptOf(
        texts.split(" ").map((text) => message(text)),
        salts,
      ),
    );
    const contents = async (blocksMax: number) =>
      (await linesOf({ prompts, blocksMax })).filter((line) => line.startsWith('{"type":"block"')).length;
    expect(await contents(5)).toBe(5);
    expect(await contents(2)).toBe(6);
  });
});

describe("a file that is no whole trace", () => {
  const whole = async (): Promise<string[]> => {
    const maker = new TraceMaker();
    await maker.send({ made: [message("one")] });
    await maker.send({ made: [message("one"), message("two")] });
    return maker.lines;
  };

  it("a torn last line is left out and told, wherever it was torn", async () => {
    const lines = await whole();
    const last = lines.at(-1) ?? "";
    for (let length = 1; length < last.length; length += 7) {
      const read = await reading([...lines.slice(0, -1), last.slice(0, length)]);
      expect(read).toMatchObject({ kind: "trace", trace: { torn: true } });
      if (read.kind === "trace") expect(read.trace.requests[1]?.reply).toBeUndefined();
    }
    expect(await reading(lines)).toMatchObject({ kind: "trace", trace: { torn: false } });
  });

  it.each<[string, (lines: string[]) => string[], object]>([
    ["nothing", () => [], { kind: "not-a-trace", message: "it is empty" }],
    [
      "something else",
      () => ['{"type":"user"}', "{}"],
      { kind: "not-a-trace", message: "its first line does not say that it is a trace" },
    ],
    ["no JSON", () => ["PNG"], { kind: "not-a-trace" }],
    [
      "a later version",
      ([head = "", ...lines]) => [head.replace('"version":1', '"version":2'), ...lines],
      { kind: "not-a-trace", message: "it is of version 2, this reads version 1" },
    ],
    [
      "a damaged line",
      (lines) => lines.toSpliced(2, 1, "{"),
      { kind: "damaged", line: 3, message: "it is no line of a trace" },
    ],
    ["a missing request", (lines) => lines.toSpliced(2, 1), { kind: "damaged", line: 3 }],
    ["a request twice", (lines) => lines.toSpliced(3, 0, lines[2] ?? ""), { kind: "damaged", line: 4 }],
    [
      "two traces",
      (lines) => [...lines, ...lines],
      { kind: "damaged", line: 8, message: "a second trace begins there" },
    ],
  ])("%s is told", async (_, change, told) => {
    expect(await reading(change(await whole()))).toMatchObject(told);
  });
});
