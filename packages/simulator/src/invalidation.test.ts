import { describe, expect, it } from "vitest";
import { Asking, longText } from "../../../test/fixture/asking.ts";
import type { JsonObject } from "palimpsest/internal/schema/json";
import { Simulator } from "./simulator.ts";

const cache_control = { type: "ephemeral" };
const tool = (name: string): JsonObject => ({
  name,
  description: longText(name),
  input_schema: { type: "object", properties: {} },
});
const pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const image = { type: "image", source: { type: "base64", media_type: "image/png", data: pixel } };
const opening = { role: "user", content: [{ type: "text", text: longText("question"), cache_control }] };

/** A breakpoint at the end of each level. */
const base: JsonObject = {
  model: "claude-opus-4-8",
  tools: [tool("look"), { ...tool("go"), cache_control }],
  system: [{ type: "text", text: longText("rule"), cache_control }],
  messages: [opening],
};

const followed = (content: JsonObject[string]): JsonObject => ({
  messages: [opening, { role: "assistant", content: "Yes." }, { role: "user", content }],
});

/** Which levels of the first request the second one still reads. */
async function survives(change: JsonObject, from: JsonObject = {}, headers?: Record<string, string>): Promise<string> {
  const asking = new Asking(new Simulator(), { ...base, ...from });
  const levels: number[] = [];
  for (const request of [
    { messages: [{ role: "user", content: "Hi" }], system: "" },
    { messages: [{ role: "user", content: "Hi" }] },
    {},
  ]) {
    const { usage } = await asking.message(request);
    levels.push(usage.cache_creation_input_tokens + usage.cache_read_input_tokens);
  }
  const { usage } = await asking.message(change, headers);
  return ["nothing", "tools", "system", "messages"][levels.indexOf(usage.cache_read_input_tokens) + 1] ?? "?";
}

