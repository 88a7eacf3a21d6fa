import type { Agent } from "../agent/agent.ts";
import {
  type SessionId,
  type Millis,
  millis,
  nanoUsd,
  tokens,
  type ToolUseId,
  type NanoUsd,
  type Tokens,
} from "palimpsest/internal/schema/brand";
import type { LoopEvent } from "palimpsest/internal/schema/loop-event";
import { type StatuslineCommand, createStatuslineDeps, Statusline } from "./statusline.ts";
import { agentBackground, changesFigures } from "../chat/chat-view.ts";
import { formatBackground } from "../tui/text/status-figures.ts";
import { type Usage, requestTokens } from "palimpsest/internal/schema/usage";
import { computePressure } from "palimpsest/internal/tokens/thresholds";
import { parseTextChange } from "../tui/text/call-title.ts";
import type { JsonObject } from "palimpsest/internal/schema/json";

interface ChatStatuslineInput extends AgentFactsInput {
  readonly command: StatuslineCommand;
  readonly show: (lines: readonly string[]) => void;
}

export interface ChatStatusline {
  readonly changed: (agent: Agent, event: LoopEvent | undefined) => void;
  readonly close: () => void;
}

/** Runs the user's command again when something in the chat has changed. A failing command shows its error instead. */
export function createChatStatusline({ command, show, ...input }: ChatStatuslineInput): ChatStatusline {
  let facts: { readonly session: SessionId; readonly collector: AgentFactsCollector } | undefined;
  /** Another session starts from zero. */
  const collectorFor = ({ session: { id: session } }: Agent): AgentFactsCollector => {
    if (facts?.session !== session) facts = { session, collector: new AgentFactsCollector(input) };
    return facts.collector;
  };
  const line = new Statusline(createStatuslineDeps(command), (outcome) =>
    show(outcome.kind === "lines" ? outcome.lines : [`The statusline command ${outcome.why}.`]),
  );
  return {
    changed: (agent, event) => {
      const collector = collectorFor(agent);
      if (event !== undefined) collector.observe(event);
      if (event === undefined || changesFigures(event)) line.update(() => statusJson(collector.factsAbout(agent)));
    },
    close: () => line.close(),
  };
}

interface AgentFactsInput extends Pick<AgentFacts, "version" | "cwd" | "projectRoot"> {
  readonly transcriptPath: (agent: Agent) => string;
  readonly now: () => Millis;
}

interface LinesChanged {
  readonly added: number;
  readonly removed: number;
}

/** Collects what statusline scripts want to know of an agent and only its events tell. */
class AgentFactsCollector {
  readonly #input: AgentFactsInput;
  readonly #startedAt: Millis;
  readonly #linesByCall = new Map<ToolUseId, LinesChanged>();
  #usage: Usage | undefined;
  #requestedAt: Millis | undefined;
  #apiMillis = 0;
  #added = 0;
  #removed = 0;

  constructor(input: AgentFactsInput) {
    this.#input = input;
    this.#startedAt = input.now();
  }

  observe(event: LoopEvent): void {
    if (event.kind === "request-start") this.#requestedAt = this.#input.now();
    if (event.kind === "reply-end") this.#countReply(event.usage);
    if (event.kind === "call-start") {
      const change = parseTextChange(event.tool, event.input);
      if (change !== undefined)
        this.#linesByCall.set(event.id, { added: countLines(change.after), removed: countLines(change.before ?? "") });
    }
    if (event.kind === "call-end") this.#countLines(event);
  }

  factsAbout(agent: Agent): AgentFacts {
    const { version, cwd, projectRoot, transcriptPath, now } = this.#input;
    const { totalNanos, hitRate, tokensByKind } = agent.context.conversation.costs.session;
    const { output, ...sent } = tokensByKind;
    const { policy, thresholds, autoCompact } = agent.settings();
    const { tokens: usedTokens } = agent.session.ledger.size;
    return {
      session: agent.session.id,
      transcriptPath: transcriptPath(agent),
      cwd,
      projectRoot,
      model: agent.model,
      version,
      policy: policy.name,
      windowTokens: thresholds.window,
      usedTokens,
      usage: this.#usage ?? lastLoggedUsage(agent),
      inputTokens: tokens(Object.values(sent).reduce((sum, count) => sum + count, 0)),
      outputTokens: output,
      costNanos: nanoUsd(totalNanos),
      hitRate,
      durationMillis: now() - this.#startedAt,
      apiDurationMillis: this.#apiMillis,
      linesAdded: this.#added,
      linesRemoved: this.#removed,
      percentLeft: computePressure(usedTokens, thresholds, autoCompact).percentLeft,
      background: formatBackground(agentBackground(agent)),
    };
  }

