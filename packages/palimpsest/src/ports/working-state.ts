import type { EntryId, ToolUseId } from "../schema/brand.ts";
import type { RestoreBudgets, RestoredPart } from "../schema/restored-part.ts";

/**
 * Something that the agent works with and that is not in what was said: its task list, the files it has read, the place
 * where it stands. A compaction covers the messages that told it, so it is told again behind the boundary.
 */
export interface WorkingStatePart {
  /** One word; no two parts of a session have the same. */
  readonly name: string;
  /** By which parts are put in order: what changes least comes first. `stabilityOf` has the usual ones. */
  readonly stability: number;
  /**
   * The state at the moment of the call, not when the compaction began. Undefined: there is nothing to tell. Must not
   * reject: a part that fails says so in one line, and the others are told nevertheless.
   */
  snapshot(request: RestoreRequest): Promise<RestoredPart | undefined>;
}

export interface RestoreRequest {
  readonly budgets: RestoreBudgets;
  /** Whether a message that the boundary keeps still shows this result, or this attachment, whole. */
  readonly isKept: (shownBy: ToolUseId | EntryId) => boolean;
}

export interface WorkingStateDep {
  readonly workingState: WorkingState;
}

/** The parts of one session. Most stable first, so that what has not changed stays a prefix of what is sent. */
interface WorkingState {
  readonly parts: readonly WorkingStatePart[];
}

/** In the order in which they are told. Between two there is room for parts that are yet to come. */
export const usualStability = {
  instructions: 10,
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
  return { parts: parts.toSorted((one, other) => one.stability - other.stability) };
}
