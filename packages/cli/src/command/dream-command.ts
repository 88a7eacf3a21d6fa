import type { DreamRunOutcome } from "palimpsest/internal/context/memory/session-dream";
import type { DreamTask } from "palimpsest/internal/layers/6-dream/dream-task";
import type { Agent } from "../agent/agent.ts";
import type { AgentDream, DreamObstacle } from "../agent/memory/open-session-dream.ts";
import type { ModelChoice } from "../agent/model/model-choice.ts";
import { openAgent } from "../agent/open-agent.ts";
import { readMemoryPrompt } from "../agent/user-text.ts";
import { openWorkspace } from "../host/workspace.ts";
import { dreamObstacleText, dreamReportText, dreamTaskText, noDreamText } from "../memory/dream-text.ts";
import { lookAtMemories } from "../memory/open-memories.ts";
import { command, type CommandContext, type Outcome } from "../program/command.ts";
import { exitCode, failure } from "../program/failure.ts";
import type { Options } from "../program/parse-arguments.ts";
import { readOwnVersion } from "../program/read-own-version.ts";
import { printProblems, wrongFlag } from "../program/report-problems.ts";
import {
  chooseModel,
  flagsFromOptions,
  modelOption,
  modelOptions,
  settingOptions,
} from "../program/setting-options.ts";
import { stopSignal } from "../program/stop-signal.ts";
import { findMachineSandbox } from "../session/find-machine-sandbox.ts";
import { agentFailure } from "../session/session-failure.ts";
import { type FlagInput, flagValues } from "../settings/flag-values.ts";
import { type Answerer, formatCost } from "../text/format.ts";

/** Those that matter to a session without a conversation. */
const dreamFlags: ReadonlySet<string> = new Set(["policy", "sandbox", "no-sandbox", "on", "off"]);
const dreamSettingOptions: Options = Object.fromEntries(
  Object.entries(settingOptions).filter(([flag]) => dreamFlags.has(flag)),
);

export const dreamCommand = command({
  name: "dream",
  summary: "tidy this project's memories now; every change is audited and shown",
  options: {
    "dry-run": { type: "boolean", summary: "show what it would change, and change nothing" },
    force: { type: "boolean", summary: "also if dreams are off, the project is not trusted, or nothing is new" },
    ...modelOptions,
    ...dreamSettingOptions,
    ...modelOption,
  },
  json: "outcome, mode, revision, made, dropped, findings, removals, conflicts, refused, queries, costUsd, message",
  details: [
    "A model looks through the memories, the daily logs and, by narrow questions, the transcripts of earlier sessions; it merges, corrects and deletes in a draft. What a check without a model does not let through is dropped: facts that would be lost without a reason that holds, text without a source, relative dates, dead links, words from outside that would become instructions. The rest is one revision.",
    "Only one process dreams at a time (exit code 4). Exit code 5 if the check let nothing through, 1 if the model failed or you stopped it.",
  ],
  run: async (context, { options, format }) => {
    const flags = flagsFromOptions(options);
    const wrong = wrongFlag(context, flagValues(flags).problems);
    if (wrong !== undefined) return wrong;
    const mode = options["dry-run"] ? "dry-run" : "commit";
    const memories = await lookAtMemories(context);
    const isEmpty = !((await memories?.list()) ?? []).some(({ role }) => role === "memory");
    if (isEmpty) return reportObstacle(context, { obstacle: { kind: "no-memories" }, mode, format });
    const model = await chooseModel(context, options);
    if ("code" in model) return model;
    const force = options.force ? "forced" : "asked";
    return runInNewSession(context, { flags, model, mode, force, format });
  },
});

interface DreamRequest {
  readonly flags: readonly FlagInput[];
  readonly model: ModelChoice;
  readonly mode: "commit" | "dry-run";
  /** `forced`: whatever is against it. */
  readonly force: "asked" | "forced";
  readonly format: "text" | "json";
}

/** A dream shares its tools and system prompt with a session, and sees nothing of it: this one is discarded afterwards. */
async function runInNewSession(context: CommandContext, request: DreamRequest): Promise<Outcome> {
  const { env, cwd } = context;
  const { flags, model } = request;
  const agent = await openAgent({
    env,
    cwd,
    version: readOwnVersion(),
    flags,
    session: { kind: "new" },
    model,
    tools: { allow: [], deny: [] },
    sandbox: await findMachineSandbox(context),
    turns: "one",
  });
  if (agent.kind !== "agent") return agentFailure(agent, "End that process, or wait until it has finished.");
  try {
    await printProblems(context, agent.settingsProblems);
    const { warnings } = await readMemoryPrompt(openWorkspace(context).home, "dream");
    for (const warning of [...agent.warnings, ...warnings]) await context.err.write(`warning: ${warning}\n`);
    return await runDream(context, { ...request, agent });
  } finally {
    await agent.discard();
  }
}

