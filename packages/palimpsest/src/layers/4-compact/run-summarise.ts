import type { Fork, ForkOutcome, ForkTask } from "../../ports/fork.ts";
import type { ModelFailure, SummaryAnswer, Summariser } from "../../ports/model-port.ts";
import type { MessagesReach } from "../../transcript/first-messages.ts";
import type { Message } from "../../schema/block.ts";
import type { CompactionCall, CompactionFailure } from "../../schema/compaction-cause.ts";
import type { JsonObject } from "../../schema/json.ts";
import { type SummaryFault, formatSummaryFault, readSummary, type SummaryReply } from "./gate/read-summary.ts";
import { forkLimits, summaryOutputTokensMax, unusableAnswersMax } from "./limits.ts";
import { gate, type GateInput } from "./gate/gate.ts";
import { dropOldest, tokensOver, toPlainMessages, plainRequest, sumTokens } from "./plain-request.ts";
import { plainSystemPrompt } from "./prompt.ts";
import { memoizeCount } from "../../tokens/estimate-block.ts";

interface SummariseDeps {
  /** A fork of the conversation. Absent: only the plain call. */
  readonly fork?: Fork | undefined;
  /** For the plain call. Absent: there is none, and a failure of the fork is final. */
  readonly summariser?: Summariser | undefined;
}

export interface SummariseInput {
  /** The last user text behind the conversation. */
  readonly prompt: string;
  /** What the plain call is to summarise, in the view's order, without the prompt. */
  readonly messages: readonly Message[];
  /** How much of its parent the fork begins with; all of it if absent. */
  readonly forkReach?: MessagesReach | undefined;
  /** Whether the fork's own end is written to the cache; `skip` if absent. */
  readonly forkWrite?: ForkTask["cacheWrite"] | undefined;
  /** What happens to the analysis before the summary; `stripped` if absent. */
  readonly analysis?: "stripped" | "kept" | undefined;
  readonly gate: Omit<GateInput, "summary">;
  /** Retries of the plain call if it was too long, shorter each time. */
  readonly retriesMax: number;
  /** Answers to this compaction on earlier paths that were no summary; none if absent. */
  readonly unusableAnswers?: number | undefined;
  /** Tries for each request of the fork, if fewer than usual. */
  readonly triesMax?: number | undefined;
  readonly onPhase?: ((phase: "fork" | "stream") => void) | undefined;
  /** Called with each piece of a reply as it arrives. */
  readonly onText?: ((text: string) => void) | undefined;
}

export type SummariseOutcome =
  | {
      readonly kind: "summary";
      readonly text: string;
      /** One line for each, for the user. */
      readonly changes: readonly string[];
      readonly path: "fork" | "stream";
      readonly calls: readonly CompactionCall[];
      /** Oldest rounds that the summariser did not see. */
      readonly droppedGroups: number;
    }
  | {
      readonly kind: "failed";
      readonly reason: CompactionFailure;
      /** One line for the user. */
      readonly message: string;
      readonly calls: readonly CompactionCall[];
    };

/**
 * Asks for a summary until one passes the gate, or nothing more can be done.
 *
 *   fork ──a summary──▶ over        fork ──fails, or is bad──▶ plain
 *   plain ──a summary──▶ over       plain ──too long──▶ plain, without its oldest rounds, at most `retriesMax` times
 *   plain ──bad, and may be better──▶ plain, once more
 *   plain ──fails, is bad again, or there is none──▶ failed   any ──abort──▶ failed
 *   any ──`unusableAnswersMax` bad answers, the fork's included──▶ failed
 *
 * Must not reject. Every reply that began is in `calls`, whatever became of it.
 */
export async function summarise(
  deps: SummariseDeps,
  input: SummariseInput,
  signal: AbortSignal,
): Promise<SummariseOutcome> {
  const call = new SummaryCall(deps, input, signal);
  return (await call.fork()) ?? (await call.plain());
}

type ReplyVerdict =
  | { readonly kind: "passed"; readonly text: string; readonly changes: readonly string[] }
  | { readonly kind: "bad"; readonly why: SummaryFault };

class SummaryCall {
  readonly #deps: SummariseDeps;
  readonly #input: SummariseInput;
  readonly #signal: AbortSignal;
  readonly #calls: CompactionCall[] = [];
  /** Why the fork yielded no summary. */
  #forkFailed: { readonly reason: CompactionFailure; readonly message: string } | undefined;
  /** Number of answers that were no summary. */
  #unusable: number;

