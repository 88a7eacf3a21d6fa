import type { CostSummary } from "palimpsest/internal/cache/costs";
import type { Agent } from "./agent/agent.ts";
import type { LoopEvent, TurnEndEvent } from "palimpsest/internal/schema/event";
import type { JsonObject } from "palimpsest/internal/schema/json";
import type { Problem } from "palimpsest/internal/settings/problem";
import { leftOutLine } from "palimpsest/internal/schema/edit-kinds";
import { remedyLine } from "./tui/text/remedy-words.ts";
import type { CommandContext } from "./command.ts";
import type { ExitCode } from "./exit-code.ts";
import { compactionTeller } from "./compact/event-lines.ts";
import { ownPromptOf } from "./compact/own-prompt.ts";
import type { Answerer } from "./compact/simulated.ts";
import { moneyBySource } from "./cost-sources.ts";
import { headroomText } from "./headroom-text.ts";
import type { OutputFormat } from "./output-format.ts";
import { said, tellProblems } from "./settings-problems.ts";
import { turnExitCode } from "./turn-exit-code.ts";
import { hookOrWarning } from "./warning-text.ts";

export interface AgentOutput {
  /** What a person should know before the turn: on stderr, and as a line where every event is one. */
  before(told: { readonly problems: readonly Problem[]; readonly warnings: readonly string[] }): Promise<void>;
  event(event: LoopEvent): Promise<void>;
  /** 0: the turn was answered. */
  end(): Promise<ExitCode>;
}

/** What a turn prints: its last words, one object about it, or every event as a line. */
export function agentOutput(
  context: CommandContext,
  { agent, answerer, format }: { agent: Agent; answerer: Answerer; format: OutputFormat },
): AgentOutput {
  const { out, err } = context;
  let words = "";
  let requests = 0;
  let retries = 0;
  let end: TurnEndEvent | undefined;
  const denials = new Denials();
  const tellCompaction = compactionTeller(context, {
    answerer,
    pins: () => agent.session.fold.projection.pins.size,
    ownPrompt: () => ownPromptOf(context),
  });
  return {
    before: async ({ problems, warnings }) => {
      await tellProblems(context, problems);
      for (const warning of warnings) await err.write(`warning: ${warning}\n`);
      if (format !== "stream-json") return;
      const events = [
        ...problems.map((problem) => ({ kind: "warning", code: "settings", message: said(problem) }) as const),
        ...warnings.map((message) => ({ kind: "warning", code: "session", message }) as const),
      ];
      for (const event of events) await out.json(lineOf(event, agent.session.id));
    },
    event: async (event) => {
      if (event.kind === "request-start") requests = event.number;
      if (event.kind === "retry-start") retries += 1;
      if (event.kind === "reply-start") words = "";
      if (event.kind === "text-delta") words += event.text;
      if (event.kind === "turn-end") end = event;
      denials.note(event);
      if (format === "stream-json") {
        await out.json(lineOf(event, agent.session.id));
        return;
      }
      await tellCompaction(event);
      if (event.kind === "warning") await err.write(hookOrWarning(event));
      else if (event.kind === "cleared") await err.write(`${clearedText(event)}\n`);
      else if (event.kind === "left-out") await err.write(`${leftOutText(event)}\n`);
      else if (event.kind === "no-headroom") await err.write(`warning: ${headroomText(event)}\n`);
      else if (event.kind === "retry-start") await err.write(`trying again (${event.attempt}): ${event.message}\n`);
    },
    end: async () => {
      const reason = end?.reason ?? "failed";
      const report = {
        type: "result",
        reason,
        result: words,
        session_id: agent.session.id,
        model: agent.model,
        num_requests: requests,
        num_retries: retries,
        total_cost_usd: usd(agent.conversation.costs.session),
        inherited_cost_usd: usd(agent.inheritedCosts),
        cost_by_source: moneyBySource(agent.conversation.costs.toJSON().bySource),
        costs: agent.conversation.costs.session,
        permission_denials: denials.list,
        ...(end === undefined ? {} : unansweredFields(end)),
      };
      if (format === "text") await out.write(words === "" ? "" : `${words}\n`);
      else await out.json(report);
      if (format === "text" && denials.list.length > 0) await err.write(`${denialText(denials.list.length)}\n`);
      const why = end === undefined ? "" : turnEndText(end);
      if (reason !== "answered") await err.write(`the turn ended without an answer (${reason})${why}\n`);
      return turnExitCode(end);
    },
  };
}

/** `type` and `session_id` are what scripts for other agents look for; the loop's own words for the same are left out. */
function lineOf(event: LoopEvent, session: string): object {
  if (event.kind === "turn-start") return { type: event.kind, session_id: session, model: event.model };
  const { kind, ...fields } = event;
  return { type: kind, session_id: session, ...fields };
}

/** Calls that were not allowed to run, in the form that scripts for other agents know. */
class Denials {
  readonly list: { tool_name: string; tool_use_id: string; tool_input: JsonObject }[] = [];
  readonly #inputById = new Map<string, JsonObject>();

  note(event: LoopEvent): void {
    if (event.kind === "call-start") this.#inputById.set(event.id, event.input);
    if (event.kind !== "call-end") return;
    const input = this.#inputById.get(event.id) ?? {};
    this.#inputById.delete(event.id);
    if (event.outcome === "denied") this.list.push({ tool_name: event.tool, tool_use_id: event.id, tool_input: input });
  }
}

const clearedText = ({ trigger, because }: Extract<LoopEvent, { kind: "cleared" }>): string =>
  `cleared (${trigger}): ${because}`;

const leftOutText = (event: Extract<LoopEvent, { kind: "left-out" }>): string =>
  `${leftOutLine(event)} The provider said: ${event.because}${/[.!?]$/.test(event.because) ? "" : "."} \`palimpsest undo\` takes it back.`;

function unansweredFields({ message, remedies, unwritten }: TurnEndEvent): object {
  if (message === undefined) return {};
  const why = unwritten === undefined ? {} : { unwritten };
  return { message, remedies, remedy: remedyLine(remedies, "shell"), ...why };
}

const turnEndText = ({ message, remedies }: TurnEndEvent): string =>
  message === undefined ? "" : `: ${message}\n${remedyLine(remedies, "shell")}`;

const denialText = (count: number): string =>
  `${count === 1 ? "1 call was" : `${count} calls were`} denied; --allow or permissions.allow in your settings lets such calls run, --no-sandbox those outside the sandbox (see docs/tools.md)`;

const usd = ({ totalNanos }: CostSummary): number => totalNanos / 1e9;
