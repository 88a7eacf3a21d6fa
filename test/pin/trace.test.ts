import { describe, expect, it } from "vitest";
import { millis } from "../../packages/palimpsest/src/schema/brand.ts";
import type { PromptBlock } from "../../packages/palimpsest/src/cache/prompt.ts";
import { TraceWriter } from "../../packages/simulator/src/trace/trace-writer.ts";
import { asyncLines, replyOf } from "../fixture/trace.ts";
import { readTrace } from "../../packages/simulator/src/trace/read-trace.ts";

const at = millis(Date.parse("2026-11-01T00:00:00.000Z"));
const salts = { tools: "s1", system: "s2", messages: "s3" };

const block = (
  hash: string,
  more: Pick<PromptBlock, "level" | "path" | "type"> & Partial<PromptBlock>,
): PromptBlock => ({
  hash,
  chain: "",
  tokens: 1000,
  tokensUpTo: 0,
  ...more,
});
const tool = block("h1", { level: "tools", path: "tools.0", type: "custom" });
const webTool = block("h2", { level: "system", path: "tools.1", type: "web_search_20250305" });
const one = block("h3", { level: "messages", path: "messages.0.content.0", type: "text" });
const two = block("h4", { level: "messages", path: "messages.1.content.0", type: "image" });

const body = {
  model: "opus",
  max_tokens: 100,
  tools: [
    { name: "read", input_schema: {}, cache_control: { type: "ephemeral" } },
    { type: "web_search_20250305", name: "web_search" },
  ],
  messages: [
    { role: "user", content: "one" },
    { role: "user", content: [{ type: "image", source: { data: "x".repeat(100_000) } }] },
  ],
};
const facts = {
  at,
  workspace: "default",
  model: "claude-opus-5",
  endpoint: "/v1/messages",
  betas: ["b"],
  body,
  faults: [],
};
const usage = { inputTokens: 1, cacheReadTokens: 2, cacheWrite5mTokens: 3, cacheWrite1hTokens: 4 };
const pricesUsdPerMTok = { input: 5, cacheWrite5m: 6.25, cacheWrite1h: 10, cacheRead: 0.5, output: 25 };
const usdByKind = { input: 0.1, cacheWrite5m: 0.2, cacheWrite1h: 0.3, cacheRead: 0.4, output: 0.5 };

async function written(): Promise<readonly string[]> {
  const lines: string[] = [];
  const writer = new TraceWriter({ write: async (line) => void lines.push(line) });
  await writer.begin({ seed: 7, startedAt: at });
  await writer.request({
    ...facts,
    n: 1,
    id: "req_1",
    prompt: { blocks: [tool, webTool, { ...one, breakpoint: "1h" }], tokens: 3000, boundChain: "", salts },
    cache: { hit: null, breakpoints: [{ at: 2, found: null, outcome: "written" }] },
  });
  const message = { ...replyOf({ n: 1, model: "claude-opus-5", usage }), diagnostics: null };
  const billed = { cost: { usd: 1.5, usdByKind }, split: { ...usage, cacheReadTokens: 9 }, pricesUsdPerMTok };
  await writer.reply({ n: 1, status: 200, outcome: "delivered", beganAt: at, message, ...billed });
  await writer.request({
    ...facts,
    n: 2,
    id: "req_2",
    prompt: { blocks: [tool, webTool, one, { ...two, breakpoint: "5m" }], tokens: 4000, boundChain: "", salts },
    cache: { hit: 2, breakpoints: [{ at: 3, found: { at: 2, lifetime: "1h" }, outcome: "written" }] },
    faults: [{ kind: "break", afterEvents: 2 }],
  });
  await writer.reply({
    n: 2,
    status: 529,
    outcome: "refused",
    error: { type: "overloaded_error", message: "Overloaded" },
  });
  await writer.request({ ...facts, n: 3, id: "req_3", endpoint: "/v1/messages/count_tokens" });
  await writer.reply({ n: 3, status: 200, outcome: "delivered", inputTokens: 12 });
  const deletions = [{ type: "tool_result", tool_use_id: "toolu_1" }];
  await writer.request({ ...facts, n: 4, id: "req_4", body: { model: "opus", cache_edits: { deletions } } });
  const edited = replyOf({ n: 4, model: "claude-opus-5", usage });
  const report = { applied: ["toolu_1"], ignored: [], deleted_input_tokens: 30 };
  await writer.reply({ n: 4, status: 200, outcome: "delivered", message: { ...edited, cache_edits: report } });
  await writer.request({ ...facts, n: 5, id: "req_5", body: { model: "opus" } });
  const message5 = replyOf({ n: 5, model: "claude-opus-5", usage });
  const applied_edits = [
    { type: "clear_thinking_20251015", cleared_thinking_turns: 1, cleared_input_tokens: 20 },
    { type: "clear_tool_uses_20250919", cleared_tool_uses: 2, cleared_input_tokens: 40 },
  ] as const;
  await writer.reply({
    n: 5,
    status: 200,
    outcome: "delivered",
    message: { ...message5, content: [], context_management: { applied_edits } },
    iterations: [{ type: "compaction", split: usage, outputTokens: 5 }],
  });
  await writer.request({ ...facts, n: 6, id: "req_6", endpoint: "/v1/responses", body: { model: "gpt" } });
  const { input_tokens, cache_creation_input_tokens, cache_read_input_tokens, cache_creation, output_tokens } =
    message5.usage;
  const sampled = { input_tokens, cache_creation_input_tokens, cache_read_input_tokens, cache_creation, output_tokens };
  await writer.reply({ n: 6, status: 200, outcome: "delivered", usage: sampled, split: usage });
  return lines;
}

