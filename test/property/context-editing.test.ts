import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Json, JsonObject } from "../../packages/palimpsest/src/schema/json.ts";
import { clearedResultText } from "../../packages/simulator/src/editing/context-edits.ts";
import { ThinkingSeal } from "../../packages/simulator/src/prompt/thinking-seal.ts";
import { clearThinking, clearToolUses, Edited, edits, tokens, totalOf, turns, uses } from "../fixture/edited.ts";
import { parametersFor } from "./runs.ts";

/**
 * The oracle is a client that makes the same edits to its own messages, on a model that lets it: what it sends, and what
 * that costs, is what the server must have made of the whole conversation.
 */
const model = "claude-opus-5";
const tools = ["Read", "Write", "Bash"];

interface Use {
  readonly tool: string;
  readonly inputWords: number;
  readonly resultWords: number;
}

interface Reply {
  readonly thoughtWords: number;
  readonly uses: readonly Use[];
  /** The user speaks along with the results. */
  readonly interrupted: boolean;
  /** The client sends each block as a message of its own. */
  readonly split: boolean;
}

const use: fc.Arbitrary<Use> = fc.record({
  tool: fc.constantFrom(...tools),
  inputWords: fc.nat(30),
  resultWords: fc.nat(80),
});
const reply: fc.Arbitrary<Reply> = fc.record({
  thoughtWords: fc.oneof(fc.constant(0), fc.integer({ min: 1, max: 60 })),
  uses: fc.array(use, { maxLength: 2 }),
  interrupted: fc.boolean(),
  split: fc.boolean(),
});
const replies = fc.array(reply, { minLength: 1, maxLength: 10 });

const words = (count: number, of: string): string => `${of} said so. `.repeat(count);

class Conversation {
  readonly messages: JsonObject[] = [{ role: "user", content: "Look around, and tell me what you find." }];
  readonly #seal = new ThinkingSeal(0);
  #count = 0;

