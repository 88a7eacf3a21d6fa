import { describe, expect, it } from "vitest";
import { join } from "node:path";
import { Asking, longText } from "../../test/fixture/asking.ts";
import type { JsonObject } from "../../packages/palimpsest/src/schema/json.ts";
import { readScenario } from "../../packages/simulator/src/scenario/read-scenario.ts";
import { scriptResponder } from "../../packages/simulator/src/scenario/script-responder.ts";
import { Simulator } from "../../packages/simulator/src/simulator.ts";
import { readTrace, type Trace } from "../../packages/simulator/src/trace/read-trace.ts";
import { TraceWriter } from "../../packages/simulator/src/trace/trace-writer.ts";
import { millis } from "../../packages/palimpsest/src/schema/brand.ts";
import { expectedAnswer, type RunKind } from "./scenario.ts";
import { judgeRun, type Verdict } from "./verdict.ts";

const cache_control = { type: "ephemeral" };
const tools = [{ name: "bash", description: longText("shell"), input_schema: { type: "object", properties: {} } }];

interface Habits {
  readonly result?: string;
  readonly marker?: JsonObject;
  readonly second?: JsonObject;
}

/** An agent of a dozen lines: a title, a question, a call's result. */
async function loop({ result = "PROBE_42\n", marker = { cache_control }, second = {} }: Habits = {}) {
  const lines: string[] = [];
  const trace = new TraceWriter({ write: async (line) => void lines.push(line) });
  await trace.begin({ seed: 0, startedAt: millis(0) });
  const reading = await readScenario(join(import.meta.dirname, "../../examples/scenarios/real-client.yaml"));
  if (reading.kind !== "scenario") return expect.unreachable();
  const asking = new Asking(new Simulator({ responder: scriptResponder(reading.scenario), trace }), { tools });
  await asking.reply({ tools: [], messages: [{ role: "user", content: "A title?" }] });
  const question = (more: JsonObject) => ({
    role: "user",
    content: [{ type: "text", text: "Run the probe.", ...more }],
  });
  const { content } = await asking.message({ messages: [question(marker)] });
  const [call] = content;
  if (call?.type !== "tool_use") return expect.unreachable();
  const answered = { type: "tool_result", tool_use_id: call.id, content: result, ...marker };
  const said = { role: "assistant", content: [{ type: "tool_use", id: call.id, name: call.name, input: call.input }] };
  const replied = await asking.reply({
    messages: [question({}), said, { role: "user", content: [answered] }],
    ...second,
  });
  const [text] = replied.kind === "message" ? replied.message.content : [];
  return { answer: text?.type === "text" ? text.text : undefined, trace: await traceOf(lines) };
}

async function traceOf(lines: readonly string[]): Promise<Trace> {
  const read = await readTrace(ReadableStream.from(lines));
  return read.kind === "trace" ? read.trace : expect.unreachable();
}

const client = { api: "messages", caching: "marked", brokenStream: "gives up", smallWindowTokens: 40_000 } as const;

interface Ending {
  readonly exitCode?: number | null;
  readonly text?: string | undefined;
  readonly costUsd?: number;
  readonly kind?: RunKind;
}

const judge = (trace: Trace, { exitCode = 0, text = expectedAnswer, costUsd, kind = "turn" }: Ending = {}): Verdict =>
  judgeRun({
    client: { ...client, refusals: [{ message: /^temperature: /, why: "it tries again without" }] },
    kind,
    run: { exitCode, answer: { text, ...(costUsd === undefined ? {} : { costUsd }) }, trace },
  });

async function problems(habits?: Habits): Promise<readonly string[]> {
  const { answer, trace } = await loop(habits);
  return judge(trace, { text: answer ?? "" }).problems;
}

describe("the verdict on a client", () => {
  it("is good where the probe came back, the cache was read and nothing was refused", async () => {
    const { trace } = await loop();
    const verdict = judge(trace);
    expect(verdict).toMatchObject({ requests: 3, refused: 0, compactions: 0, problems: [] });
    expect(verdict.readTokens).toBeGreaterThan(1024);
    expect(judge(trace, { costUsd: verdict.costUsd }).problems).toEqual([]);
  });

  it("names an exit code, another answer and another cost", async () => {
    const { trace } = await loop();
    const wrong = judge(trace, { exitCode: 7, text: "Hm.", costUsd: 1 }).problems;
    expect(wrong).toEqual(["ended with 7", 'answered "Hm."', expect.stringMatching(/^says that it cost \$1, /)]);
    expect(judge(trace, { exitCode: null }).problems).toHaveLength(1);
  });

  it("names a result without the probe", async () => {
    expect(await problems({ result: "not found" })).toEqual([
      'answered "The shell did not answer."',
      "sent no result with PROBE_42",
    ]);
  });

  it("names a cache that was left empty", async () => {
    expect(await problems({ marker: {} })).toEqual(["the request before 3 left nothing in the cache"]);
  });

  it("names tokens that were in the cache and were not read", async () => {
    const [problem, ...others] = await problems({ second: { system: "Another." } });
    expect(problem).toMatch(/^request 3 read 0 of \d+ tokens that were in the cache$/);
    expect(others).toEqual([]);
  });

  it("names what was refused", async () => {
    expect(await problems({ second: { top_k: -1 } })).toEqual([
      'answered ""',
      "sent no result with PROBE_42",
      expect.stringMatching(/^request 3 was refused: top_k: /),
      "only 1 requests of its loop were answered",
    ]);
  });

  it("does not name what the real API refuses too", async () => {
    const [, , ...others] = await problems({ second: { temperature: 7 } });
    expect(others).toEqual(["only 1 requests of its loop were answered"]);
  });

  it("names a client that did not compact, and one that went on where it gives up", async () => {
    const { trace } = await loop();
    expect(judge(trace, { kind: "compaction" }).problems).toEqual(["did not compact"]);
    expect(judge(trace, { kind: "break" }).problems).toEqual(["went on after a broken stream"]);
    expect(judge(trace, { kind: "break", exitCode: 1, text: "" }).problems).toEqual([]);
  });

  it("counts a prompt that became much smaller as a compaction, but no side request before it was full", async () => {
    const { trace } = await loop();
    const [first] = trace.requests;
    if (first?.reply?.usage === undefined) return expect.unreachable();
    const { reply } = first;
    const sized = (input_tokens: number) => ({
      ...first,
      reply: {
        ...reply,
        usage: { ...reply.usage, input_tokens, cache_read_input_tokens: 0, cache_creation_input_tokens: 0 },
      },
    });
    const requests = [9_000, 500, 20_000, 40_000, 12_000, 16_000, 4_000].map(sized);
    expect(judge({ ...trace, requests } as Trace, { kind: "compaction" }).compactions).toBe(2);
  });
});