/** Traces lie on people's disks: a change of a line is a new version. */
const pinned = [
  `{"type":"trace","version":1,"seed":7,"startedAt":"2026-11-01T00:00:00.000Z"}`,
  `{"type":"block","hash":"h1","level":"tools","blockType":"custom","tokens":1000,"value":{"name":"read","input_schema":{}}}`,
  `{"type":"block","hash":"h2","level":"system","blockType":"web_search_20250305","tokens":1000,"value":{"type":"web_search_20250305","name":"web_search"}}`,
  `{"type":"block","hash":"h3","level":"messages","blockType":"text","tokens":1000,"value":{"type":"text","text":"one"}}`,
  `{"type":"request","n":1,"id":"req_1","at":"2026-11-01T00:00:00.000Z","workspace":"default","model":"claude-opus-5","endpoint":"/v1/messages","betas":["b"],"params":{"max_tokens":100},"salts":{"tools":"s1","system":"s2","messages":"s3"},"blocks":{"base":null,"shared":0,"added":[["h1",1000,"tools.0"],["h2",1000,"tools.1","system"],["h3",1000,"messages.0.content.0"]],"marks":[[2,"1h"]]},"cache":{"hit":null,"breakpoints":[{"at":2,"found":null,"outcome":"written"}]},"faults":[]}`,
  `{"type":"reply","n":1,"status":200,"outcome":"delivered","beganAt":"2026-11-01T00:00:00.000Z","messageId":"msg_1","stopReason":"end_turn","usage":{"input_tokens":1,"cache_creation_input_tokens":7,"cache_read_input_tokens":2,"cache_creation":{"ephemeral_5m_input_tokens":3,"ephemeral_1h_input_tokens":4},"output_tokens":10,"output_tokens_details":null,"server_tool_use":null,"service_tier":"standard","inference_geo":null,"speed":"standard"},"split":{"inputTokens":1,"cacheReadTokens":9,"cacheWrite5mTokens":3,"cacheWrite1hTokens":4},"costUsd":1.5,"costUsdByKind":{"input":0.1,"cacheWrite5m":0.2,"cacheWrite1h":0.3,"cacheRead":0.4,"output":0.5},"pricesUsdPerMTok":{"input":5,"cacheWrite5m":6.25,"cacheWrite1h":10,"cacheRead":0.5,"output":25},"content":[{"type":"text","text":"Done.","citations":null}],"diagnostics":null}`,
  `{"type":"block","hash":"h4","level":"messages","blockType":"image","tokens":1000,"value":"{\\"type\\":\\"image\\",\\"source\\":{\\"data\\":\\"${"x".repeat(99_966)}","cut":{"ofChars":100037}}`,
  `{"type":"request","n":2,"id":"req_2","at":"2026-11-01T00:00:00.000Z","workspace":"default","model":"claude-opus-5","endpoint":"/v1/messages","betas":["b"],"params":{"max_tokens":100},"salts":{"tools":"s1","system":"s2","messages":"s3"},"blocks":{"base":1,"shared":3,"added":[["h4",1000,"messages.1.content.0"]],"marks":[[3,"5m"]]},"cache":{"hit":2,"breakpoints":[{"at":3,"found":{"at":2,"lifetime":"1h"},"outcome":"written"}]},"faults":["break after=2"]}`,
  `{"type":"reply","n":2,"status":529,"outcome":"refused","error":{"type":"overloaded_error","message":"Overloaded"}}`,
  `{"type":"request","n":3,"id":"req_3","at":"2026-11-01T00:00:00.000Z","workspace":"default","model":"claude-opus-5","endpoint":"/v1/messages/count_tokens","betas":["b"],"params":{"max_tokens":100},"blocks":{"base":null,"shared":0,"added":[],"marks":[]},"faults":[]}`,
  `{"type":"reply","n":3,"status":200,"outcome":"delivered","inputTokens":12}`,
  `{"type":"request","n":4,"id":"req_4","at":"2026-11-01T00:00:00.000Z","workspace":"default","model":"claude-opus-5","endpoint":"/v1/messages","betas":["b"],"params":{"cache_edits":{"deletions":[{"type":"tool_result","tool_use_id":"toolu_1"}]}},"blocks":{"base":null,"shared":0,"added":[],"marks":[]},"faults":[]}`,
  `{"type":"reply","n":4,"status":200,"outcome":"delivered","messageId":"msg_4","stopReason":"end_turn","usage":{"input_tokens":1,"cache_creation_input_tokens":7,"cache_read_input_tokens":2,"cache_creation":{"ephemeral_5m_input_tokens":3,"ephemeral_1h_input_tokens":4},"output_tokens":10,"output_tokens_details":null,"server_tool_use":null,"service_tier":"standard","inference_geo":null,"speed":"standard"},"content":[{"type":"text","text":"Done.","citations":null}],"cacheEdits":{"applied":["toolu_1"],"ignored":[],"deleted_input_tokens":30}}`,
  `{"type":"request","n":5,"id":"req_5","at":"2026-11-01T00:00:00.000Z","workspace":"default","model":"claude-opus-5","endpoint":"/v1/messages","betas":["b"],"params":{},"blocks":{"base":null,"shared":0,"added":[],"marks":[]},"faults":[]}`,
  `{"type":"reply","n":5,"status":200,"outcome":"delivered","messageId":"msg_5","stopReason":"end_turn","usage":{"input_tokens":1,"cache_creation_input_tokens":7,"cache_read_input_tokens":2,"cache_creation":{"ephemeral_5m_input_tokens":3,"ephemeral_1h_input_tokens":4},"output_tokens":10,"output_tokens_details":null,"server_tool_use":null,"service_tier":"standard","inference_geo":null,"speed":"standard"},"iterations":[{"type":"compaction","split":{"inputTokens":1,"cacheReadTokens":2,"cacheWrite5mTokens":3,"cacheWrite1hTokens":4},"outputTokens":5}],"content":[],"appliedEdits":[{"type":"clear_thinking_20251015","cleared_thinking_turns":1,"cleared_input_tokens":20},{"type":"clear_tool_uses_20250919","cleared_tool_uses":2,"cleared_input_tokens":40}]}`,
  `{"type":"request","n":6,"id":"req_6","at":"2026-11-01T00:00:00.000Z","workspace":"default","model":"claude-opus-5","endpoint":"/v1/responses","betas":["b"],"params":{},"blocks":{"base":null,"shared":0,"added":[],"marks":[]},"faults":[]}`,
  `{"type":"reply","n":6,"status":200,"outcome":"delivered","usage":{"input_tokens":1,"cache_creation_input_tokens":7,"cache_read_input_tokens":2,"cache_creation":{"ephemeral_5m_input_tokens":3,"ephemeral_1h_input_tokens":4},"output_tokens":10},"split":{"inputTokens":1,"cacheReadTokens":2,"cacheWrite5mTokens":3,"cacheWrite1hTokens":4}}`,
];

/** So that a failure can be read. */
const short = (line: string): string => line.replaceAll(/x{9,}/g, (run) => `<x ${run.length} times>`);

describe("the trace's format", () => {
  it("is written as it was, line by line", async () => {
    expect((await written()).map(short)).toEqual(pinned.map(short));
  });

  it("is read as it was", async () => {
    const reading = await readTrace(asyncLines(pinned));
    if (reading.kind !== "trace") throw new Error(reading.message);
    const { head, requests, blockByHash, torn } = reading.trace;
    expect({ ...head, torn }).toMatchObject({ seed: 7, torn: false });
    expect(blockByHash.size).toBe(4);
    expect(requests.map(({ n, reply, blocks }) => [n, reply?.status, [...blocks].map(({ hash }) => hash)])).toEqual([
      [1, 200, ["h1", "h2", "h3"]],
      [2, 529, ["h1", "h2", "h3", "h4"]],
      [3, 200, []],
      [4, 200, []],
      [5, 200, []],
      [6, 200, []],
    ]);
  });
});
