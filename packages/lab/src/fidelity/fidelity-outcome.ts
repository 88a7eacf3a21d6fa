import type { FactKind } from "./fact.ts";
import { z } from "zod";

/** What became of facts. Each is in one class: `shown + recoverable + lost` are all. */
export interface Fates {
  /** Verbatim in the view. */
  readonly shown: number;
  /** The view names an id that expands to it, or recall finds it by its own words. */
  readonly recoverable: number;
  /** The part of `recoverable` that the view names. */
  readonly named: number;
  readonly lost: number;
}

export type FatesByKind = Readonly<Record<FactKind, Fates>>;

/** What one compaction of a policy left of everything it covers. */
export interface FidelityOutcome {
  readonly file: string;
  readonly policy: string;
  /** Tokens. */
  readonly window: number | "none";
  readonly summariser: SummariserName;
  /** Of the session under this policy, from 1. */
  readonly compaction: number;
  /** Before the request of this round, from 0. */
  readonly round: number;
  /** Who wrote the summary: the one that all policies share, or the recorded session itself. */
  readonly summary: "shared" | "recorded";
  readonly userMessages: number;
  readonly userMessagesVerbatim: number;
  /** Not verbatim, and the view names their ids. */
  readonly userMessagesByReference: number;
  readonly facts: FatesByKind;
  /** Those of `facts` that a later round needs. */
  readonly neededLater: FatesByKind;
  /** Of the context: header and view. */
  readonly tokensBefore: number;
  readonly tokensAfter: number;
}

/** How a policy came through a file. */
export interface FidelityRun {
  readonly policy: string;
  readonly compactions: number;
  /** The round at which it could send nothing that fits. */
  readonly failedAt?: number;
}

/** `rules`: made by rules in place of a model, from what the view showed. `extract`: from the facts, as the engine does where no model answers. */
export const summariserNames = ["rules", "extract"] as const;
export type SummariserName = (typeof summariserNames)[number];

export const noFates: Fates = { shown: 0, recoverable: 0, named: 0, lost: 0 };

/** The same for every kind. */
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

/** As it was written down. */
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
