import type { Agent } from "../agent/agent.ts";
import { type Millis, millis, nanoUsd, tokens, type ToolUseId } from "palimpsest/internal/schema/brand";
import type { LoopEvent } from "palimpsest/internal/schema/event";
import type { Usage } from "palimpsest/internal/schema/usage";
import { pressureOf } from "palimpsest/internal/tokens/thresholds";
import { changeOf } from "../tui/text/call-words.ts";
import type { AgentFacts } from "../statusline/status-json.ts";

export interface FactsInput extends Pick<AgentFacts, "version" | "cwd" | "projectRoot"> {
  readonly transcriptPath: (agent: Agent) => string;
  readonly now: () => Millis;
}

interface LinesChanged {
  readonly added: number;
  readonly removed: number;
}

/** What people's scripts want to know of an agent and only its events tell: gathered as they come. */
export class GatheredFacts {
  readonly #input: FactsInput;
  readonly #begun: Millis;
  readonly #linesByCall = new Map<ToolUseId, LinesChanged>();
  #usage: Usage | undefined;
  #requestedAt: Millis | undefined;
  #apiMillis = 0;
  #added = 0;
  #removed = 0;

  constructor(input: FactsInput) {
    this.#input = input;
    this.#begun = input.now();
  }

  take(event: LoopEvent): void {
    if (event.kind === "request-start") this.#requestedAt = this.#input.now();
    if (event.kind === "reply-end") this.#replied(event.usage);
    if (event.kind === "call-start") {
      const change = changeOf(event.tool, event.input);
      if (change !== undefined)
        this.#linesByCall.set(event.id, { added: linesOf(change.after), removed: linesOf(change.before ?? "") });
    }
    if (event.kind === "call-end") this.#called(event);
  }

  of(agent: Agent): AgentFacts {
    const { version, cwd, projectRoot, transcriptPath, now } = this.#input;
    const { totalNanos, hitRate, tokensByKind } = agent.conversation.costs.session;
    const { output, ...sent } = tokensByKind;
    const { policy, thresholds, autoCompact } = agent.numbers();
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
      usage: this.#usage ?? lastUsage(agent),
      inputTokens: tokens(Object.values(sent).reduce((sum, one) => sum + one, 0)),
      outputTokens: output,
      costNanos: nanoUsd(totalNanos),
      hitRate,
      durationMillis: now() - this.#begun,
      apiDurationMillis: this.#apiMillis,
      linesAdded: this.#added,
      linesRemoved: this.#removed,
      percentLeft: pressureOf(usedTokens, thresholds, autoCompact).percentLeft,
    };
  }

  #replied(usage: Usage | undefined): void {
    this.#usage = usage ?? this.#usage;
    if (this.#requestedAt !== undefined) this.#apiMillis += millis(this.#input.now() - this.#requestedAt);
    this.#requestedAt = undefined;
  }

  #called({ id, outcome }: Extract<LoopEvent, { kind: "call-end" }>): void {
    const lines = this.#linesByCall.get(id);
    this.#linesByCall.delete(id);
    if (lines === undefined || outcome !== "done") return;
    this.#added += lines.added;
    this.#removed += lines.removed;
  }
}

/** Of a session that is gone on with: its log tells it until there is a reply. */
const lastUsage = ({ session }: Agent): Usage | undefined => {
  const last = session.fold.path.entries.findLast((entry) => entry.kind === "assistant" && entry.usage !== undefined);
  return last?.kind === "assistant" ? last.usage : undefined;
};

const linesOf = (text: string): number => (text === "" ? 0 : text.replace(/\n$/, "").split("\n").length);
