import type { AdoptOutcome } from "palimpsest/internal/session/adopt-once";
import type { WriteFailure } from "palimpsest/internal/ports/blobs";
import type { OpenForWritingOutcome } from "palimpsest/internal/ports/transcripts";
import { type ExitCode, exitCode, failure, type Failure } from "../program/failure.ts";
import type { TurnEndEvent } from "palimpsest/internal/schema/loop-event";
import type { OpenAgentOutcome } from "../agent/agent.ts";
import type { SessionOwner } from "../host/session-owner.ts";
import type { Problem } from "palimpsest/internal/settings/problem";
import { problemWithHint } from "../program/report-problems.ts";

type OpenOrWriteFailure =
  | Exclude<OpenForWritingOutcome, { kind: "open" }>
  | Extract<AdoptOutcome, { kind: "damaged" }>
  | WriteFailure;

/** The exit code for a refused write. */
const refusalCode = (why: WriteFailure["why"]): ExitCode & (4 | 6) =>
  why === "lock-lost" ? exitCode.busy : exitCode.machine;

export function sessionFailure(outcome: OpenOrWriteFailure, session: string): Failure {
  switch (outcome.kind) {
    case "busy":
      return failure({
        code: exitCode.busy,
        message: `session ${session} is in use by ${outcome.holder}`,
        hint: "End that process, or wait until it has finished.",
      });
    case "missing":
      return failure({
        code: exitCode.notFound,
        message: `there is no session ${session}`,
        hint: "`palimpsest sessions list --all` shows the sessions there are.",
      });
    case "exists":
      return failure({
        code: exitCode.refused,
        message: `there is a session ${session} already`,
        hint: "Nothing was written.",
      });
    case "damaged":
      return failure({
        code: exitCode.refused,
        message: `its copy, session ${outcome.id}, is damaged: run palimpsest sessions fsck`,
        hint: "Nothing was written. A new copy is made once the transcript of that session is moved away.",
      });
    case "failed":
      return failure({
        code: refusalCode(outcome.why),
        message: outcome.message,
        hint: "What was written before stays; run it again when the cause is gone.",
      });
  }
}

export const busyGatewayFailure = (session: string): Failure =>
  failure({
    code: exitCode.busy,
    message: `the gateway has session ${session} open: a reply is on its way to its client`,
    hint: "Try again when the reply has ended.",
  });

/**
 * Lets scripts see whether a turn was answered, and tell a full disk from a failed model. Undefined: the turn had no
 * end.
 */
export function turnExitCode(end: Pick<TurnEndEvent, "reason" | "unwritten"> | undefined): ExitCode {
  if (end?.unwritten !== undefined) return refusalCode(end.unwritten);
  return end?.reason === "answered" ? exitCode.fine : exitCode.negative;
}

/** `whileBusy`: what to do if another process has the session. */
export function agentFailure(opened: Exclude<OpenAgentOutcome, { kind: "agent" }>, whileBusy: string): Failure {
  switch (opened.kind) {
    case "no-key":
      return failure({ code: exitCode.refused, message: "there is no key for a model", hint: opened.message });
    case "unreadable-deny-rules":
      return unreadableDenyRulesFailure(opened.problems);
    case "missing":
      return failure({
        code: exitCode.notFound,
        message: `there is no session ${opened.id}`,
        hint: "`palimpsest sessions list` shows them.",
      });
    case "busy":
      return failure({
        code: exitCode.busy,
        message: `the session is in use by ${opened.holder}`,
        hint: whileBusy,
      });
    case "not-ours":
      return notOursFailure(opened.id, opened.owner);
    case "team-refused":
      return failure({ code: exitCode.refused, message: opened.message.replace(/\.$/, "") });
    case "failed":
      return failure({ code: refusalCode(opened.why), message: opened.message });
  }
}

export const notOursFailure = (id: string, owner: Exclude<SessionOwner, "agent">): Failure =>
  failure({
    code: exitCode.refused,
    message: `${belongsToText(id, owner)}: Palimpsest's own agent would add its system prompt and tools to it`,
    hint: `Go on with it in that ${owner === "gateway" ? "client" : "program"}. \`palimpsest view ${id}\` shows it, and \`palimpsest --resume ${id} --fork\` continues a copy.`,
  });

export const belongsToText = (id: string, owner: Exclude<SessionOwner, "agent">): string =>
  `session ${id} belongs to ${owner === "gateway" ? "a client of the gateway" : "a program that uses the library"}`;

function unreadableDenyRulesFailure(problems: readonly Problem[]): Failure {
  const [first] = problems;
  const others = problems.length > 1 ? ` (and ${problems.length - 1} more like it)` : "";
  return failure({
    code: exitCode.usage,
    message: `it is unclear what your settings forbid: ${first === undefined ? "" : problemWithHint(first)}${others}`,
    hint: "Correct the file, then start again; `palimpsest explain` lists everything that is wrong with it.",
  });
}
