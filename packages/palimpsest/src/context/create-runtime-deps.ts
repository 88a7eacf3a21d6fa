import { hash } from "node:crypto";
import { setTimeout as wait } from "node:timers/promises";
import { limitsWithin, resolveOffloadLimits, unlimited } from "../layers/1-offload/plan.ts";
import type { Policy } from "../layers/policy.ts";
import type { AgentDeps, WindowLesson } from "./deps.ts";
import { retryLimitsDefault } from "../model/limits.ts";
import {
  type ModelKnowledge,
  type ResolvedSettings,
  resolveForModel,
  resolveForPolicy,
} from "../settings/resolved-settings.ts";
import type { Settings } from "../settings/resolve-settings.ts";

type LearnedModelLimits = Pick<ModelKnowledge, "learnedTokens" | "learnedInputTokens">;

interface RuntimeInput {
  /** The current settings. */
  readonly settings: () => Settings;
  /** The caller's own policy; by default the one that the settings name. */
  readonly policy?: Policy | undefined;
  /** What is currently known about the model. */
  readonly knowledge: () => ModelKnowledge;
  /** Limits that earlier errors of the model have named. */
  readonly learned?: LearnedModelLimits | undefined;
  /** Lets the caller store a learned limit, which already applies here. Must not reject. */
  readonly onLearned?: ((lesson: WindowLesson) => Promise<void>) | undefined;
}

type RuntimeDeps = Pick<AgentDeps, "hash" | "wait" | "random" | "retries" | "settings" | "offloadLimits" | "learn">;

/** What every conversation needs at run time: resolved settings, and this process's timers and randomness. */
export function createRuntimeDeps({
  settings,
  policy: callerPolicy,
  knowledge,
  learned: learnedBefore = {},
  onLearned,
}: RuntimeInput): RuntimeDeps {
  let learned: LearnedModelLimits = learnedBefore;
  let last:
    | { readonly settings: Settings; readonly known: ModelKnowledge; readonly resolved: ResolvedSettings }
    | undefined;
  // Asked several times a request, while the answer seldom changes.
  const current = (): ResolvedSettings => {
    const known = { ...knowledge(), ...learned };
    const now = settings();
    if (last?.settings !== now || !hasSameFields(last.known, known)) {
      const resolved =
        callerPolicy === undefined ? resolveForModel(now, known) : resolveForPolicy(callerPolicy, now, known);
      last = { settings: now, known, resolved };
    }
    return last.resolved;
  };
  return {
    hash: (text) => hash("sha256", text, "hex"),
    // An aborted wait ends early, without an error.
    wait: (time, signal) => wait(time, undefined, { signal }).catch(() => undefined),
    random: Math.random,
    retries: retryLimitsDefault,
    settings: current,
    offloadLimits: () => {
      const { switches, policy, window } = current();
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

function hasSameFields(before: ModelKnowledge, now: ModelKnowledge): boolean {
  const names = Object.keys(now);
  return (
    names.length === Object.keys(before).length &&
    names.every((name) => Reflect.get(before, name) === Reflect.get(now, name))
  );
}
