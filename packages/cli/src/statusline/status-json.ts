import type { NanoUsd, SessionId, Tokens } from "palimpsest/internal/schema/brand";
import type { JsonObject } from "palimpsest/internal/schema/json";
import { requestTokens, type Usage } from "palimpsest/internal/schema/usage";

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
