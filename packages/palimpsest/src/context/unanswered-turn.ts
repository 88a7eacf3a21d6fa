import type { WriteFailure } from "../ports/blobs.ts";
import type { ModelFailure } from "../ports/model-port.ts";
import type { TurnOutcome, Remedies } from "../schema/loop-event.ts";
import { formatCount } from "../text/format-count.ts";
import type { Rung } from "./request/refusal-ladder.ts";
import type { AssembleOutcome } from "./request/assemble-request.ts";

/** The end of a turn without an answer: a message for the user, and what they can do. */
export type UnansweredTurn = Extract<TurnOutcome, { message: string }>;

export const roundLimitEnd = (roundsMax: number): UnansweredTurn => ({
  reason: "turn-limit",
  message: `The turn was ended after ${roundsMax} rounds.`,
  remedies: ["go-on"],
});

export const hookEnd = (message: string): UnansweredTurn => ({
  reason: "blocked-by-hook",
  message,
  remedies: ["check-hooks"],
});

/** Entries of the turn that were written before the failure stay. */
export const writeFailureEnd = ({ message, why }: WriteFailure): UnansweredTurn => ({
  reason: "failed",
  message,
  remedies: remediesByWrite[why],
  unwritten: why,
});

/** For a turn whose final sync failed. An earlier failure of the turn comes first, with its remedies. */
export function syncFailureEnd(end: TurnOutcome, failure: WriteFailure): UnansweredTurn {
  if (end.message === undefined) return writeFailureEnd(failure);
  if (end.unwritten !== undefined) return end;
  return { ...end, message: `${endSentence(end.message)} ${failure.message}`, unwritten: failure.why };
}

export function notSentEnd(assembled: Exclude<AssembleOutcome, { kind: "request" }>): UnansweredTurn {
  switch (assembled.kind) {
    case "over-limit": {
      const { tokens, limit } = assembled;
      const message = `The context has about ${formatCount(tokens)} tokens; no request over ${formatCount(limit)} can be sent.`;
      return { reason: "over-limit", message, remedies: roomRemedies };
    }
    case "not-sendable":
      return { reason: "failed", message: assembled.why.text, remedies: ["rewind", "new-session"] };
  }
}

/** For a reply that was cut off or refused; undefined if it is complete. */
export function cutReplyEnd(stopReason: string): UnansweredTurn | undefined {
  switch (stopReason) {
    case "max_tokens":
      return { reason: "cut-short", message: "The reply was cut off at its token limit.", remedies: ["go-on"] };
    case "refusal":
      return { reason: "refused", message: "The model refused to answer.", remedies: ["rewind", "other-model"] };
    case "model_context_window_exceeded":
      return {
        reason: "over-limit",
        message: "The reply was cut off at the end of the context window.",
        remedies: roomRemedies,
      };
    default:
      return undefined;
  }
}

interface RequestFailure {
  readonly failure: ModelFailure;
  /** The failure's message, with the number of tries. */
  readonly message: string;
  /** The simplified requests that were refused too, in order. */
  readonly tried: readonly Rung[];
}

export const requestFailureEnd = ({ failure: { why, beside }, message, tried }: RequestFailure): UnansweredTurn => ({
  reason: why === "too-long" ? "over-limit" : "failed",
  message:
    tried.length === 0
      ? message
      : `${endSentence(message)} It was also refused ${tried.map((rung) => textByRung[rung]).join(", ")}.`,
  remedies: beside === undefined ? remediesByFailure[why] : remediesBeside[beside],
});

const endSentence = (message: string): string => (/[.!?…]$/.test(message) ? message : `${message}.`);

const textByRung: Readonly<Record<Rung, string>> = {
  shorter: "with a summary in place of older messages",
  "server-summary": "without the provider's own summary",
  thinking: "without thinking",
  media: "without images and documents",
  "other-blocks": "without blocks of other kinds",
  everything: "with a summary in place of everything",
};

const roomRemedies: Remedies = ["compact", "rewind", "other-model"];

const remediesByWrite: Readonly<Record<WriteFailure["why"], Remedies>> = {
  "disk-full": ["check-disk", "say-again"],
  "read-only": ["check-disk", "say-again"],
  io: ["check-disk", "say-again"],
  "lock-lost": ["open-again"],
  "too-large": ["say-less"],
};

const remediesBeside: Readonly<Record<NonNullable<ModelFailure["beside"]>, Remedies>> = {
  tools: ["check-tools", "other-model"],
  settings: ["check-settings", "other-model"],
};

const remediesByFailure: Readonly<Record<ModelFailure["why"], Remedies>> = {
  "too-long": ["compact", "rewind", "smaller-window", "other-model"],
  refused: ["rewind", "other-model", "new-session"],
  overloaded: ["wait", "other-model"],
  "rate-limited": ["wait", "check-account"],
  server: ["wait", "other-model"],
  network: ["check-network", "check-address"],
  timeout: ["wait", "check-network"],
  "broken-stream": ["say-again", "check-network"],
  unauthorised: ["check-key"],
  "not-found": ["other-model", "check-address"],
  "spend-limit": ["check-account", "other-model"],
  aborted: ["say-again"],
};