  constructor(deps: SummariseDeps, input: SummariseInput, signal: AbortSignal) {
    this.#deps = deps;
    this.#input = input;
    this.#signal = signal;
    this.#unusable = input.unusableAnswers ?? 0;
  }

  /** Undefined if the plain call should be tried next. */
  async fork(): Promise<SummariseOutcome | undefined> {
    const { fork } = this.#deps;
    if (this.#signal.aborted) return this.#abort();
    if (fork === undefined) return undefined;
    const { prompt, forkReach, forkWrite = "skip", triesMax = forkLimits.triesMax, onPhase, onText } = this.#input;
    onPhase?.("fork");
    const outcome = await fork.run(
      {
        directive: prompt,
        source: "compact",
        roundsMax: 1,
        cacheWrite: forkWrite,
        permit: () => Promise.resolve({ kind: "denied", reason: "No tool is run while a summary is written." }),
        messagesMax: forkReach?.messagesMax,
        lastBlocksMax: forkReach?.lastBlocksMax,
        onText,
        ...forkLimits,
        triesMax: Math.min(triesMax, forkLimits.triesMax),
      },
      this.#signal,
    );
    this.#recordCalls("fork", { model: fork.model, usage: outcome.usage });
    if (this.#signal.aborted) return this.#abort();
    const reply = forkReply(outcome);
    const verdict = reply === undefined ? undefined : this.#read(reply);
    if (verdict?.kind === "passed") return this.#succeed(verdict, { path: "fork", droppedGroups: 0 });
    const failed =
      verdict === undefined
        ? whyNoReply(outcome)
        : { reason: faultReason(verdict.why), message: formatSummaryFault(verdict.why) };
    this.#forkFailed = failed;
    if (isWhole(outcome)) this.#unusable += 1;
    if (isCutAgain(outcome, this.#deps.summariser)) return this.#failBecause("cut-off");
    return this.#unusable < unusableAnswersMax ? undefined : this.#fail(failed.reason, failed.message);
  }

  async plain(): Promise<SummariseOutcome> {
    const { summariser } = this.#deps;
    const { messages, prompt, retriesMax, onPhase } = this.#input;
    if (summariser === undefined) {
      const { reason, message } = this.#forkFailed ?? {
        reason: "no_summary",
        message: "There is no model to ask for a summary.",
      };
      return this.#fail(reason, message);
    }
    // Memoised, since a request may be shortened several times.
    const count = memoizeCount((message: Message) => summariser.count(message));
    const tokensMax = summariser.inputTokensMax;
    const first = plainRequest({ messages: toPlainMessages(messages), prompt, tokensMax, count });
    if (first.kind === "no-room") return this.#fail("prompt_too_long", noRoomText(summariser.model));
    onPhase?.("stream");
    let { messages: request, droppedGroups } = first;
    for (let shorter = 0; ;) {
      const answer = await this.#ask(summariser, request);
      if (this.#signal.aborted) return this.#abort();
      if (answer.kind === "answered") {
        const verdict = this.#read(answer);
        const notes = [
          ...(droppedGroups === 0 ? [] : [unseenNote(droppedGroups)]),
          ...(first.text === "shortened" ? [shortenedNote] : []),
        ];
        if (verdict.kind === "passed")
          return this.#succeed(
            { ...verdict, changes: [...notes, ...verdict.changes] },
            { path: "stream", droppedGroups },
          );
        this.#unusable += 1;
        if (this.#unusable >= unusableAnswersMax || !mayBeBetter(verdict.why)) return this.#failBecause(verdict.why);
        continue;
      }
      if (answer.failure.why !== "too-long") return this.#fail(failureReason(answer.failure), answer.failure.message);
      const overTokens = overBy(answer.failure, sumTokens(request, count));
      const dropped = dropOldest({ messages: request, overTokens, count });
      if (shorter >= retriesMax || dropped.kind === "nothing-left") return this.#fail("prompt_too_long", tooLongText);
      shorter += 1;
      request = dropped.messages;
      droppedGroups += dropped.groups;
    }
  }

  async #ask(summariser: Summariser, messages: readonly Message[]): Promise<SummaryAnswer> {
    const { onText } = this.#input;
    const answer = await summariser.ask(
      { system: plainSystemPrompt, messages, outputTokensMax: summaryOutputTokensMax, onText },
      this.#signal,
    );
    const usage = [...(answer.wasted ?? []), ...(answer.usage === undefined ? [] : [answer.usage])];
    this.#recordCalls("stream", { model: summariser.model, usage });
    return answer;
  }

  #read(reply: SummaryReply): ReplyVerdict {
    const reading = readSummary(reply, this.#input.analysis);
    if (reading.kind === "bad") return reading;
    const gated = gate({ ...this.#input.gate, summary: reading.text });
    return gated.kind === "passed" ? gated : { kind: "bad", why: gated.why };
  }

  #recordCalls(
    path: CompactionCall["path"],
    { model, usage }: { readonly model: string; readonly usage: readonly JsonObject[] },
  ): void {
    for (const callUsage of usage) this.#calls.push({ path, model, usage: callUsage });
  }

  #succeed({ text, changes }: Extract<ReplyVerdict, { kind: "passed" }>, by: SummarySource): SummariseOutcome {
    return { kind: "summary", text, changes, ...by, calls: this.#calls };
  }

  #failBecause(why: SummaryFault): SummariseOutcome {
    return this.#fail(faultReason(why), formatSummaryFault(why));
  }

  #fail(reason: CompactionFailure, message: string): SummariseOutcome {
    return { kind: "failed", reason, message, calls: this.#calls };
  }

  #abort(): SummariseOutcome {
    return this.#fail("aborted", "The summary was cancelled.");
  }
}

type SummarySource = Pick<Extract<SummariseOutcome, { kind: "summary" }>, "path" | "droppedGroups">;

/** Undefined if the fork has no text: it failed, or called a tool and had no second round for its answer. */
const forkReply = (outcome: ForkOutcome): SummaryReply | undefined =>
  outcome.kind === "answered"
    ? {
        text: outcome.text,
        stopReason: undefined,
        blocks: outcome.said.flatMap(({ role, content }) => (role === "assistant" ? content : [])),
      }
    : undefined;

/**
 * Whether the model finished its answer, so that it counts as unusable. An answer that broke off says nothing about the
 * text.
 */
const isWhole = (outcome: ForkOutcome): boolean =>
  outcome.kind === "answered" || (outcome.kind === "over" && outcome.why === "rounds");

/**
 * Whether the fork wrote as much as the plain call may write: the plain call would read everything again and break off
 * at the same place.
 */
function isCutAgain(outcome: ForkOutcome, summariser: Summariser | undefined): boolean {
  if (outcome.kind !== "failed" || outcome.why !== "cut-short") return false;
  const written = outcome.usage.at(-1)?.["output_tokens"];
  return typeof written === "number" && written >= (summariser?.outputTokensMax ?? Infinity);
}

function whyNoReply(outcome: ForkOutcome): { readonly reason: CompactionFailure; readonly message: string } {
  switch (outcome.kind) {
    case "failed":
      return { reason: "api_error", message: outcome.message };
    case "over":
      return outcome.why === "over-limit"
        ? { reason: "prompt_too_long", message: tooLongText }
        : { reason: "no_summary", message: formatSummaryFault("tool-call") };
    case "answered":
      return { reason: "no_summary", message: formatSummaryFault("empty") };
  }
}

const faultReason = (why: SummaryFault): CompactionFailure => (why === "provider-error" ? "api_error" : "no_summary");

/** A misunderstanding may go away on a second try. A refusal, a cut-off or an oversized answer would not. */
function mayBeBetter(why: SummaryFault): boolean {
  switch (why) {
    case "empty":
    case "only-thinking":
    case "tool-call":
    case "provider-error":
    case "no-summary":
    case "repeated":
      return true;
    case "refusal":
    case "cut-off":
    case "too-long":
    case "not-smaller":
      return false;
  }
}

function failureReason({ why }: ModelFailure): CompactionFailure {
  if (why === "timeout") return "timed_out";
  return why === "aborted" ? "aborted" : "api_error";
}

/** The server's tokens are not ours: scales its excess to our count. */
function overBy(failure: ModelFailure, counted: number): number | "unknown" {
  const over = tokensOver(failure);
  const { usedTokens } = failure;
  return over === "unknown" || usedTokens === undefined ? "unknown" : Math.ceil((over * counted) / usedTokens);
}

const tooLongText =
  "The conversation is too long to be summarised, even without its oldest rounds. Rewind to an earlier message and go on from there.";
const noRoomText = (model: string): string =>
  `The window of ${model} is too small for the request for a summary. Choose another model, or rewind to an earlier message.`;
const unseenNote = (rounds: number): string =>
  `The summariser did not see the ${rounds === 1 ? "oldest round" : `${rounds} oldest rounds`}: its window had no room for more.`;
const shortenedNote = "What the summariser read was shortened: the newest round alone is longer than its window.";
