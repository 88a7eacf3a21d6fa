import type { WriteFailure } from "../../ports/blobs.ts";
import type { ModelFailure } from "../../ports/model.ts";
import type { TurnOutcome } from "../../schema/event.ts";
import { figure } from "../../schema/figure.ts";
import type { Remedies } from "../../schema/remedy.ts";
import type { Assembled } from "./request.ts";

/** Every way in which a turn ends without an answer: what is said then, and what the user can do. */
export type UnansweredTurn = Extract<TurnOutcome, { message: string }>;

export const roundsSpent = (roundsMax: number): UnansweredTurn => ({
  reason: "turn-limit",
  message: `The turn was ended after ${roundsMax} rounds.`,
  remedies: ["go-on"],
});

export const stoppedByHook = (message: string): UnansweredTurn => ({
  reason: "blocked-by-hook",
  message,
  remedies: ["check-hooks"],
});

/** Nothing of the turn is lost: what the log took is there. */
export const unwritten = ({ message, why }: WriteFailure): UnansweredTurn => ({
  reason: "failed",
  message,
  remedies: remediesByWrite[why],
  unwritten: why,
});

export function unsent(assembled: Exclude<Assembled, { kind: "request" }>): UnansweredTurn {
  switch (assembled.kind) {
    case "over-limit": {
      const { tokens, limit } = assembled;
      const message = `The context has about ${figure(tokens)} tokens; no request over ${figure(limit)} can be sent.`;
      return { reason: "over-limit", message, remedies: roomRemedies };
    }
    case "not-sendable":
      return { reason: "failed", message: assembled.why.text, remedies: ["rewind", "new-session"] };
  }
}

/** A reply that did not come to its own end; undefined of one that did. */
export function cutShort(stopReason: string): UnansweredTurn | undefined {
  switch (stopReason) {
    case "max_tokens":
      return { reason: "cut-short", message: "The reply was cut off at its limit of tokens.", remedies: ["go-on"] };
    case "refusal":
      return { reason: "refused", message: "The model refused to answer.", remedies: ["rewind", "other-model"] };
    case "model_context_window_exceeded":
      return { reason: "over-limit", message: "The reply was cut off where the window ends.", remedies: roomRemedies };
    default:
      return undefined;
  }
}

/** `message`: the failure's, with what was tried. */
export const failedRequest = ({ why }: ModelFailure, message: string): UnansweredTurn => ({
  reason: why === "too-long" ? "over-limit" : "failed",
  message,
  remedies: remediesByFailure[why],
});

const roomRemedies: Remedies = ["compact", "rewind", "other-model"];

const remediesByWrite: Readonly<Record<WriteFailure["why"], Remedies>> = {
  "disk-full": ["check-disk", "say-again"],
  "read-only": ["check-disk", "say-again"],
  io: ["check-disk", "say-again"],
  "lock-lost": ["open-again"],
  "too-large": ["say-less"],
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
