import type { HashDep } from "../../cache/breaks.ts";
import type { BlobsDep } from "../../ports/blobs.ts";
import type { ClockDep } from "../../ports/clock.ts";
import type { OffloadLimits } from "../../layers/1-offload/plan.ts";
import type { HookPlace, HooksDep } from "../../ports/hooks.ts";
import type { ModelDep } from "../../ports/model.ts";
import type { Person } from "../../ports/person.ts";
import type { LeaveDep, PermissionDep, Tool } from "../../ports/tools.ts";
import type { Millis, Tokens } from "../../schema/brand.ts";
import type { RetryLimits } from "../../model/limits.ts";
import type { Numbers } from "../../settings/numbers.ts";
import type { FileWatch } from "../../tool/file/changed.ts";
import type { Todo } from "../../tool/todo.ts";
import type { Draft } from "../../transcript/draft.ts";

/** Everything an agent touches besides its conversation. */
export interface AgentDeps extends ModelDep, PermissionDep, HooksDep, ClockDep, BlobsDep, HashDep {
  readonly tools: readonly Tool[];
  /** Who is asked where a verdict leaves it to a person, and where their rules go. Absent: nobody is, and it is denied. */
  readonly asking?: (LeaveDep & { readonly person: Person }) | undefined;
  /** What came up beside the conversation, to be appended before the next request of the session: each is given once. */
  readonly news?: (() => readonly Draft[]) | undefined;
  /** For what the model is reminded of before a request of the session. Absent: of nothing. */
  readonly reminders?: ReminderSources | undefined;
  readonly cwd: () => string;
  /** A fork's own: defined as these and standing where these stand now. What its calls change is seen by it alone. */
  readonly toolsForFork: () => Pick<AgentDeps, "tools" | "cwd">;
  /** Must resolve early when the signal is raised. */
  readonly wait: (time: Millis, signal: AbortSignal) => Promise<void>;
  /** From 0 up to 1. */
  readonly random: () => number;
  /** Numbers in force at this moment: settings may change while a turn runs. */
  readonly numbers: () => Numbers;
  readonly offloadLimits: () => OffloadLimits;
  readonly retries: RetryLimits;
  /** Where the session is, for hooks. */
  readonly place: () => HookPlace;
  /** An error named a smaller limit than we knew. Must not reject. */
  readonly learn: (lesson: WindowLesson) => Promise<void>;
}

export interface WindowLesson {
  readonly model: string;
  readonly limitTokens: Tokens;
  /** `input`: of what is sent, in a window that is larger. */
  readonly limitOf: "window" | "input";
  /** The words that said so. */
  readonly from: string;
}

/** Where reminders get to know what happened beside the conversation. */
export interface ReminderSources {
  /** The day that the system prompt names. */
  readonly startedOn: string;
  readonly todos: () => readonly Todo[];
  readonly mayRead: (path: string) => boolean;
  readonly watch: FileWatch;
}