describe("the invalidation table: up to where the cache is read after a change of", () => {
  it.each<[string, JsonObject, string]>([
    ["nothing", {}, "messages"],
    [
      "a tool's description",
      {
        tools: [
          { ...tool("look"), description: "Other" },
          { ...tool("go"), cache_control },
        ],
      },
      "nothing",
    ],
    ["the order of tools", { tools: [tool("go"), { ...tool("look"), cache_control }] }, "nothing"],
    ["a tool added behind", { tools: [tool("look"), { ...tool("go"), cache_control }, tool("more")] }, "tools"],
    [
      "a deferred tool added",
      { tools: [tool("look"), { ...tool("go"), cache_control }, { ...tool("more"), defer_loading: true }] },
      "messages",
    ],
    [
      "web search",
      { tools: [tool("look"), { ...tool("go"), cache_control }, { type: "web_search_20250305", name: "web_search" }] },
      "tools",
    ],
    ["speed", { speed: "fast" }, "tools"],
    ["the system prompt", { system: [{ type: "text", text: longText("order"), cache_control }] }, "tools"],
    ["tool_choice", { tool_choice: { type: "none" } }, "system"],
    ["disable_parallel_tool_use", { tool_choice: { type: "auto", disable_parallel_tool_use: true } }, "system"],
    ["tool_choice spelled out as the default", { tool_choice: { type: "auto" } }, "messages"],
    ["images: one is added", followed([image, { type: "text", text: "What is it?" }]), "system"],
    [
      "parallel calls spelled out as the default",
      { tool_choice: { type: "auto", disable_parallel_tool_use: false } },
      "messages",
    ],
    [
      "a tool's kind spelled out as the default",
      {
        tools: [
          { ...tool("look"), type: "custom" },
          { ...tool("go"), cache_control },
        ],
      },
      "messages",
    ],
    [
      "citations",
      followed([
        {
          type: "document",
          source: { type: "text", media_type: "text/plain", data: "x" },
          citations: { enabled: true },
        },
      ]),
      "tools",
    ],
    ["thinking", { thinking: { type: "adaptive" } }, "system"],
    ["effort", { output_config: { effort: "low" } }, "system"],
    ["effort spelled out as the default", { output_config: { effort: "high" } }, "messages"],
    [
      "the first message",
      { messages: [{ role: "user", content: [{ type: "text", text: longText("answer"), cache_control }] }] },
      "system",
    ],
    [
      "max_tokens, temperature, metadata, stop sequences",
      { max_tokens: 99, temperature: 0.5, metadata: { user_id: "u" }, stop_sequences: ["x"] },
      "messages",
    ],
    [
      "markers alone",
      {
        messages: [
          { role: "user", content: [{ type: "text", text: longText("question") }] },
          { role: "assistant", content: "Yes." },
          { role: "user", content: [{ type: "text", text: "On.", cache_control }] },
        ],
      },
      "messages",
    ],
    [
      "a string in place of its block",
      {
        messages: [
          { role: "user", content: longText("question") },
          { role: "user", content: [{ type: "text", text: "On.", cache_control }] },
        ],
      },
      "messages",
    ],
    ["a reply and a question behind", followed([{ type: "text", text: "And now?", cache_control }]), "messages"],
  ])("%s", async (_, change, upTo) => {
    const headers = change["speed"] === undefined ? {} : { "anthropic-beta": "fast-mode-2026-02-01" };
    expect(await survives(change, {}, headers)).toBe(upTo);
  });

  it("the number of images: a second one is another prompt too", async () => {
    expect(await survives(followed([image, image, { type: "text", text: "Both?" }]), {})).toBe("system");
  });

  it("the model: nothing is read", async () => {
    expect(await survives({ model: "claude-opus-5" })).toBe("nothing");
  });

  it("the name of the same model: an alias shares its cache", async () => {
    expect(await survives({ model: "claude-opus-4-8-20260301" })).toBe("messages");
  });

  it("the workspace: nothing is read", async () => {
    expect(await survives({}, {}, { "x-api-key": "sk-other" })).toBe("nothing");
    expect(await survives({}, {}, { "anthropic-workspace-id": "wrkspc_1" })).toBe("nothing");
  });

  it("the effort that a system message sets: what stands before it is read", async () => {
    const asking = new Asking(new Simulator(), base);
    const usageAt = async (effort: string | null) => {
      const note = { role: "system", content: [{ type: "text", text: "Note.", cache_control }] };
      const messages = [opening, { ...note, output_config: { effort } }];
      const { usage } = await asking.message({ messages }, { "anthropic-beta": "per-turn-control-2026-07-01" });
      return { read: usage.cache_read_input_tokens, written: usage.cache_creation_input_tokens };
    };
    const { written: all } = await usageAt("low");
    expect(await usageAt("low")).toEqual({ read: all, written: 0 });
    const { read, written } = await usageAt("max");
    expect(read + written).toBe(all);
    expect(written).toBeGreaterThan(0);
    expect(written).toBeLessThan(20);
    expect(await usageAt(null)).toEqual({ read, written });
  });

  it("safeguards: nothing of them is in the prompt", async () => {
    const safeguards = [{ type: "dangerous_tool_use", classifier_context: { cwd: "/home/me" } }];
    const headers = { "anthropic-beta": "dangerous-tool-use-2026-09-03" };
    expect(await survives({ safeguards }, {}, headers)).toBe("messages");
  });

  it.each([
    ["interleaved-thinking-2025-05-14", "system"],
    ["context-management-2025-06-27", "system"],
    ["fallback-credit-2026-06-01", "messages"],
    ["fallback-credit-2026-07-01", "messages"],
    ["server-side-fallback-2026-07-01", "messages"],
    ["claude-code-20250219", "messages"],
    ["cache-diagnosis-2026-04-07", "messages"],
    ["extended-cache-ttl-2025-04-11", "messages"],
    ["thinking-token-count-2026-05-13", "messages"],
    ["output-300k-2026-03-24", "messages"],
    ["oauth-2025-04-20", "messages"],
  ])("a beta, only if it changes the prompt: %s", async (beta, upTo) => {
    expect(await survives({}, {}, { "anthropic-beta": beta })).toBe(upTo);
  });
});

describe("look-back through the API, as documented", () => {
  const blocks = (count: number, marks: readonly number[]): JsonObject[] =>
    Array.from({ length: count }, (_, at) => ({
      type: "text",
      text: longText(`block ${at}`),
      ...(marks.includes(at + 1) ? { cache_control } : {}),
    }));
  const read = async (asking: Asking, content: JsonObject[]): Promise<number> =>
    (await asking.message({ messages: [{ role: "user", content }] })).usage.cache_read_input_tokens;

  it("10 blocks, then 15, then 35: the entry at 15 is one position too far for 35, unless it is marked", async () => {
    const asking = new Asking(new Simulator(), { model: "claude-opus-4-8" });
    expect(await read(asking, blocks(10, [10]))).toBe(0);
    const atTen = await read(asking, blocks(15, [15]));
    expect(atTen).toBeGreaterThan(0);
    expect(await read(asking, blocks(35, [15, 35]))).toBeGreaterThan(atTen);
    const fresh = new Asking(new Simulator(), { model: "claude-opus-4-8" });
    await read(fresh, blocks(15, [15]));
    expect(await read(fresh, blocks(35, [35]))).toBe(0);
    expect(await read(fresh, blocks(34, [34]))).toBeGreaterThan(0);
  });
});