  #countReply(usage: Usage | undefined): void {
    this.#usage = usage ?? this.#usage;
    if (this.#requestedAt !== undefined) this.#apiMillis += millis(this.#input.now() - this.#requestedAt);
    this.#requestedAt = undefined;
  }

  #countLines({ id, outcome }: Extract<LoopEvent, { kind: "call-end" }>): void {
    const lines = this.#linesByCall.get(id);
    this.#linesByCall.delete(id);
    if (lines === undefined || outcome !== "done") return;
    this.#added += lines.added;
    this.#removed += lines.removed;
  }
}

/** For a resumed session: the log's usage counts until there is a reply. */
const lastLoggedUsage = ({ session }: Agent): Usage | undefined => {
  const last = session.fold.path.entries.findLast((entry) => entry.kind === "assistant" && entry.usage !== undefined);
  return last?.kind === "assistant" ? last.usage : undefined;
};

const countLines = (text: string): number => (text === "" ? 0 : text.replace(/\n$/, "").split("\n").length);

/** What statusline scripts are told about an agent. */
export interface AgentFacts {
  readonly session: SessionId;
  readonly transcriptPath: string;
  readonly cwd: string;
  readonly projectRoot: string;
  readonly model: string;
  readonly version: string;
  readonly policy: string;
  readonly windowTokens: Tokens;
  /** The current size of the context, the figure that the chat shows. */
  readonly usedTokens: Tokens;
  /** Of the last reply; undefined before the first one. */
  readonly usage: Usage | undefined;
  /** Of all requests: what was sent, cached or not, and what came back. */
  readonly inputTokens: Tokens;
  readonly outputTokens: Tokens;
  readonly costNanos: NanoUsd;
  /** 0 to 1. */
  readonly hitRate: number;
  readonly durationMillis: number;
  readonly apiDurationMillis: number;
  readonly linesAdded: number;
  readonly linesRemoved: number;
  readonly percentLeft: number;
  /** What runs in the background; empty if nothing does. */
  readonly background: string;
}

/**
 * The JSON that statusline commands of other agents read from their input. Percentages are of the window, as such
 * scripts expect; what only we know is under `palimpsest`.
 */
export function statusJson(facts: AgentFacts): JsonObject {
  const { usage, usedTokens, windowTokens } = facts;
  const used = wholePercent(usedTokens, windowTokens);
  return {
    hook_event_name: "Status",
    session_id: facts.session,
    transcript_path: facts.transcriptPath,
    cwd: facts.cwd,
    model: { id: facts.model, display_name: facts.model },
    workspace: { current_dir: facts.cwd, project_dir: facts.projectRoot },
    version: facts.version,
    output_style: { name: "default" },
    cost: {
      total_cost_usd: facts.costNanos / 1e9,
      total_duration_ms: facts.durationMillis,
      total_api_duration_ms: facts.apiDurationMillis,
      total_lines_added: facts.linesAdded,
      total_lines_removed: facts.linesRemoved,
    },
    context_window: {
      total_input_tokens: facts.inputTokens,
      total_output_tokens: facts.outputTokens,
      context_window_size: windowTokens,
      used_percentage: used,
      remaining_percentage: 100 - used,
      current_usage: usage === undefined ? null : usageJson(usage),
    },
    exceeds_200k_tokens: usage !== undefined && requestTokens(usage) + usage.output > longContextTokens,
    palimpsest: {
      policy: facts.policy,
      cache_hit_rate: facts.hitRate,
      percent_left_until_compaction: facts.percentLeft,
      background: facts.background,
    },
  };
}

/** A constant of the format, whatever the window is. */
const longContextTokens = 200_000;

/** Integers from 0 to 100: scripts draw bars with them. */
const wholePercent = (part: number, whole: number): number =>
  whole <= 0 ? 0 : Math.min(100, Math.max(0, Math.round((part / whole) * 100)));

const usageJson = ({ input, output, cacheWrite, cacheRead }: Usage): JsonObject => ({
  input_tokens: input,
  output_tokens: output,
  cache_creation_input_tokens: cacheWrite,
  cache_read_input_tokens: cacheRead,
});
