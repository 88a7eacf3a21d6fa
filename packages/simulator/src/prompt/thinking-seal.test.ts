import { describe, expect, it } from "vitest";
import { Asking } from "../../../../test/fixture/asking.ts";
import type { Json, JsonObject } from "palimpsest/internal/schema/json";
import type { ReplyMessage } from "palimpsest/internal/schema/wire/reply-message";
import type { Responder, MoveBlock } from "../responder/responder.ts";
import type { SimulatorOptions } from "../simulator-options.ts";
import { Simulator } from "../simulator.ts";

const thinks: Responder = {
  name: "thinks",
  respond: () => ({
    move: {
      kind: "say",
      blocks: [
        { type: "thinking", thinking: "Let me consider it." },
        { type: "text", text: "Considered." },
      ],
    },
  }),
};

const bound = "claude-sonnet-5-5";
const free = "claude-opus-5";
const older = "claude-haiku-4-5";
const asks = (content: Json): JsonObject => ({ role: "user", content });
const answered = ({ content }: ReplyMessage): JsonObject => ({ role: "assistant", content });
const adaptive = { type: "adaptive" };
const dropping = { type: "adaptive", block_binding: { prefix_mismatch_behavior: "drop_block" } };
const control = { "anthropic-beta": "thinking-binding-controls-2026-08-01" };

const asking = (model: string, options: SimulatorOptions = {}): Asking =>
  new Asking(new Simulator({ responder: thinks, ...options }), {
    model,
    thinking: model === older ? { type: "enabled", budget_tokens: 1024 } : adaptive,
    max_tokens: 2000,
  });

describe("thinking that comes back", () => {
  it("as it was is taken on every model", async () => {
    for (const model of [bound, free, older]) {
      const to = asking(model);
      const first = await to.message({ messages: [asks("One")] });
      const second = await to.message({ messages: [asks("One"), answered(first), asks("Two")] });
      await to.message({ messages: [asks("One"), answered(first), asks("Two"), answered(second), asks("Three")] });
    }
  });

  it.each<[string, JsonObject]>([
    ["another text", { thinking: "I never thought that." }],
    ["another signature", { signature: "bm9ib2R5" }],
    ["no signature", { signature: "" }],
  ])("with %s is refused, and named as of the latest message only there", async (_, change) => {
    for (const model of [bound, free, older]) {
      const to = asking(model);
      const first = await to.message({ messages: [asks("One")] });
      const altered = {
        ...answered(first),
        content: first.content.map((block) => ({ ...block, ...(block.type === "thinking" ? change : {}) })) as Json,
      };
      const latest = await to.refusal({ messages: [asks("One"), altered, asks("Two")] });
      expect(latest).toMatch(/^400 messages\.1\.content\.0: .*latest assistant message cannot be modified/);
      const plain = { role: "assistant", content: "Fine." };
      const earlier = await to.refusal({ messages: [asks("One"), altered, asks("Two"), plain, asks("Three")] });
      expect(earlier).toMatch(/^400 messages\.1\.content\.0: Invalid `signature` in `thinking` block/);
    }
  });

  it("signed by another simulator is refused", async () => {
    const first = await asking(bound, { seed: 1 }).message({ messages: [asks("One")] });
    const refused = await asking(bound, { seed: 2 }).refusal({ messages: [asks("One"), answered(first), asks("Two")] });
    expect(refused).toContain("cannot be modified");
  });

  it("hidden in redacted blocks is checked too", async () => {
    const blocks: readonly MoveBlock[] = [
      { type: "redacted_thinking", thinking: "Nobody may read this." },
      { type: "text", text: "Considered." },
    ];
    const to = asking(bound, { responder: { name: "hides", respond: () => ({ move: { kind: "say", blocks } }) } });
    const first = await to.message({ messages: [asks("One")] });
    expect(JSON.stringify(first.content)).not.toContain("Nobody may");
    await to.message({ messages: [asks("One"), answered(first), asks("Two")] });
    expect(await to.refusal({ messages: [asks("Two"), answered(first), asks("Two")] })).toContain(
      "bound to a different conversation",
    );
  });

  it("hidden in redacted blocks takes the room in the prompt that it took in the reply", async () => {
    const thinking = "Nobody may read this. ".repeat(20);
    const tokens = async (type: "thinking" | "redacted_thinking"): Promise<readonly number[]> => {
      const blocks: readonly MoveBlock[] = [
        { type, thinking },
        { type: "text", text: "Considered." },
      ];
      const to = asking(bound, { responder: { name: "hides", respond: () => ({ move: { kind: "say", blocks } }) } });
      const first = await to.message({ messages: [asks("One")] });
      const second = await to.message({ messages: [asks("One"), answered(first), asks("Two")] });
      return [first.usage.output_tokens, second.usage.input_tokens];
    };
    expect(await tokens("redacted_thinking")).toEqual(await tokens("thinking"));
  });
});

