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
  /** Of the conversation; absent: the plain call at once. */
  readonly fork?: Fork | undefined;
  /** Of the plain call; absent: there is none, and the fork's failure is the last word. */
  readonly summariser?: Summariser | undefined;
}

export interface SummariseInput {
  /** The last user text behind the conversation. */
  readonly prompt: string;
  /** What the plain call is to summarise, in the view's order, without the prompt. */
  readonly messages: readonly Message[];
  /** With how much of its parent the fork begins; absent: with all of it. */
  readonly forkReach?: MessagesReach | undefined;
  /** Whether the fork's own end is written to the cache; absent: `skip`. */
  readonly forkWrite?: ForkTask["cacheWrite"] | undefined;
  /** What becomes of the notes before the summary; absent: `stripped`. */
  readonly analysis?: "stripped" | "kept" | undefined;
  readonly gate: Omit<GateInput, "summary">;
  /** Of the plain call, shorter each time, where it was too long. */
  readonly retriesMax: number;
  /** Answers to this compaction that were no summary already, by a path before these; absent: none. */
  readonly unusableAnswers?: number | undefined;
  /** Of each of the fork's requests, where that is fewer than usual. */
  readonly triesMax?: number | undefined;
  readonly onPhase?: ((phase: "fork" | "stream") => void) | undefined;
  /** Told of each piece of a reply as it comes. */
  readonly onText?: ((text: string) => void) | undefined;
}

export type SummariseOutcome =
  | {
      readonly kind: "summary";
      readonly text: string;
      /** A line for each, for a person. */
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
  const asking = new SummaryCall(deps, input, signal);
  return (await asking.fork()) ?? (await asking.plain());
}

type ReplyVerdict =
  | { readonly kind: "passed"; readonly text: string; readonly changes: readonly string[] }
  | { readonly kind: "bad"; readonly why: SummaryFault };

class SummaryCall {
  readonly #deps: SummariseDeps;
  readonly #input: SummariseInput;
  readonly #signal: AbortSignal;
  readonly #calls: CompactionCall[] = [];
  /** Why the fork has no summary. */
  #forkFailed: { readonly reason: CompactionFailure; readonly message: string } | undefined;
  /** Answers that were no summary. */
  #unusable: number;

  constructor(deps: SummariseDeps, input: SummariseInput, signal: AbortSignal) {
    this.#deps = deps;
    this.#input = input;
    this.#signal = signal;
    this.#unusable = input.unusableAnswers ?? 0;
  }

