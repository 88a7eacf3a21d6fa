import { hookPlace } from "palimpsest/internal/context/hook-place";
import { turnReminders } from "./turn-reminders.ts";
import { runningDeps } from "palimpsest/internal/context/running-deps";
import type { AgentDeps } from "palimpsest/internal/context/deps";
import { largestCounted } from "palimpsest/internal/session/counted";
import type { FollowedSettings } from "./follow-settings.ts";
import type { LeaveDep } from "palimpsest/internal/ports/tools";
import type { HookSetting } from "palimpsest/internal/schema/hook";
import type { ModelKnowledge } from "palimpsest/internal/settings/numbers";
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
  const recorded = largestCounted(session.fold);
  const known = recorded?.model === model ? recorded : undefined;
  const running = runningDeps({
    settings: () => settings.current().settings,
    knowledge: () => {
      const declared = input.declared();
      const serverTokens = declared.serverTokens ?? known?.window;
      return { model, recordedTokens: known?.tokens, ...declared, serverTokens };
    },
    learned: input.learned,
    onLearned: async ({ limitTokens, limitOf, from }) => {
      await engine.learnWindow({ model, tokens: limitTokens, of: limitOf, from });
    },
  });
  const { startedOn } = input;
  const sources = { startedOn, todos: box.todos, mayRead: box.mayRead, watch: new FileWatch() };
  return {
    ...deps,
    ...running,
    model: input.port,
    tools: box.tools,
    permit: box.permit,
    news: input.news,
    reminders: (conversation) => turnReminders({ ...deps, ...sources }, conversation),
    asking: options.person && { ...input.leaves, person: options.person },
    hooks: makeHooks({
      settings: () => input.hooks,
      shell: input.shell,
      env: options.env,
      projectRoot: root,
    }),
    cwd: () => box.cwd() ?? cwd,
    toolsForFork: () => {
      const forked = box.forked();
      return { tools: forked.tools, cwd: () => forked.cwd() ?? cwd };
    },
    place: () => hookPlace(deps, { session: session.id, cwd }),
  };
}
