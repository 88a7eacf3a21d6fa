import type { Agent } from "../agent/agent.ts";
import { type SessionId, type Millis, millis, nanoUsd, tokens, type ToolUseId } from "palimpsest/internal/schema/brand";
import type { LoopEvent } from "palimpsest/internal/schema/loop-event";
import { type StatuslineCommand, createStatuslineDeps, Statusline } from "./statusline.ts";
import { statusJson, type AgentFacts } from "./status-json.ts";
import { changesFigures } from "../chat/chat-view.ts";
import type { Usage } from "palimpsest/internal/schema/usage";
import { computePressure } from "palimpsest/internal/tokens/thresholds";
import { parseTextChange } from "../tui/text/call-title.ts";

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
