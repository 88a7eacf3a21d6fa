import { hookContext } from "palimpsest/internal/context/hook-context";
import { collectReminders } from "./collect-reminders.ts";
import { createRuntimeDeps } from "palimpsest/internal/context/create-runtime-deps";
import type { Baseline } from "palimpsest/internal/cache/baseline";
import type { AgentDeps, HookDeps } from "palimpsest/internal/context/deps";
import { findLargestCount } from "palimpsest/internal/session/counted-log";
import type { FollowedSettings } from "./follow-settings.ts";
import type { AllowRuleDep, ReadFiles } from "palimpsest/internal/ports/tool";
import type { HookSetting } from "palimpsest/internal/schema/hook";
import type { ModelKnowledge } from "palimpsest/internal/settings/resolved-settings";
import { FileWatch } from "../tool/file/file-watch.ts";
import { createHooks } from "../tool/hooks/create-hooks.ts";
import { approveDearEdits } from "./approve-dear-edits.ts";
import type { AgentMail } from "../team/agent-mail.ts";
import type { AgentParts } from "./agent-options.ts";
import { withMail } from "./session/open-agent-mail.ts";
import type { SessionInstructions } from "./session/session-instructions.ts";
import type { SessionMemory } from "./memory/session-memory.ts";
import type { Toolbox } from "./tools/toolbox.ts";

export interface AgentDepsInput {
  readonly model: string;
  readonly cwd: string;
  readonly box: Toolbox;
  readonly allowRules: AllowRuleDep;
  readonly settings: FollowedSettings;
  readonly port: AgentDeps["model"];
  readonly shell: string;
  /**
   * Fixed when the session opens, since a hook is a program that may answer for the user: one that is written while the
   * session runs counts for the next.
   */
  readonly hooks: readonly HookSetting[];
  /** The limits that the model's errors have named before. */
  readonly learned: Pick<ModelKnowledge, "learnedTokens" | "learnedInputTokens">;
  /** The model's sizes, as far as the server has declared them. */
  readonly declared: () => Pick<ModelKnowledge, "serverTokens" | "serverInputTokens">;
  readonly news: AgentDeps["news"];
  /** The day that the system prompt names. */
  readonly startedOn: string;
  readonly instructions: SessionInstructions;
  readonly memory: SessionMemory;
  readonly mail: AgentMail | undefined;
}

export function createAgentDeps(
  { workspace, options, deps, root, session, redaction }: AgentParts,
  input: AgentDepsInput,
): AgentDeps {
  const { model, cwd, box, settings } = input;
  const recorded = findLargestCount(session.fold);
  const known = recorded?.model === model ? recorded : undefined;
  const runtimeDeps = createRuntimeDeps({
    settings: () => settings.current().settings,
    knowledge: () => {
      const declared = input.declared();
      const serverTokens = declared.serverTokens ?? known?.window;
      return { model, recordedTokens: known?.tokens, ...declared, serverTokens };
    },
    learned: input.learned,
    onLearned: async ({ limitTokens, limitOf, from }) => {
      await workspace.learnWindow({ model, tokens: limitTokens, of: limitOf, from });
    },
  });
  const hookDeps: HookDeps = {
    hooks: createHooks({ settings: () => input.hooks, shell: input.shell, env: options.env, projectRoot: root }),
    place: () => hookContext(deps, { session: session.id, cwd }),
  };
  const { instructions } = input;
  const reminderSources = {
    startedOn: input.startedOn,
    instructions: (files: ReadFiles) => instructions.news(hookDeps, files),
    isInstruction: (path: string, baseline: Baseline) => instructions.isInstruction(path, baseline),
    todos: box.todos,
    mayRead: box.mayRead,
    watch: new FileWatch(),
    relevantMemories: input.memory.remind,
  };
  return {
    ...deps,
    ...runtimeDeps,
    redaction,
    model: input.port,
    tools: box.tools,
    permit: box.permit,
    news: input.news,
    reminders: withMail(input.mail, (conversation) => collectReminders({ ...deps, ...reminderSources }, conversation)),
    asking: options.user && { ...input.allowRules, user: options.user },
    approveEdit:
      options.approveEdit &&
      approveDearEdits(options.approveEdit, () => settings.current().settings.askAboveDollars.value),
    ...hookDeps,
    cwd: () => box.cwd() ?? cwd,
    toolsForFork: () => {
      const forked = box.forked();
      return { tools: forked.tools, cwd: () => forked.cwd() ?? cwd };
    },
  };
}