async function runDream(
  context: CommandContext,
  { agent, mode, force, format, model }: DreamRequest & { readonly agent: Agent },
): Promise<Outcome> {
  const { dream } = agent;
  if (dream === undefined) return failure({ code: exitCode.refused, message: "this store keeps no memories" });
  const obstacle = force === "forced" ? undefined : await dream.findObstacle();
  if (obstacle !== undefined) return reportObstacle(context, { obstacle, mode, format });
  const stop = stopSignal();
  const progress = new Progress(context, dream);
  try {
    stop.signal.addEventListener("abort", () => void dream.kill());
    const outcome = await dream.run({ mode, force: true });
    await progress.settled();
    return await reportOutcome(context, { outcome, mode, format, agent, answerer: model.kind });
  } finally {
    stop.release();
  }
}

/** What the dream does, on stderr: a line for each reply. */
class Progress {
  #written: Promise<void> = Promise.resolve();
  #last = "";

  constructor({ err }: CommandContext, dream: AgentDream) {
    dream.watch((task) => {
      const { status, turnsTotal, phase } = task;
      const now = `${turnsTotal} ${phase}`;
      if (status !== "running" || now === this.#last) return;
      this.#last = now;
      this.#written = this.#written.then(() => err.write(`${progressText(task)}\n`));
    });
  }

  settled(): Promise<void> {
    return this.#written;
  }
}

const progressText = (task: DreamTask): string => `dream: ${dreamTaskText(task, Date.now())}`;

interface ObstacleReport extends Pick<DreamRequest, "mode" | "format"> {
  readonly obstacle: DreamObstacle;
}

/** Nothing to do is fine; what the user or a rule forbids is a refusal. */
async function reportObstacle({ out }: CommandContext, { obstacle, mode, format }: ObstacleReport): Promise<Outcome> {
  const { message, hint } = dreamObstacleText(obstacle);
  if (obstacle.kind !== "no-memories" && obstacle.kind !== "nothing-new")
    return failure({ code: exitCode.refused, message, ...(hint === undefined ? {} : { hint }) });
  if (format === "json") await out.json({ outcome: obstacle.kind, mode, message });
  else await out.write(`Nothing to do: ${message}.${hint === undefined ? "" : ` ${hint}`}\n`);
  return exitCode.fine;
}

interface OutcomeReport extends Pick<DreamRequest, "mode" | "format"> {
  readonly outcome: DreamRunOutcome;
  readonly agent: Agent;
  readonly answerer: Answerer;
}

async function reportOutcome(context: CommandContext, report: OutcomeReport): Promise<Outcome> {
  const { outcome, mode, format, agent, answerer } = report;
  const { out, err } = context;
  const nanos = agent.context.conversation.costs.toJSON().bySource.dream?.totalNanos ?? 0;
  if (outcome.kind === "busy")
    return failure({ code: exitCode.busy, message: noDreamText(outcome), hint: "Wait until it has finished." });
  if (outcome.kind !== "dreamt" && outcome.kind !== "refused") {
    const message = noDreamText(outcome);
    if (format === "json") await out.json({ outcome: outcome.kind, mode, costUsd: nanos / 1e9, message });
    return failure({ code: exitCode.negative, message });
  }
  const { receipt } = outcome;
  const revision = outcome.kind === "dreamt" ? outcome.revision?.id : undefined;
  if (format === "json")
    await out.json({ outcome: outcome.kind, mode, revision: revision ?? null, ...receipt, costUsd: nanos / 1e9 });
  else await out.write(dreamReportText({ receipt, mode, revision, style: out.style }));
  if (format === "text") await err.write(`It cost ${formatCost(answerer, nanos)}.\n`);
  return outcome.kind === "dreamt" ? exitCode.fine : refuseAudited();
}

const refuseAudited = (): Outcome =>
  failure({ code: exitCode.refused, message: "the audit let nothing of the dream through, and nothing was changed" });
