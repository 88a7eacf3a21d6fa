import { needChance } from "../cache/need-chance.ts";
import { ratesOf, usualRates } from "../cache/rates.ts";
import type { Policy } from "../layers/policy.ts";
import type { Block } from "../schema/block.ts";
import type { ToolUseId } from "../schema/brand.ts";
import type { Model } from "../schema/model.ts";
import { findModel } from "../tokens/registry.ts";
import { RequestCheck } from "./check-request.ts";
import { modelDefault, namedMarker } from "./limits.ts";
import { BlockIds } from "./meter.ts";
import type { Recording } from "./recording.ts";
import type { Rates } from "./spending.ts";

/** What all runs over one recording share. */
export interface ReplayWorld {
  readonly recording: Recording;
  readonly model: Model;
  readonly rates: Rates;
  readonly ids: BlockIds;
  readonly check: RequestCheck;
  readonly needChance: typeof needChance;
  readonly tokensOf: (block: Block) => number;
  /** Of the line that stands in place of a cleared result. */
  readonly markerTokens: number;
  /** As it can be replayed: what a server would clear is modelled by clearing here. */
  readonly policyFor: (policy: Policy) => Policy;
  /** Thinking that is bound to its prefix is worth nothing behind an edit. */
  readonly thinkingTokens: number;
  readonly thinkingUnder: (policy: Policy) => "kept" | "left-out";
  /** Under whoever edits: the least that any policy sends. */
  readonly thinkingAtLeast: "kept" | "left-out";
  /** Results that the reply of this round needs, on strong evidence. */
  readonly neededIn: (round: number) => readonly ToolUseId[];
  /** A new text of that size: a summary, or what a fork is asked with. */
  readonly standIn: (tokens: number) => readonly Block[];
}

export function replayWorld(recording: Recording): ReplayWorld {
  const known = recording.model === undefined ? undefined : findModel(recording.model);
  const model = known?.id.startsWith("claude-") === true ? known : defaultModel();
  const tokensByBlock = new WeakMap<Block, number>();
  const neededByRound = Map.groupBy(
    [...recording.needs].flatMap(([toolUse, { strongRounds }]) => strongRounds.map((round) => ({ toolUse, round }))),
    ({ round }) => round,
  );
  const thinkingAtLeast = model.thinking === "bound" ? "left-out" : "kept";
  let summaries = 0;
  return {
    recording,
    model,
    rates: known === undefined ? usualRates : { "5m": ratesOf(model, "5m"), "1h": ratesOf(model, "1h") },
    ids: new BlockIds(),
    check: new RequestCheck(model),
    needChance,
    markerTokens: recording.tokensOf({ type: "text", text: namedMarker }),
    policyFor: modelled,
    thinkingTokens: thinkingIn(recording),
    thinkingUnder: (policy) => (edits(policy) ? thinkingAtLeast : "kept"),
    thinkingAtLeast,
    tokensOf: (block) => tokensByBlock.get(block) ?? recording.tokensOf(block),
    neededIn: (round) => neededByRound.get(round)?.map(({ toolUse }) => toolUse) ?? [],
    standIn: (tokens) => {
      summaries += 1;
      const block: Block = { type: "text", text: `What happened so far, part ${summaries}.` };
      tokensByBlock.set(block, tokens);
      return [block];
    },
  };
}

function defaultModel(): Model {
  const model = findModel(modelDefault);
  if (model === undefined) throw new Error(`the registry has no ${modelDefault}`);
  return model;
}

const modelledByPolicy = new WeakMap<Policy, Policy>();

function modelled(policy: Policy): Policy {
  const { byServer, ...clear } = policy.clear;
  if (byServer === undefined) return policy;
  const known = modelledByPolicy.get(policy) ?? { ...policy, clear: { bySize: byServer.modelledBy, ...clear } };
  modelledByPolicy.set(policy, known);
  return known;
}

const edits = ({ clear, truncate, snip, collapse }: Policy): boolean =>
  truncate !== undefined ||
  snip === "on" ||
  collapse === "on" ||
  Object.values(clear).some((rule) => rule !== undefined);

const thinkingIn = ({ rounds, tokensOf }: Recording): number =>
  rounds
    .flatMap(({ reply }) => reply.flatMap(({ blocks }) => blocks))
    .reduce(
      (sum, block) => (block.type === "thinking" || block.type === "redacted_thinking" ? sum + tokensOf(block) : sum),
      0,
    );
