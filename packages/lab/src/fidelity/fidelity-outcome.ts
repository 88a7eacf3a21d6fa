import type { FactKind } from "./fact.ts";
import { z } from "zod";

/** What happened to the facts. Each fact is in exactly one class: `shown + recoverable + lost` is the total. */
export interface Fates {
  /** Verbatim in the view. */
  readonly shown: number;
  /** The view contains the id of an entry or call with the fact, or recall finds the fact by its own words. */
  readonly recoverable: number;
  /** The part of `recoverable` whose id is in the view. */
  readonly named: number;
  readonly lost: number;
}

export type FatesByKind = Readonly<Record<FactKind, Fates>>;

/** How much one compaction of a policy preserved of what it covers. */
export interface FidelityOutcome {
  readonly file: string;
  readonly policy: string;
  /** In tokens. */
  readonly window: number | "none";
  readonly summariser: SummariserName;
  /** The number of the compaction in the session under this policy, from 1. */
  readonly compaction: number;
  /** The round, from 0, whose request follows. */
  readonly round: number;
  /** Whether the summary is by the summariser that all policies share, or from the recorded session. */
  readonly summary: "shared" | "recorded";
  readonly userMessages: number;
  readonly userMessagesVerbatim: number;
  /** Not verbatim, but their ids are in the view. */
  readonly userMessagesByReference: number;
  readonly facts: FatesByKind;
  /** The part of `facts` that a later round needs. */
  readonly neededLater: FatesByKind;
  /** The size of the context: header and view. */
  readonly tokensBefore: number;
  readonly tokensAfter: number;
}

/** The run of a policy over one file. */
export interface FidelityRun {
  readonly policy: string;
  readonly compactions: number;
  /** The round in which no request fit the window. */
  readonly failedAt?: number;
}

/** `rules`: made by rules instead of a model, from the view. `extract`: made from the facts, as the engine does if no model answers. */
export const summariserNames = ["rules", "extract"] as const;
export type SummariserName = (typeof summariserNames)[number];

export const noFates: Fates = { shown: 0, recoverable: 0, named: 0, lost: 0 };

/** A record with one value for each kind. */
export function byKind<Value>(valueOf: (kind: FactKind) => Value): Record<FactKind, Value> {
  return {
    userMessages: valueOf("userMessages"),
    filesModified: valueOf("filesModified"),
    filesRead: valueOf("filesRead"),
    commands: valueOf("commands"),
    errors: valueOf("errors"),
    lastErrors: valueOf("lastErrors"),
    details: valueOf("details"),
    decisions: valueOf("decisions"),
    openTodos: valueOf("openTodos"),
  };
}

const fates = z.object({ shown: z.number(), recoverable: z.number(), named: z.number(), lost: z.number() });
const fatesByKind = z.object(byKind(() => fates));

/** The shape of a stored outcome. */
export const fidelityShape = z.object({
  file: z.string(),
  policy: z.string(),
  window: z.union([z.number(), z.literal("none")]),
  summariser: z.enum(summariserNames),
  compaction: z.number(),
  round: z.number(),
  summary: z.enum(["shared", "recorded"]),
  userMessages: z.number(),
  userMessagesVerbatim: z.number(),
  userMessagesByReference: z.number(),
  facts: fatesByKind,
  neededLater: fatesByKind,
  tokensBefore: z.number(),
  tokensAfter: z.number(),
}) satisfies z.ZodType<FidelityOutcome>;

export const fidelityRunShape = z.object({
  policy: z.string(),
  compactions: z.number(),
  failedAt: z.number().exactOptional(),
}) satisfies z.ZodType<FidelityRun>;
