import { createHash } from "node:crypto";
import { setTimeout as wait } from "node:timers/promises";
import { offloadLimitsOf, unlimited } from "../layers/1-offload/plan.ts";
import type { AgentDeps } from "../loop/agent/deps.ts";
import { largestCounted } from "../loop/counted.ts";
import type { FollowedSettings } from "../loop/follow-settings.ts";
import { retryLimitsDefault } from "../model/limits.ts";
import type { LeaveDep } from "../ports/tools.ts";
import type { HookSetting } from "../schema/hook.ts";
import { type ModelKnowledge, numbersInForce } from "../settings/numbers.ts";
import { FileWatch } from "../tool/file/changed.ts";
import { makeHooks } from "../tool/hooks/hooks.ts";
import type { Assembling } from "./assembling.ts";
import type { Toolbox } from "./toolbox.ts";

export interface DepsInput {
  readonly model: string;
  readonly cwd: string;
  readonly box: Toolbox;
  readonly leaves: LeaveDep;
  readonly settings: FollowedSettings;
  readonly port: AgentDeps["model"];
  readonly shell: string;
  /** A hook is a program that also answers for the person: one that is written while the session runs waits for the next. */
  readonly hooks: readonly HookSetting[];
  /** The limits that errors of the model have named before. */
  readonly learned: Pick<ModelKnowledge, "learnedTokens" | "learnedInputTokens">;
  /** What the server says of the model's sizes, as far as it has. */
  readonly declared: () => Pick<ModelKnowledge, "serverTokens" | "serverInputTokens">;
  readonly news: AgentDeps["news"];
  /** The day that the system prompt names. */
  readonly startedOn: string;
}

export function depsOf({ engine, options, deps, root, session }: Assembling, input: DepsInput): AgentDeps {
  const { model, cwd, box, settings } = input;
  const current = () => settings.current().settings;
  let { learned } = input;
  const recorded = largestCounted(session.fold);
  const known = recorded?.model === model ? recorded : undefined;
  const numbers = () => {
    const declared = input.declared();
    const serverTokens = declared.serverTokens ?? known?.window;
    return numbersInForce(current(), { model, recordedTokens: known?.tokens, ...declared, serverTokens, ...learned });
  };
  return {
    ...deps,
    model: input.port,
    tools: box.tools,
    permit: box.permit,
    news: input.news,
    reminders: { startedOn: input.startedOn, todos: box.todos, mayRead: box.mayRead, watch: new FileWatch() },
    asking: options.person && { ...input.leaves, person: options.person },
    hooks: makeHooks({
      settings: () => input.hooks,
      shell: input.shell,
      env: options.env,
      projectRoot: root,
    }),
    hash: (text) => createHash("sha256").update(text).digest("hex"),
    cwd: () => box.cwd() ?? cwd,
    toolsForFork: () => {
      const forked = box.forked();
      return { tools: forked.tools, cwd: () => forked.cwd() ?? cwd };
    },
    // Whoever stops waiting has his reasons; there is nothing to tell.
    wait: (time, signal) => wait(time, undefined, { signal }).catch(() => undefined),
    random: Math.random,
    numbers,
    offloadLimits: () => {
      const { switches, policy } = numbers();
      return switches.offload.value ? offloadLimitsOf(policy.offload, current().toolLimits.value) : unlimited;
    },
    retries: retryLimitsDefault,
    place: () => ({ session: session.id, transcriptPath: deps.transcripts.whereIs(session.id) ?? "", cwd }),
    learn: async ({ limitTokens, limitOf, from }) => {
      learned = { ...learned, [limitOf === "input" ? "learnedInputTokens" : "learnedTokens"]: limitTokens };
      await engine.learnWindow({ model, tokens: limitTokens, of: limitOf, from });
    },
  };
}
