import type { WireMessage } from "palimpsest/internal/schema/wire/request";
import { invalid } from "../refusal.ts";
import type { Rule } from "./check-input.ts";
import { isServerResult } from "./pairing.ts";
import { type Turn, turnsOf } from "./turns.ts";

/** Which models take system messages inside `messages`, where they may stand, and what they may set. */
export const checkSystemMessages: Rule = (input) =>
  input.request.messages.every(isPlain) ? undefined : (checkEffort(input) ?? checkClearAt(input) ?? checkPlaces(input));

/** Nothing of it concerns these rules: most conversations have no other messages. */
const isPlain = ({ role, output_config: config, clear_at: clearAt }: WireMessage): boolean =>
  role !== "system" && config === undefined && clearAt === undefined;

/** Any of them lets a system message set the effort from there on. */
const effortBetas = ["mid-conversation-output-config-2026-07-01", "per-turn-control-2026-07-01"] as const;

const checkEffort: Rule = ({ request: { messages }, betas }) => {
  const isKnown = effortBetas.some((name) => betas.has(name));
  const at = messages.findIndex(
    ({ role, output_config: config }) => config !== null && config !== undefined && !(isKnown && role === "system"),
  );
  return at === -1 ? undefined : invalid("Extra inputs are not permitted", `messages.${at}.output_config`);
};

export const clearAtBeta = "mid-conversation-system-clear-at-2026-08-21";

/** Says when a message stops being shown; `never`, spelled out, is a use of it too. */
const checkClearAt: Rule = ({ request: { messages }, betas }) => {
  const isKnown = betas.has(clearAtBeta);
  const at = messages.findIndex(
    ({ role, clear_at: clearAt }) => clearAt !== null && clearAt !== undefined && !(isKnown && role === "system"),
  );
  return at === -1 ? undefined : invalid("Extra inputs are not permitted", `messages.${at}.clear_at`);
};

/**
 * Directly behind a user turn, or behind an assistant turn that ends in a server tool's result, and then last or before
 * an assistant turn. So a system message never parts a call from its result.
 */
const checkPlaces: Rule = ({ request: { messages }, traits }) => {
  if (!messages.some(({ role }) => role === "system")) return undefined;
  if (traits.systemMessages === "refused") {
    return invalid(
      'Unexpected role "system". The Messages API accepts a top-level `system` parameter, not "system" as an input message role.',
      "messages",
    );
  }
  const turns = turnsOf(messages);
  for (const [at, turn] of turns.entries()) {
    if (turn.role !== "system") continue;
    const path = `messages.${(turns[at - 1]?.last ?? -1) + 1}`;
    if (!mayPrecede(turns[at - 1]))
      return invalid(
        "a `system` message must directly follow a `user` turn or an `assistant` turn that ends with a server tool result",
        path,
      );
    if (turns[at + 1]?.role === "user")
      return invalid("a `system` message must be the last message or be followed by an `assistant` turn", path);
  }
  return undefined;
};

function mayPrecede(turn: Turn | undefined): boolean {
  if (turn === undefined) return false;
  const end = turn.blocks.at(-1)?.block;
  return turn.role === "user" || (end !== undefined && isServerResult(end));
}
