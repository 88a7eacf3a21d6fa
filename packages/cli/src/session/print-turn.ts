import type { Agent } from "../agent/agent.ts";
import { openAgent } from "../agent/open-agent.ts";
import type { AgentOptions } from "../agent/agent-options.ts";
import { serverConnector } from "../tool/mcp/server-connector.ts";
import { openNet } from "../tool/web/get-page.ts";
import { agentFailure, turnExitCode } from "./session-failure.ts";
import type { CommandContext, Outcome } from "../program/command.ts";
import type { ExitCode } from "../program/failure.ts";
import type { Answerer } from "../text/format.ts";
import type { OutputFormat } from "../program/output.ts";
import { findMachineSandbox } from "./find-machine-sandbox.ts";
import { stopSignal } from "../program/stop-signal.ts";
import { readOwnVersion } from "../program/read-own-version.ts";
import type { CostSummary } from "palimpsest/internal/cache/cost-ledger";
import type { LoopEvent, TurnEndEvent } from "palimpsest/internal/schema/loop-event";
import type { JsonObject } from "palimpsest/internal/schema/json";
import type { Problem } from "palimpsest/internal/settings/problem";
import { formatLeftOut } from "palimpsest/internal/schema/edit-kinds";
import { formatAgentEnd, savedForGoodText, formatRemedies } from "../tui/text/event-lines.ts";
import { compactionReporter } from "../compact/compaction-reporter.ts";
import { readUserPrompt } from "../compact/compaction-failure.ts";
import { moneyByAgent, moneyBySource } from "../text/cost-by-source-name.ts";
import { headroomText } from "../text/context-text.ts";
import { problemWithHint, printProblems, warningLine } from "../program/report-problems.ts";

export interface PrintTurnInput extends Pick<AgentOptions, "session" | "model" | "flags" | "tools"> {
  readonly prompt: string;
  readonly format: OutputFormat;
}

/** Runs one turn and prints it on stdout. There is no user to ask. */
export async function printTurn(context: CommandContext, input: PrintTurnInput): Promise<Outcome> {
  const { env, cwd } = context;
  const { prompt, format, ...choices } = input;
  const version = readOwnVersion();
  const sandbox = await findMachineSandbox(context);
  const reach = { net: openNet, connectServer: serverConnector({ version }), sandbox };
  const background = { askSizes: "on", retention: "on", turns: "one" } as const;
  const opened = await openAgent({ ...choices, env, cwd, version, ...reach, ...background });
  if (opened.kind !== "agent") return agentFailure(opened, "Add --fork to go on in a session of its own.");
  return runPrintedTurn(context, { agent: opened, answerer: input.model.kind, prompt, format });
}

async function runPrintedTurn(
  context: CommandContext,
  {
    agent,
    answerer,
    prompt,
    format,
  }: { readonly agent: Agent; readonly answerer: Answerer; readonly prompt: string; readonly format: OutputFormat },
): Promise<ExitCode> {
  const stop = stopSignal();
  const output = agentOutput(context, { agent, answerer, format });
  try {
    await output.before({ problems: agent.settingsProblems, warnings: agent.warnings });
    const saved: LoopEvent[] = [];
    agent.onBackground((event) => void saved.push(event));
    for await (const event of agent.turn(prompt, stop.signal)) await output.event(event);
    // A dream that was asked for is awaited, unless the user no longer wants to wait.
    stop.signal.addEventListener("abort", () => void agent.dream?.kill());
    await agent.stopAside();
    for (const event of saved) await output.event(event);
    return await output.end();
  } finally {
    stop.release();
    await agent.close();
  }
}

export interface AgentOutput {
  /** Shows problems and warnings before the turn: on stderr, and as lines if every event is one. */
  before(notices: { readonly problems: readonly Problem[]; readonly warnings: readonly string[] }): Promise<void>;
  event(event: LoopEvent): Promise<void>;
  /** 0: the turn was answered. */
  end(): Promise<ExitCode>;
}

/** What a turn prints: its last reply, one object about it, or every event as a line. */
function agentOutput(
  context: CommandContext,
  { agent, answerer, format }: { agent: Agent; answerer: Answerer; format: OutputFormat },
): AgentOutput {
  const { out, err } = context;
  let reply = "";
  let requests = 0;
  let retries = 0;
  let end: TurnEndEvent | undefined;
  const ownDenials = new Denials();
  const reportCompaction = compactionReporter(context, {
    answerer,
    pins: () => agent.session.fold.projection.pins.size,
    ownPrompt: () => readUserPrompt(context),
  });
  return {
    before: async ({ problems, warnings }) => {
      await printProblems(context, problems);
      for (const warning of warnings) await err.write(`warning: ${warning}\n`);
      if (format !== "stream-json") return;
      const events = [
        ...problems.map(
          (problem) => ({ kind: "warning", code: "settings", message: problemWithHint(problem) }) as const,
        ),
        ...warnings.map((message) => ({ kind: "warning", code: "session", message }) as const),
      ];
      for (const event of events) await out.json(eventJson(event, agent.session.id));
    },
    event: async (event) => {
      if (event.kind === "request-start") requests = event.number;
      if (event.kind === "retry-start") retries += 1;
      if (event.kind === "reply-start") reply = "";
      if (event.kind === "text-delta") reply += event.text;
      if (event.kind === "turn-end") end = event;
      ownDenials.note(event);
      if (format === "stream-json") {
        await out.json(eventJson(event, agent.session.id));
        return;
      }
      await reportCompaction(event);
      if (event.kind === "warning") await err.write(warningLine(event));
      else if (event.kind === "edit-planned") await err.write(`planned (${event.trigger}): ${event.because}\n`);
      else if (event.kind === "cleared") await err.write(`${clearEventText(event)}\n`);
      else if (event.kind === "left-out") await err.write(`${omissionText(event)}\n`);
      else if (event.kind === "no-headroom") await err.write(`warning: ${headroomText(event)}\n`);
      else if (event.kind === "memories-saved") await err.write(`${savedForGoodText(event)}\n`);
      else if (event.kind === "agent-ended") await err.write(`${formatAgentEnd(event)}\n`);
      else if (event.kind === "retry-start") await err.write(`trying again (${event.attempt}): ${event.message}\n`);
    },
    end: async () => {
      const reason = end?.reason ?? "failed";
      const denials = [...ownDenials.list, ...agentDenials(agent)];
      const report = resultReport(agent, { reply, requests, retries, denials, end });
      if (format === "text") await out.write(reply === "" ? "" : `${reply}\n`);
      else await out.json(report);
      if (format === "text" && denials.length > 0) await err.write(`${denialText(denials.length)}\n`);
      const why = end === undefined ? "" : turnEndText(end);
      if (reason !== "answered") await err.write(`the turn ended without an answer (${reason})${why}\n`);
      return turnExitCode(end);
    },
  };
}