describe("thinking behind a prefix that changed", () => {
  const changed = async (to: Asking, more: JsonObject = {}): Promise<JsonObject> => {
    const first = await to.message({ messages: [asks("One")], system: "A rule." });
    return { system: "A rule.", messages: [asks("Other"), answered(first), asks("Two")], ...more };
  };

  it("is refused on a model that binds it, with what to do about it", async () => {
    const to = asking(bound);
    expect(await to.refusal(await changed(to))).toBe(
      '400 messages.1.content.0: Invalid `signature` in `thinking` block. The block is bound to a different conversation. Remove the block, or set `thinking.block_binding.prefix_mismatch_behavior` to "drop_block".',
    );
  });

  it.each<[string, JsonObject]>([
    ["messages", {}],
    ["the system prompt", { system: "Another rule." }],
    ["tools", { tools: [{ name: "look", input_schema: { type: "object" } }] }],
  ])("a change of %s counts", async (_, more) => {
    const to = asking(bound);
    const first = await to.message({ messages: [asks("One")], system: "A rule." });
    const messages = [asks(Object.keys(more).length === 0 ? "Other" : "One"), answered(first), asks("Two")];
    expect(await to.refusal({ system: "A rule.", messages, ...more })).toContain("bound to a different");
  });

  it("a moved cache_control is no change", async () => {
    const to = asking(bound);
    const marked = [{ type: "text", text: "One", cache_control: { type: "ephemeral" } }];
    const first = await to.message({ messages: [asks(marked)] });
    await to.message({ messages: [asks("One"), answered(first), asks("Two")] });
  });

  it("is taken where the model does not bind it", async () => {
    const to = asking(free);
    await to.message(await changed(to));
  });

  it("is dropped where the request asks for it, with every later block, and the reply says so", async () => {
    const to = asking(bound);
    const first = await to.message({ messages: [asks("One")] });
    const second = await to.message({ messages: [asks("One"), answered(first), asks("Two")] });
    const messages = [asks("Other"), answered(first), asks("Two"), answered(second), asks("Three")];
    const { input_transformations, usage } = await to.message({ thinking: dropping, messages }, control);
    expect(input_transformations).toEqual([
      { type: "thinking_dropped", path: "messages.1.content.0", reason: "prefix_binding_mismatch" },
      { type: "thinking_dropped", path: "messages.3.content.0", reason: "prefix_binding_mismatch" },
    ]);
    const without = [first, second].map(({ content }) => ({
      role: "assistant",
      content: content.slice(1) as unknown as Json,
    }));
    const plain = await to.message({
      messages: [asks("Other"), without[0] ?? {}, asks("Two"), without[1] ?? {}, asks("Three")],
    });
    expect(usage.input_tokens).toBe(plain.usage.input_tokens);
  });

  it("is left and reported for accounts that are not held to it", async () => {
    const to = asking(bound, { binding: "reported" });
    const { input_transformations } = await to.message(await changed(to), control);
    expect(input_transformations).toEqual([
      { type: "thinking_mismatch_allowed", path: "messages.1.content.0", reason: "prefix_binding_mismatch" },
    ]);
  });

  it("nothing is reported without the beta, and an empty list where nothing happened", async () => {
    const to = asking(bound);
    expect(await to.message({ messages: [asks("One")] })).not.toHaveProperty("input_transformations");
    expect((await to.message({ messages: [asks("One")] }, control)).input_transformations).toEqual([]);
  });
});

