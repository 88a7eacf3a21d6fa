import type { EntryId, ToolUseId } from "../schema/brand.ts";
import type { RestoreBudgets, RestoredPart } from "../schema/restored-part.ts";

/**
 * State that the agent works with and that a summary does not carry: its task list, the files it has read, its working
 * directory. A compaction covers the messages that showed it, so it is shown again after the boundary.
 */
export interface WorkingStatePart {
  /** One word, unique among the parts of a session. */
  readonly name: string;
  /** Sort key: parts that change least come first. `usualStability` has the usual values. */
  readonly stability: number;
  /**
   * The state at the moment of the call, not when the compaction began. Undefined: there is nothing to show. Must not
   * reject: a part that fails says so in one line, and the others are shown nevertheless.
   */
  snapshot(request: RestoreRequest): Promise<RestoredPart | undefined>;
}

export interface RestoreRequest {
  readonly budgets: RestoreBudgets;
  /** Whether a message that the boundary keeps still shows this result or attachment in full. */
  readonly isKept: (shownBy: ToolUseId | EntryId) => boolean;
}

export interface WorkingStateDep {
  readonly workingState: WorkingState;
}

/** The parts of one session, most stable first, so that unchanged parts stay a prefix of the request. */
interface WorkingState {
  readonly parts: readonly WorkingStatePart[];
}

/** In the order in which the parts are shown. The gaps leave room for further parts. */
export const usualStability = {
  instructions: 10,
  nested: 15,
  memory: 18,
  tools: 20,
  mcp: 25,
  agents: 30,
  skills: 40,
  plan: 50,
  schedules: 60,
  place: 70,
  todos: 80,
  files: 90,
} as const;

export function createWorkingState(parts: readonly WorkingStatePart[]): WorkingState {
  const names = new Set(parts.map(({ name }) => name));
  if (names.size < parts.length) throw new TypeError("two parts of the working state have the same name");
  return { parts: parts.toSorted((left, right) => left.stability - right.stability) };
}