function resultReport(agent: Agent, { reply, requests, retries, denials, end }: TurnFigures): object {
  const { costs } = agent.context.conversation;
  const { bySource, byAgent } = costs.toJSON();
  return {
    type: "result",
    reason: end?.reason ?? "failed",
    result: reply,
    session_id: agent.session.id,
    model: agent.model,
    num_requests: requests,
    num_retries: retries,
    total_cost_usd: nanosToUsd(costs.session),
    inherited_cost_usd: nanosToUsd(agent.inheritedCosts),
    cost_by_source: moneyBySource(bySource),
    cost_by_agent: moneyByAgent(byAgent),
    costs: costs.session,
    permission_denials: denials,
    agent_worktrees: keptWorktrees(agent).map(({ name, worktree: { path, branch } }) => ({
      agent: name,
      path,
      branch,
    })),
    ...(end === undefined ? {} : failureFields(end)),
  };
}

interface TurnFigures {
  readonly reply: string;
  readonly requests: number;
  readonly retries: number;
  readonly denials: readonly DenialJson[];
  readonly end: TurnEndEvent | undefined;
}

/** Scripts for other agents look for `type` and `session_id`; the loop's own names for the same are left out. */
function eventJson(event: LoopEvent, session: string): object {
  if (event.kind === "turn-start") return { type: event.kind, session_id: session, model: event.model };
  const { kind, ...fields } = event;
  return { type: kind, session_id: session, ...fields };
}

interface DenialJson {
  readonly tool_name: string;
  readonly tool_use_id: string;
  readonly tool_input: JsonObject;
  /** The name of the agent that made the call; absent: the conversation itself. */
  readonly agent?: string;
}

/** Where agents have left changes: nobody else says it after the turn. */
const keptWorktrees = ({ agents }: Agent) =>
  (agents?.list() ?? []).flatMap(({ name, worktree }) => (worktree?.state === "kept" ? [{ name, worktree }] : []));

/** Calls of agents that were not allowed to run. */
const agentDenials = ({ agents }: Agent): readonly DenialJson[] =>
  (agents?.list() ?? []).flatMap(({ name, denials = [] }) =>
    denials.map(({ id, tool, input }) => ({ tool_name: tool, tool_use_id: id, tool_input: input, agent: name })),
  );

/** Calls that were not allowed to run, in the form that scripts for other agents know. */
class Denials {
  readonly list: DenialJson[] = [];
  readonly #inputById = new Map<string, JsonObject>();

  note(event: LoopEvent): void {
    if (event.kind === "call-start") this.#inputById.set(event.id, event.input);
    if (event.kind !== "call-end") return;
    const input = this.#inputById.get(event.id) ?? {};
    this.#inputById.delete(event.id);
    if (event.outcome === "denied") this.list.push({ tool_name: event.tool, tool_use_id: event.id, tool_input: input });
  }
}

const clearEventText = ({ trigger, because }: Extract<LoopEvent, { kind: "cleared" }>): string =>
  `cleared (${trigger}): ${because}`;

const omissionText = (event: Extract<LoopEvent, { kind: "left-out" }>): string =>
  `${formatLeftOut(event)} The provider said: ${event.because}${/[.!?]$/.test(event.because) ? "" : "."} \`palimpsest undo\` takes it back.`;

function failureFields({ message, remedies, unwritten }: TurnEndEvent): object {
  if (message === undefined) return {};
  const why = unwritten === undefined ? {} : { unwritten };
  return { message, remedies, remedy: formatRemedies(remedies, "shell"), ...why };
}

const turnEndText = ({ message, remedies }: TurnEndEvent): string =>
  message === undefined ? "" : `: ${message}\n${formatRemedies(remedies, "shell")}`;

const denialText = (count: number): string =>
  `${count === 1 ? "1 call was" : `${count} calls were`} denied; --allow or permissions.allow in your settings lets such calls run, --no-sandbox those outside the sandbox (see docs/tools.md)`;

const nanosToUsd = ({ totalNanos }: CostSummary): number => totalNanos / 1e9;
