import { KnownLines } from "palimpsest/internal/cache/known-lines";
import { needChance } from "palimpsest/internal/cache/need-chance";
import { ratesForModel, usualRates } from "palimpsest/internal/cache/cache-rates";
import { ImageGuard } from "palimpsest/internal/layers/1-offload/image-guard";
import { summaryMessage } from "palimpsest/internal/layers/4-compact/summary-message";
import type { Policy } from "palimpsest/internal/layers/policy";
import type { Block } from "palimpsest/internal/schema/block";
import { tokens, type Tokens, type ToolUseId } from "palimpsest/internal/schema/brand";
import type { Model } from "palimpsest/internal/schema/model";
import { findModel } from "palimpsest/internal/tokens/known-models";
import { RequestCheck } from "./request-check.ts";
import { markerStandIn, modelDefault } from "./limits.ts";
import { BlockIds } from "./replay-cache.ts";
import type { Recording } from "./recording/recording.ts";
import type { RatesByLifetime } from "./spend-tracker.ts";

/** Everything that all runs over one recording share. */
export interface ReplayWorld {
  readonly recording: Recording;
  readonly model: Model;
  readonly rates: RatesByLifetime;
  readonly ids: BlockIds;
  readonly check: RequestCheck;
  readonly lines: KnownLines;
  /** Shared, so that each image is checked once for all policies. */
  readonly images: ImageGuard;
  readonly needChance: typeof needChance;
  readonly tokensOf: (block: Block) => Tokens;
  /** The size of the line that replaces a cleared result. */
  readonly markerTokens: number;
  /** The policy in a form that can be replayed: clearing by the server is modelled as clearing by the client. */
  readonly policyFor: (policy: Policy) => Policy;
  /** The size of all thinking. Thinking that is bound to its prefix is lost after an edit. */
  readonly thinkingTokens: number;
  readonly thinkingUnder: (policy: Policy) => "kept" | "left-out";
  /** For a policy that edits the view: the least thinking that any policy sends. */
  readonly thinkingAtLeast: "kept" | "left-out";
  /** The results that the reply of this round needs, by strong evidence. */
  readonly neededIn: (round: number) => readonly ToolUseId[];
  /** Creates a text that counts as having these sizes, in place of a text that a model would have written. */
  readonly standIn: (sizes: StandInSizes) => string;
}

interface StandInSizes {
  /** By itself. */
  readonly alone: number;
  /** As part of another text. */
  readonly within: number;
  /** In the message after a boundary, including everything that is restored there. */
  readonly behindBoundary: number;
}

export function createReplayWorld(recording: Recording): ReplayWorld {
  const known = recording.model === undefined ? undefined : findModel(recording.model);
  const model = known?.id.startsWith("claude-") === true ? known : defaultModel();
  const standIns = new StandIns();
  const neededByRound = Map.groupBy(
    [...recording.needs].flatMap(([toolUse, { strongRounds }]) => strongRounds.map((round) => ({ toolUse, round }))),
    ({ round }) => round,
  );
  const thinkingAtLeast = model.thinking === "bound" ? "left-out" : "kept";
  return {
    recording,
    model,
    rates: known === undefined ? usualRates : { "5m": ratesForModel(model, "5m"), "1h": ratesForModel(model, "1h") },
    ids: new BlockIds(),
    check: new RequestCheck(model),
    lines: new KnownLines(),
    images: new ImageGuard(),
    needChance,
    markerTokens: recording.tokensOf({ type: "text", text: markerStandIn }),
    policyFor: modelServerClearing,
    thinkingTokens: countThinking(recording),
    thinkingUnder: (policy) => (editsView(policy) ? thinkingAtLeast : "kept"),
    thinkingAtLeast,
    tokensOf: (block) => standIns.tokensOf(block) ?? recording.tokensOf(block),
    neededIn: (round) => neededByRound.get(round)?.map(({ toolUse }) => toolUse) ?? [],
    standIn: (sizes) => standIns.make(sizes),
  };
}

/** Texts in place of those that a model would have written, recognised by their wording wherever they occur. */
class StandIns {
  readonly #sizes: StandInSizes[] = [];
  /** Each block is searched once; undefined means that it contains no such text. */
  readonly #tokensByBlock = new WeakMap<Block, Tokens | undefined>();

  make(sizes: StandInSizes): string {
    return `What happened so far, part ${this.#sizes.push(sizes)}.`;
  }

  tokensOf(block: Block): Tokens | undefined {
    if (block.type !== "text") return undefined;
    if (this.#tokensByBlock.has(block)) return this.#tokensByBlock.get(block);
    const counted = this.#count(block.text);
    this.#tokensByBlock.set(block, counted);
    return counted;
  }

  #count(text: string): Tokens | undefined {
    const [match, part] = this.#sizes.length === 0 ? [] : (/What happened so far, part (\d+)\./.exec(text) ?? []);
    const sizes = this.#sizes[Number(part) - 1];
    if (match === undefined || sizes === undefined) return undefined;
    if (text === match) return tokens(sizes.alone);
    return tokens(text.startsWith(boundaryOpening) ? sizes.behindBoundary : sizes.within);
  }
}

/** The text with which the engine begins the message after a boundary. */
const [boundaryOpening = ""] = summaryMessage({ summary: "", trigger: "manual" }).split(":");

function defaultModel(): Model {
  const model = findModel(modelDefault);
  if (model === undefined) throw new Error(`the registry has no ${modelDefault}`);
  return model;
}

const modelledByPolicy = new WeakMap<Policy, Policy>();

function modelServerClearing(policy: Policy): Policy {
  const { byServer, ...clear } = policy.clear;
  if (byServer === undefined) return policy;
  const modelled = modelledByPolicy.get(policy) ?? { ...policy, clear: { bySize: byServer.modelledBy, ...clear } };
  modelledByPolicy.set(policy, modelled);
  return modelled;
}

const editsView = ({ clear, truncate, snip, collapse }: Policy): boolean =>
  truncate !== undefined ||
  snip === "on" ||
  collapse === "on" ||
  Object.values(clear).some((rule) => rule !== undefined);

const countThinking = ({ rounds, tokensOf }: Recording): number =>
  rounds
    .flatMap(({ reply }) => reply.flatMap(({ blocks }) => blocks))
    .reduce(
      (sum, block) => (block.type === "thinking" || block.type === "redacted_thinking" ? sum + tokensOf(block) : sum),
      0,
    );
