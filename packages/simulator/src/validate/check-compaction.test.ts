import { describe, expect, it } from "vitest";
import { holdRules } from "../../../../test/fixture/rule-rows.ts";
import {
  call,
  judged,
  models,
  result,
  says,
  searched,
  searches,
  system,
  text,
  tool,
  user,
} from "../../../../test/fixture/wire-request.ts";
import type { JsonObject } from "palimpsest/internal/schema/json";
import { compactionToolReferencesMax } from "../limits.ts";

const threshold = { betas: ["compact-2026-01-12"], model: models.new };
const onDemand = { betas: ["compact-2026-09-04"], model: models.new };
const both = { betas: [...threshold.betas, ...onDemand.betas], model: models.new };
const summarize = { compaction: { type: "summarize" } };
const edit = { context_management: { edits: [{ type: "compact_20260112" }] } };

const block = (more: JsonObject = {}): JsonObject => ({ type: "compaction", content: "So far.", ...more });
const signed = (more: JsonObject = {}): JsonObject => block({ signature: "sig", ...more });
const failed = block({ content: null });

describe("to ask for a compaction", () => {
  holdRules([
    {
      rule: "the parameter needs its beta",
      refused: summarize,
      on: threshold,
      message: "compaction: Extra inputs are not permitted",
      allowed: summarize,
      allowedOn: onDemand,
    },
    {
      rule: "the model must be able to",
      refused: summarize,
      on: { ...onDemand, model: models.old },
      message: "compaction: compaction is not supported on this model",
      allowed: summarize,
      allowedOn: { ...onDemand, model: models.between },
    },
    {
      rule: "the model must be able to, at a threshold too",
      refused: edit,
      on: { ...threshold, model: "claude-haiku-4-5" },
      message: "context_management.edits.0: `compact_20260112` is not supported on this model",
      allowed: edit,
      allowedOn: { ...threshold, model: "claude-haiku-5-5" },
    },
    {
      rule: "on demand goes without edits",
      refused: { ...summarize, context_management: { edits: [] } },
      on: both,
      message: "compaction: `compaction` cannot be combined with `context_management`",
      allowed: { ...summarize, context_management: null },
    },
    {
      rule: "on demand goes without stop sequences",
      refused: { ...summarize, stop_sequences: ["."] },
      on: onDemand,
      message: "stop_sequences: stop sequences are not supported with `compaction`",
      allowed: { ...summarize, stop_sequences: [] },
    },
    {
      rule: "on demand goes without an output format",
      refused: { ...summarize, output_config: { format: { type: "json_schema" } } },
      on: onDemand,
      message: "output_config.format: an output format is not supported with `compaction`",
      allowed: { ...summarize, output_config: { effort: "low" } },
    },
    {
      rule: "on demand goes without a forced tool",
      refused: { ...summarize, tools: [tool("Read")], tool_choice: { type: "any" } },
      on: onDemand,
      message: "tool_choice: forced tool use is not supported with `compaction`",
      allowed: { ...summarize, tools: [tool("Read")], tool_choice: { type: "auto" } },
    },
    {
      rule: "on demand is more than to warm the cache",
      refused: { ...summarize, max_tokens: 0 },
      on: onDemand,
      message: "compaction: `compaction` is not supported when `max_tokens` is 0",
      allowed: { ...summarize, max_tokens: 1 },
    },
    {
      rule: "an open call ends an unfinished turn",
      refused: { ...summarize, messages: [user(text("hi")), says(call("toolu_1"))] },
      on: onDemand,
      message: "messages.1: the conversation ends in an `assistant` turn that is not finished",
      errorCode: "compaction_incomplete_turn",
      allowed: { ...summarize, messages: [user(text("hi")), says(call("toolu_1")), user(result("toolu_1"))] },
    },
    {
      rule: "a server tool's call without its result ends an unfinished turn",
      refused: { ...summarize, messages: [user(text("hi")), says(searches("srvtoolu_1"))] },
      on: onDemand,
      message: "messages.1: the conversation ends in an `assistant` turn that is not finished",
      errorCode: "compaction_incomplete_turn",
      allowed: { ...summarize, messages: [user(text("hi")), says(searches("srvtoolu_1"), searched("srvtoolu_1"))] },
    },
    {
      rule: "there must be something to sum up",
      refused: { ...summarize, messages: [] },
      on: onDemand,
      message: "messages: there is no content to summarize",
      errorCode: "compaction_nothing_to_summarize",
      allowed: { ...summarize, messages: [user(text("hi"))] },
    },
    {
      rule: "what system messages say is nothing to sum up",
      refused: { ...summarize, messages: [system(text("Be brief."))] },
      on: onDemand,
      message: "messages: there is no content to summarize",
      errorCode: "compaction_nothing_to_summarize",
      allowed: { ...summarize, messages: [user(text("hi")), says(text("hello"))] },
    },
    {
      rule: "only so many tools can be recorded",
      refused: { ...summarize, messages: referring(compactionToolReferencesMax + 1) },
      on: onDemand,
      message: "messages: the conversation refers to 1001 distinct tools; a compaction can record 1000",
      errorCode: "compaction_too_many_tool_references",
      allowed: { ...summarize, messages: referring(compactionToolReferencesMax) },
    },
  ]);

  it("may end in the assistant's words, on models that take no prefill too", () => {
    const messages = [user(text("hi")), says(text("hello"))];
    expect(judged({ messages }, onDemand)?.message).toMatch(/prefill/);
    expect(judged({ ...summarize, messages }, onDemand)).toBeUndefined();
  });

  it("means nothing to a count of tokens", () => {
    const count = { ...onDemand, endpoint: "count_tokens" } as const;
    const messages = [user(text("hi")), says(call("toolu_1")), user(result("toolu_1"))];
    expect(
      judged({ ...summarize, messages, context_management: { edits: [] } }, { ...both, ...count, betas: both.betas }),
    ).toBeUndefined();
    expect(judged({ ...summarize, messages, tools: [tool("a")], tool_choice: { type: "any" } }, count)).toBeUndefined();
  });
});