describe("thinking of another model", () => {
  it("is dropped silently where one of both binds it, and kept else", async () => {
    const simulator = new Simulator({ responder: thinks });
    const to = new Asking(simulator, { thinking: adaptive, max_tokens: 2000 });
    const first = await to.message({ model: bound, messages: [asks("One")] });
    const messages = [asks("One"), answered(first), asks("Two")];
    const { input_transformations } = await to.message({ model: "claude-opus-5-5", messages }, control);
    expect(input_transformations).toEqual([
      { type: "thinking_dropped", path: "messages.1.content.0", reason: "model_binding_mismatch" },
    ]);
    const old = await to.message({ model: free, messages: [asks("One")] });
    const kept = await to.message(
      { model: "claude-opus-4-8", messages: [asks("One"), answered(old), asks("Two")] },
      control,
    );
    expect(kept.input_transformations).toEqual([]);
  });
});

describe("thinking of earlier turns", () => {
  const counted = async (model: string, request: JsonObject = {}): Promise<readonly [number, number]> => {
    const to = asking(model);
    const editing = { "anthropic-beta": "context-management-2025-06-27" };
    const first = await to.message({ messages: [asks("One")] });
    const bare = { role: "assistant", content: first.content.slice(1) as unknown as Json };
    const sizes: number[] = [];
    for (const reply of [answered(first), bare]) {
      const { usage } = await to.message({ messages: [asks("One"), reply, asks("Two")], ...request }, editing);
      sizes.push(usage.input_tokens);
    }
    return [sizes[0] ?? 0, sizes[1] ?? 0];
  };

  it("stays in the prompt on new models and is taken out on old ones", async () => {
    const [withThinking, without] = await counted(free);
    expect(withThinking).toBeGreaterThan(without);
    const [old, oldWithout] = await counted(older);
    expect(old).toBe(oldWithout);
  });

  it("stays on old ones too where the request says that all of it stays", async () => {
    const edits = [{ type: "clear_thinking_20251015", keep: "all" }];
    const [withThinking, without] = await counted(older, { context_management: { edits } });
    expect(withThinking).toBeGreaterThan(without);
  });

  it("what a request takes, a count takes too: the prefix that thinking is bound to is the same", async () => {
    const to = asking("claude-opus-5-5");
    const first = await to.message({ messages: [asks("One")] });
    const second = await to.message({ messages: [asks("One"), answered(first), asks("Two")] });
    const messages = [asks("One"), answered(first), asks("Two"), answered(second), asks("Three")];
    await to.message({ messages });
    expect(to.count({ messages })).toBeGreaterThan(0);
  });

  it("is not counted by count_tokens", async () => {
    const to = asking(free);
    const first = await to.message({ messages: [asks("One")] });
    const bare = { role: "assistant", content: first.content.slice(1) as unknown as Json };
    const count = (reply: JsonObject) => to.count({ messages: [asks("One"), reply, asks("Two")] });
    expect(count(answered(first))).toBe(count(bare));
  });
});

describe("what was judged before", () => {
  it("is judged again for another model, as if it came for the first time", async () => {
    const simulator = new Simulator({ responder: thinks });
    const to = new Asking(simulator, { thinking: adaptive, max_tokens: 2000 });
    const first = await to.message({ model: free, messages: [asks("One")] });
    const messages = [asks("One"), answered(first), asks("Two")];
    await to.message({ model: free, messages });
    const other = await to.message({ model: "claude-opus-5-5", messages }, control);
    expect(other.input_transformations).toHaveLength(1);
  });

  it("is reported every time", async () => {
    const to = asking(bound, { binding: "reported" });
    const first = await to.message({ messages: [asks("One")] });
    const messages = [asks("Other"), answered(first), asks("Two")];
    for (let time = 0; time < 3; time += 1)
      expect((await to.message({ messages }, control)).input_transformations).toHaveLength(1);
  });
});

describe("thinking that is not asked for", () => {
  it("is not said", async () => {
    const { content } = await asking(free).message({ messages: [asks("One")], thinking: { type: "disabled" } });
    expect(content.map(({ type }) => type)).toEqual(["text"]);
  });

  it("is said without its words where the request wants them omitted", async () => {
    const to = asking(free);
    const omitted = { type: "adaptive", display: "omitted" };
    const first = await to.message({ messages: [asks("One")], thinking: omitted });
    expect(first.content[0]).toMatchObject({ type: "thinking", thinking: "" });
    const next = await to.message({ messages: [asks("One"), answered(first), asks("Two")], thinking: omitted });
    const shown = await to.message({ messages: [asks("One")] });
    const spoken = await to.message({ messages: [asks("One"), answered(shown), asks("Two")] });
    expect(next.usage.input_tokens).toBe(spoken.usage.input_tokens);
  });
});
