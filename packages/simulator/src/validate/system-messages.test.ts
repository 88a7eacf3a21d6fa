import { describe } from "vitest";
import { holdRules } from "../../../../test/fixture/rule-rows.ts";
import {
  call,
  models,
  result,
  says,
  searched,
  searches,
  system,
  text,
  user,
} from "../../../../test/fixture/wire-request.ts";

const hello = user(text("hello"));
const note = system(text("be brief"));
const on = { model: models.new };
const follows =
  "a `system` message must directly follow a `user` turn or an `assistant` turn that ends with a server tool result";
const precedes = "a `system` message must be the last message or be followed by an `assistant` turn";

const slow = { ...note, output_config: { effort: "max" } };
const noConfig = (at: number): string => `messages.${at}.output_config: Extra inputs are not permitted`;

describe("effort of its own", () => {
  holdRules([
    {
      rule: "needs a beta",
      refused: { messages: [hello, slow] },
      on,
      message: noConfig(1),
      allowed: { messages: [hello, slow] },
      allowedOn: { ...on, betas: ["mid-conversation-output-config-2026-07-01"] },
    },
    {
      rule: "is for system messages, not for a person's",
      refused: { messages: [{ ...hello, output_config: {} }, slow] },
      on: { ...on, betas: ["per-turn-control-2026-07-01"] },
      message: noConfig(0),
      allowed: { messages: [{ ...hello, output_config: null }, slow] },
    },
    {
      rule: "may be all that a message says, but something it must say",
      refused: { messages: [hello, { ...system(), output_config: {} }] },
      on: { ...on, betas: ["per-turn-control-2026-07-01"] },
      message: "messages.1: all messages must have non-empty content except for the optional final assistant message",
      allowed: { messages: [hello, { ...slow, content: [] }, says(text("hi")), hello] },
    },
    {
      rule: "may stand in a message without content, but one of both there must be",
      refused: { messages: [hello, { role: "system" }] },
      on: { ...on, betas: ["per-turn-control-2026-07-01"] },
      message: "messages.1.content: Field required",
      allowed: { messages: [hello, { role: "system", output_config: { effort: "max" } }] },
    },
    {
      rule: "is more than an empty configuration in a message without content",
      refused: { messages: [hello, { role: "system", output_config: {} }] },
      on: { ...on, betas: ["per-turn-control-2026-07-01"] },
      message: "messages.1: all messages must have non-empty content except for the optional final assistant message",
      allowed: { messages: [hello, { role: "system", output_config: { effort: "low" } }] },
    },
    {
      rule: "is all that a message configures",
      refused: { messages: [hello, { ...note, output_config: { format: {} } }] },
      on: { ...on, betas: ["per-turn-control-2026-07-01"] },
      message: "messages.1.output_config.format: Extra inputs are not permitted",
      allowed: { messages: [hello, { ...note, output_config: {} }] },
    },
  ]);
});

const brief = { ...note, clear_at: "next_user_message" };
const clearing = { ...on, betas: ["mid-conversation-system-clear-at-2026-08-21"] };

describe("the time that a message is shown", () => {
  holdRules([
    {
      rule: "needs a beta",
      refused: { messages: [hello, brief] },
      on,
      message: "messages.1.clear_at: Extra inputs are not permitted",
      allowed: { messages: [hello, brief, says(text("hi")), hello] },
      allowedOn: clearing,
    },
    {
      rule: "is for system messages, not for a person's",
      refused: { messages: [{ ...hello, clear_at: "never" }, brief] },
      on: clearing,
      message: "messages.0.clear_at: Extra inputs are not permitted",
      allowed: {
        messages: [
          { ...hello, clear_at: null },
          { ...note, clear_at: "never" },
        ],
      },
    },
    {
      rule: "is one of two",
      refused: { messages: [hello, { ...note, clear_at: "now" }] },
      on: clearing,
      message: "messages.1.clear_at: Input should be 'next_user_message' or 'never'",
      allowed: { messages: [hello, brief] },
    },
  ]);
});

describe("system messages inside a conversation", () => {
  holdRules([
    {
      rule: "are for models that take them",
      refused: { messages: [hello, note] },
      on: { model: models.old },
      message:
        'messages: Unexpected role "system". The Messages API accepts a top-level `system` parameter, not "system" as an input message role.',
      allowed: { messages: [hello, note] },
      allowedOn: on,
    },
    {
      rule: "do not follow the assistant's words",
      refused: { messages: [hello, says(text("hi")), note, says(text("so")), hello] },
      on,
      message: `messages.2: ${follows}`,
      allowed: {
        messages: [hello, says(searches("srvtoolu_1"), searched("srvtoolu_1")), note, says(text("so")), hello],
      },
    },
    {
      rule: "do not precede a user turn",
      refused: { messages: [hello, note, hello] },
      on,
      message: `messages.1: ${precedes}`,
      allowed: { messages: [hello, note, note, says(text("hi")), hello] },
    },
    {
      rule: "never part a call from its result",
      refused: { messages: [hello, says(call("x")), note, user(result("x"))] },
      on,
      message: `messages.2: ${follows}`,
      allowed: { messages: [hello, says(call("x")), user(result("x")), note] },
    },
    {
      rule: "hold only text and changes of tools",
      refused: { messages: [hello, system(text("a"), { type: "image", source: { type: "url", url: "https://a.b" } })] },
      on,
      message:
        "messages.1.content.1: `system` messages can only hold `text`, `tool_addition` and `tool_removal` blocks",
      allowed: { messages: [hello, { role: "system", content: "a" }] },
    },
    {
      rule: "are not empty",
      refused: { messages: [hello, system()] },
      on,
      message: "messages.1: all messages must have non-empty content except for the optional final assistant message",
      allowed: { messages: [hello, note] },
    },
  ]);
});