  add({ thoughtWords, uses: used, interrupted, split }: Reply): void {
    this.#count += 1;
    const calls = used.map(({ tool, inputWords }, at) => ({
      type: "tool_use",
      id: `toolu_${this.#count}_${at}`,
      name: tool,
      input: inputWords === 0 ? {} : { text: words(inputWords, "input") },
    }));
    const content = [
      ...(thoughtWords === 0 ? [] : [this.#thought(thoughtWords)]),
      { type: "text", text: `Step ${this.#count}.` },
      ...calls,
    ];
    const parts = split ? content.map((block) => [block]) : [content];
    this.messages.push(...parts.map((part) => ({ role: "assistant", content: part })));
    const results = used.map(({ resultWords }, at) => ({
      type: "tool_result",
      tool_use_id: `toolu_${this.#count}_${at}`,
      content: `${at}${words(resultWords, "result")}`,
    }));
    const spoken = interrupted || used.length === 0 ? [{ type: "text", text: "Go on." }] : [];
    this.messages.push({ role: "user", content: [...results, ...spoken] });
  }

  #thought(count: number): JsonObject {
    const thinking = words(count, `thought ${this.#count}`);
    return { type: "thinking", thinking, signature: this.#seal.sign(thinking, { model, chain: "", hiddenTokens: 0 }) };
  }
}

const someTools = fc.subarray(tools);
const toolEdit = fc
  .record(
    {
      trigger: fc.oneof(fc.nat(3_000).map(tokens), fc.nat(8).map(uses)),
      keep: fc.nat(4).map(uses),
      clear_at_least: fc.nat(800).map(tokens),
      exclude_tools: someTools,
      clear_tool_inputs: fc.oneof(fc.boolean(), someTools),
    },
    { requiredKeys: ["trigger"] },
  )
  .map((edit): JsonObject => clearToolUses(edit));
const thinkingEdit = fc
  .option(fc.oneof(fc.integer({ min: 1, max: 3 }).map(turns), fc.constant("all")), { nil: undefined })
  .map((keep): JsonObject => clearThinking(keep === undefined ? {} : { keep }));
const editList = fc.oneof(
  toolEdit.map((edit) => [edit]),
  thinkingEdit.map((edit) => [edit]),
  fc.tuple(thinkingEdit, toolEdit).map((both) => [...both]),
);

const field = (value: Json | undefined, name: string): Json | undefined => (value as JsonObject | undefined)?.[name];
const blocksOf = (message: JsonObject): readonly JsonObject[] =>
  typeof message["content"] === "string" ? [] : (message["content"] as JsonObject[]);
const isThought = (block: JsonObject): boolean => block["type"] === "thinking";

/** A client's edit: messages that it would send instead, and how much of what it counts is gone. */
interface ByClient {
  readonly messages: JsonObject[];
  readonly count: number;
}

function withoutThinking(messages: readonly JsonObject[], edit: JsonObject): ByClient {
  const keep = Number(field(edit["keep"], "value") ?? Infinity);
  const kept: JsonObject[] = [];
  let seen = 0;
  let cleared = 0;
  let inTurn = false;
  for (const message of messages.toReversed()) {
    if (blocksOf(message).some(isThought) && !inTurn) {
      inTurn = true;
      seen += 1;
      if (seen > keep) cleared += 1;
    }
    const left = seen > keep ? blocksOf(message).filter((block) => !isThought(block)) : blocksOf(message);
    if (message["role"] === "assistant") kept.push(...(left.length === 0 ? [] : [{ ...message, content: [...left] }]));
    else kept.push(message);
    if (message["role"] === "user" && blocksOf(message).some(({ type }) => type === "text")) inTurn = false;
  }
  return { messages: kept.toReversed(), count: cleared };
}

function withoutUses(messages: readonly JsonObject[], edit: JsonObject): ByClient {
  const calls = messages.flatMap((message) => blocksOf(message).filter(({ type }) => type === "tool_use"));
  const keep = Number(field(edit["keep"], "value") ?? 3);
  const excluded = (edit["exclude_tools"] ?? []) as Json[];
  const inputs = edit["clear_tool_inputs"] ?? false;
  const doomed = calls.filter(({ name }, at) => at < calls.length - keep && !excluded.includes(name ?? null));
  const ids = new Set(doomed.map(({ id }) => id));
  const touched = new Set<Json>();
  const changed = (block: JsonObject): JsonObject => {
    if (block["type"] === "tool_result" && ids.has(block["tool_use_id"])) {
      if (block["content"] !== clearedResultText) touched.add(block["tool_use_id"] ?? null);
      return { ...block, content: clearedResultText };
    }
    const isNamed = typeof inputs === "object" ? (inputs as Json[]).includes(block["name"] ?? null) : inputs === true;
    if (block["type"] !== "tool_use" || !ids.has(block["id"]) || !isNamed) return block;
    if (JSON.stringify(block["input"]) !== "{}") touched.add(block["id"] ?? null);
    return { ...block, input: {} };
  };
  const edited = messages.map((message) =>
    typeof message["content"] === "string" ? message : { ...message, content: blocksOf(message).map(changed) },
  );
  return { messages: edited, count: touched.size };
}

const isMet = (trigger: Json | undefined, { size, calls }: { size: number; calls: number }): boolean =>
  (field(trigger, "type") === "tool_uses" ? calls : size) > Number(field(trigger, "value"));

const callsIn = (messages: readonly JsonObject[]): number =>
  messages.flatMap((message) => blocksOf(message).filter(({ type }) => type === "tool_use")).length;

/** What a client would send and report that made the edits itself. */
async function editedByClient(
  messages: readonly JsonObject[],
  { list, sizeOf }: { list: readonly JsonObject[]; sizeOf: (messages: readonly JsonObject[]) => Promise<number> },
): Promise<{ messages: readonly JsonObject[]; applied: JsonObject[] }> {
  const applied: JsonObject[] = [];
  let left = messages;
  for (const edit of list) {
    const size = await sizeOf(left);
    const isTools = edit["type"] === "clear_tool_uses_20250919";
    if (isTools && !isMet(edit["trigger"], { size, calls: callsIn(left) })) continue;
    const { messages: candidate, count } = isTools ? withoutUses(left, edit) : withoutThinking(left, edit);
    const cleared = size - (await sizeOf(candidate));
    if (count === 0 || cleared < Math.max(1, Number(field(edit["clear_at_least"], "value") ?? 0))) continue;
    left = candidate;
    const counter = isTools ? "cleared_tool_uses" : "cleared_thinking_turns";
    applied.push({ type: edit["type"] ?? "", [counter]: count, cleared_input_tokens: cleared });
  }
  return { messages: left, applied };
}

const base = {
  model,
  thinking: { type: "adaptive" },
  cache_control: { type: "ephemeral" },
  tools: tools.map((name) => ({ name, input_schema: { type: "object" } })),
};

describe("edits made by the server", () => {
  it("show, cost and report what the same edits made by a client do, request after request", async () => {
    await fc.assert(
      fc.asyncProperty(replies, editList, async (said, list) => {
        const server = new Edited(base);
        const client = new Edited(base);
        const sizeOf = async (messages: readonly JsonObject[]): Promise<number> =>
          totalOf((await client.message({ messages: [...messages] })).usage);
        const conversation = new Conversation();
        for (const one of said) {
          conversation.add(one);
          const request = { messages: [...conversation.messages], ...edits(...list) };
          const shown = await server.shown(request);
          const { usage, context_management: management } = await server.message(request);
          const byClient = await editedByClient(conversation.messages, { list, sizeOf });
          expect(shown).toEqual(byClient.messages);
          expect(await client.shown({ messages: [...byClient.messages] })).toEqual(shown);
          expect(management?.applied_edits).toEqual(byClient.applied);
          expect(totalOf(usage)).toBe(await sizeOf(byClient.messages));
        }
      }),
      parametersFor({ quick: 20, long: 500 }),
    );
  });

  it("find nothing more to clear in what they left", async () => {
    await fc.assert(
      fc.asyncProperty(replies, editList, async (said, list) => {
        const server = new Edited(base);
        const conversation = new Conversation();
        for (const one of said) conversation.add(one);
        const shown = (await server.shown({
          messages: conversation.messages,
          ...edits(...list),
        })) as unknown as JsonObject[];
        expect(await server.applied({ messages: shown, ...edits(...list) })).toEqual([]);
        expect(await server.shown({ messages: shown, ...edits(...list) })).toEqual(shown);
      }),
      parametersFor({ quick: 60, long: 1_000 }),
    );
  });
});
