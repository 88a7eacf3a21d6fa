import { createHash } from "node:crypto";
import { setTimeout as wait } from "node:timers/promises";
import { limitsWithin, resolveOffloadLimits, unlimited } from "../layers/1-offload/plan.ts";
import type { Policy } from "../layers/policy.ts";
import type { AgentDeps, WindowLesson } from "./deps.ts";
import { retryLimitsDefault } from "../model/limits.ts";
import { type ModelKnowledge, resolveForModel, resolveForPolicy } from "../settings/resolved-settings.ts";
import type { Settings } from "../settings/resolve-settings.ts";

type LearnedModelLimits = Pick<ModelKnowledge, "learnedTokens" | "learnedInputTokens">;

interface RuntimeInput {
  /** In force at this moment. */
  readonly settings: () => Settings;
  /** That need not be a preset; absent: the one that the settings name. */
  readonly policy?: Policy | undefined;
  /** What is known of the model at this moment. */
  readonly knowledge: () => ModelKnowledge;
  /** The limits that errors of the model have named before. */
  readonly learned?: LearnedModelLimits | undefined;
  /** A limit counts here at once; where it is remembered is the caller's. Must not reject. */
  readonly onLearned?: ((lesson: WindowLesson) => Promise<void>) | undefined;
}

type RuntimeDeps = Pick<AgentDeps, "hash" | "wait" | "random" | "retries" | "numbers" | "offloadLimits" | "learn">;

/** What every conversation runs with, whoever opens it: the numbers in force, and this process's clock and chance. */
export function createRuntimeDeps({
  settings,
  policy: ownPolicy,
  knowledge,
  learned: before = {},
  onLearned,
}: RuntimeInput): RuntimeDeps {
  let learned: LearnedModelLimits = before;
  const numbers = () => {
    const known = { ...knowledge(), ...learned };
    return ownPolicy === undefined
      ? resolveForModel(settings(), known)
      : resolveForPolicy(ownPolicy, settings(), known);
  };
  return {
    hash: (text) => createHash("sha256").update(text).digest("hex"),
    // Who stops waiting has their reasons; there is nothing to report.
    wait: (time, signal) => wait(time, undefined, { signal }).catch(() => undefined),
    random: Math.random,
    retries: retryLimitsDefault,
    numbers,
    offloadLimits: () => {
      const { switches, policy, window } = numbers();
      if (!switches.offload.value) return unlimited;
      return limitsWithin(resolveOffloadLimits(policy.offload, settings().toolLimits.value), window.tokens);
    },
    learn: async (lesson) => {
      const name = lesson.limitOf === "input" ? "learnedInputTokens" : "learnedTokens";
      learned = { ...learned, [name]: lesson.limitTokens };
      await onLearned?.(lesson);
    },
  };
}