function referring(count: number): JsonObject[] {
  const parts = Array.from({ length: count }, (_, at) => ({ type: "tool_reference", tool_name: `tool_${at}` }));
  return [user(text("hi")), says(call("toolu_1")), user(result("toolu_1", parts))];
}

describe("a compaction block that comes back", () => {
  holdRules([
    {
      rule: "needs a beta",
      refused: { messages: [user(block(), text("go on"))] },
      on: { model: models.new },
      message:
        "messages.0.content.0: Input tag 'compaction' found using 'type' does not match any of the expected tags",
      allowed: { messages: [user(block(), text("go on"))] },
      allowedOn: threshold,
    },
    {
      rule: "needs the beta of compactions on demand where it is signed",
      refused: { messages: [says(signed()), user(text("go on"))] },
      on: threshold,
      message: "messages.0.content.0.compaction.signature: Extra inputs are not permitted",
      allowed: { messages: [says(signed()), user(text("go on"))] },
      allowedOn: onDemand,
    },
    {
      rule: "needs a model that compacts",
      refused: { messages: [says(block()), user(text("go on"))] },
      on: { ...threshold, model: models.old },
      message: "messages.0.content.0: `compaction` blocks are not supported on this model",
      allowed: { messages: [says(block()), user(text("go on"))] },
      allowedOn: threshold,
    },
    {
      rule: "has no empty content",
      refused: { messages: [user(text("hi")), says(block({ content: "" }), text("ok")), user(text("go on"))] },
      on: threshold,
      message: "messages.1.content.0.compaction.content: content must be null or a text that is not empty",
      allowed: { messages: [user(text("hi")), says(failed, text("ok")), user(text("go on"))] },
    },
    {
      rule: "stands in no system message",
      refused: { messages: [user(text("hi")), system(block()), says(text("ok")), user(text("go on"))] },
      on: threshold,
      message: "messages.1.content.0: `compaction` blocks cannot be in `system` messages",
      errorCode: "compaction_block_misplaced",
      allowed: { messages: [user(text("hi")), says(block(), text("ok")), user(text("go on"))] },
    },
    {
      rule: "stands first where it is signed",
      refused: { messages: [user(text("hi")), says(signed(), text("ok")), user(text("go on"))] },
      on: onDemand,
      message: "messages.1.content.0: the `compaction` block must be the first block of the conversation",
      errorCode: "compaction_block_misplaced",
      allowed: { messages: [user(signed(), text("hi")), says(text("ok")), user(text("go on"))] },
    },
    {
      rule: "stands first in its message where it is signed",
      refused: { messages: [user(text("hi"), signed())] },
      on: onDemand,
      message: "messages.0.content.1: the `compaction` block must be the first block of the conversation",
      errorCode: "compaction_block_misplaced",
      allowed: { messages: [user(signed(), text("hi"))] },
    },
    {
      rule: "stands alone where it is signed",
      refused: { messages: [says(signed()), user(text("hi")), says(block(), text("ok")), user(text("go on"))] },
      on: both,
      message: "messages: `messages` can hold one `compaction` block with content: the one that was returned last",
      errorCode: "compaction_block_ambiguous",
      allowed: { messages: [says(signed()), user(text("hi")), says(failed, text("ok")), user(text("go on"))] },
    },
    {
      rule: "goes without the edit where it is signed",
      refused: { ...edit, messages: [says(signed()), user(text("hi"))] },
      on: both,
      message: "messages.0.content.0: a signed `compaction` block cannot be combined with the `compact_20260112` edit",
      allowed: { ...edit, messages: [says(block()), user(text("hi"))] },
    },
    {
      rule: "is something to go on from only with content",
      refused: { messages: [user(failed)] },
      on: threshold,
      message: "messages: there is no content to summarize",
      errorCode: "compaction_nothing_to_summarize",
      allowed: { messages: [user(failed, text("go on"))] },
    },
    {
      rule: "lets the assistant begin only with content",
      refused: { messages: [says(failed, text("hm")), user(text("go on"))] },
      on: threshold,
      message: 'messages: first message must use the "user" role',
      allowed: { messages: [says(failed, block()), user(text("go on"))] },
    },
    {
      rule: "is nothing at all without content: who speaks then begins",
      refused: { messages: [says(failed), says(text("hm")), user(text("go on"))] },
      on: threshold,
      message: 'messages: first message must use the "user" role',
      allowed: { messages: [says(failed), user(text("go on"))] },
    },
    {
      rule: "has no blank content",
      refused: { messages: [user(block({ content: " \n" }), text("go on"))] },
      on: threshold,
      message: "messages.0.content.0.compaction.content: content must be null or a text that is not empty",
      allowed: { messages: [user(block(), text("go on"))] },
    },
  ]);

  const bytes = (data: string): JsonObject => ({
    type: "image",
    source: { type: "base64", media_type: "image/png", data },
  });
  const mark = { cache_control: { type: "ephemeral" } };

  holdRules([
    {
      rule: "stands for results without calls, which are nobody's matter any more",
      refused: { messages: [user(text("hi")), says(block(), text("ok")), user(result("toolu_1"))] },
      on: threshold,
      message:
        "messages.2.content.0: unexpected `tool_use_id` found in `tool_result` blocks: toolu_1. Each `tool_result` block must have a corresponding `tool_use` block in the previous message.",
      allowed: { messages: [user(result("toolu_1")), says(text("ok"), block(), text("ok")), user(text("go on"))] },
    },
    {
      rule: "stands for calls without results in its own message, too",
      refused: { messages: [user(text("hi")), says(block(), call("toolu_1")), user(text("go on"))] },
      on: threshold,
      message:
        "messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: toolu_1. Each `tool_use` block must have a corresponding `tool_result` block in the next message.",
      allowed: { messages: [user(text("hi")), says(call("toolu_1"), block()), user(text("go on"))] },
    },
    {
      rule: "stands for markers, which count no more",
      refused: { messages: [user(...[1, 2, 3, 4, 5].map((n) => text(`${n}`, mark)))] },
      on: threshold,
      message: "A maximum of 4 blocks with cache_control may be provided. Found 5.",
      allowed: {
        messages: [
          user(...[1, 2, 3].map((n) => text(`${n}`, mark))),
          says(block(mark), text("ok", mark)),
          user(text("on", mark)),
        ],
      },
    },
    {
      rule: "stands for images, which are not looked at again",
      refused: { messages: [says(block()), user(bytes("!"))] },
      on: threshold,
      message: "messages.1.content.0.image.source.base64.data: invalid base64 data",
      allowed: { messages: [user(bytes("!")), says(block()), user(text("go on"))] },
    },
  ]);

  it("may be a threshold's several times: the last counts", () => {
    const messages = [
      user(text("hi")),
      says(block(), text("ok")),
      user(text("more")),
      says(block(), text("ok")),
      user(text("and")),
    ];
    expect(judged({ messages }, threshold)).toBeUndefined();
  });

  it("may be all there is: the turn goes on from it, on models that take no prefill too", () => {
    expect(judged({ messages: [says(signed())] }, onDemand)).toBeUndefined();
    expect(judged({ messages: [user(text("hi")), says(block())] }, threshold)).toBeUndefined();
  });
});