  /** Undefined: the plain call is to be tried. */
  async fork(): Promise<SummariseOutcome | undefined> {
    const { fork } = this.#deps;
    if (this.#signal.aborted) return this.#aborted();
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
    this.#paid("fork", { model: fork.model, usage: outcome.usage });
    if (this.#signal.aborted) return this.#aborted();
    const reply = forkReply(outcome);
    const read = reply === undefined ? undefined : this.#read(reply);
    if (read?.kind === "passed") return this.#made(read, { path: "fork", droppedGroups: 0 });
    const failed =
      read === undefined
        ? whyNoReply(outcome)
        : { reason: faultReason(read.why), message: formatSummaryFault(read.why) };
    this.#forkFailed = failed;
    if (isWhole(outcome)) this.#unusable += 1;
    if (isCutAgain(outcome, this.#deps.summariser)) return this.#bad("cut-off");
    return this.#unusable < unusableAnswersMax ? undefined : this.#failed(failed.reason, failed.message);
  }

  async plain(): Promise<SummariseOutcome> {
    const { summariser } = this.#deps;
    const { messages, prompt, retriesMax, onPhase } = this.#input;
    if (summariser === undefined) {
      const { reason, message } = this.#forkFailed ?? {
        reason: "no_summary",
        message: "There is nobody to ask for a summary.",
      };
      return this.#failed(reason, message);
    }
    // However often a request is made shorter.
    const count = memoizeCount((message: Message) => summariser.count(message));
    const tokensMax = summariser.inputTokensMax;
    const first = plainRequest({ messages: toPlainMessages(messages), prompt, tokensMax, count });
    if (first.kind === "no-room") return this.#failed("prompt_too_long", noRoomText(summariser.model));
    onPhase?.("stream");
    let { messages: request, droppedGroups } = first;
    for (let shorter = 0; ;) {
      const answer = await this.#asked(summariser, request);
      if (this.#signal.aborted) return this.#aborted();
      if (answer.kind === "answered") {
        const read = this.#read(answer);
        const notes = [
          ...(droppedGroups === 0 ? [] : [unseenNote(droppedGroups)]),
          ...(first.text === "shortened" ? [shortenedNote] : []),
        ];
        if (read.kind === "passed")
          return this.#made({ ...read, changes: [...notes, ...read.changes] }, { path: "stream", droppedGroups });
        this.#unusable += 1;
        if (this.#unusable >= unusableAnswersMax || !mayBeBetter(read.why)) return this.#bad(read.why);
        continue;
      }
      if (answer.failure.why !== "too-long") return this.#failed(failureReason(answer.failure), answer.failure.message);
      const overTokens = overBy(answer.failure, sumTokens(request, count));
      const dropped = dropOldest({ messages: request, overTokens, count });
      if (shorter >= retriesMax || dropped.kind === "nothing-left") return this.#failed("prompt_too_long", tooLongText);
      shorter += 1;
      request = dropped.messages;
      droppedGroups += dropped.groups;
    }
  }

  async #asked(summariser: Summariser, messages: readonly Message[]): Promise<SummaryAnswer> {
    const { onText } = this.#input;
    const answer = await summariser.ask(
      { system: plainSystemPrompt, messages, outputTokensMax: summaryOutputTokensMax, onText },
      this.#signal,
    );
    const usage = [...(answer.wasted ?? []), ...(answer.usage === undefined ? [] : [answer.usage])];
    this.#paid("stream", { model: summariser.model, usage });
    return answer;
  }

  #read(reply: SummaryReply): ReplyVerdict {
    const reading = readSummary(reply, this.#input.analysis);
    if (reading.kind === "bad") return reading;
    const gated = gate({ ...this.#input.gate, summary: reading.text });
    return gated.kind === "passed" ? gated : { kind: "bad", why: gated.why };
  }

  #paid(
    path: CompactionCall["path"],
    { model, usage }: { readonly model: string; readonly usage: readonly JsonObject[] },
  ): void {
    for (const one of usage) this.#calls.push({ path, model, usage: one });
  }

  #made({ text, changes }: Extract<ReplyVerdict, { kind: "passed" }>, by: SummarySource): SummariseOutcome {
    return { kind: "summary", text, changes, ...by, calls: this.#calls };
  }

  #bad(why: SummaryFault): SummariseOutcome {
    return this.#failed(faultReason(why), formatSummaryFault(why));
  }

  #failed(reason: CompactionFailure, message: string): SummariseOutcome {
    return { kind: "failed", reason, message, calls: this.#calls };
  }

  #aborted(): SummariseOutcome {
    return this.#failed("aborted", "The summary was cancelled.");
  }
}

type SummarySource = Pick<Extract<SummariseOutcome, { kind: "summary" }>, "path" | "droppedGroups">;

/** Undefined where the fork has no text: it failed, or called a tool and had no second round for its answer. */
const forkReply = (outcome: ForkOutcome): SummaryReply | undefined =>
  outcome.kind === "answered"
    ? {
        text: outcome.text,
        stopReason: undefined,
        blocks: outcome.said.flatMap(({ role, content }) => (role === "assistant" ? content : [])),
      }
    : undefined;

/** Whether the model came to the end of its answer, so that it may be held against it: what broke off says nothing of the text. */
const isWhole = (outcome: ForkOutcome): boolean =>
  outcome.kind === "answered" || (outcome.kind === "over" && outcome.why === "rounds");

/** It wrote as much as the plain call may write too: that would read everything anew, and break off at the same place. */
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

/** What was misunderstood may be understood; what was refused, cut off or too much comes out the same again. */
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

/** The server's tokens are not ours: as much of our count as it was too much of its own. */
function overBy(failure: ModelFailure, counted: number): number | "unknown" {
  const over = tokensOver(failure);
  const { usedTokens } = failure;
  return over === "unknown" || usedTokens === undefined ? "unknown" : Math.ceil((over * counted) / usedTokens);
}

const tooLongText =
  "The conversation is too long to be summarised, also without its oldest rounds. Rewind to an earlier message and go on from there.";
const noRoomText = (model: string): string =>
  `The window of ${model} is too small for what a summary is asked with. Take another model, or rewind to an earlier message.`;
const unseenNote = (rounds: number): string =>
  `The summariser did not see the ${rounds === 1 ? "oldest round" : `${rounds} oldest rounds`}: its window had no room for more.`;
const shortenedNote = "What the summariser read was shortened: the newest round alone is longer than its window.";
