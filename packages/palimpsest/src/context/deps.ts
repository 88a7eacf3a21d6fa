import type { HashDep } from "../cache/break-detector.ts";
import type { BlobsDep } from "../ports/blobs.ts";
import type { ClockDep } from "../ports/clock-dep.ts";
import type { OffloadLimits } from "../layers/1-offload/plan.ts";
import type { HookContext, HooksDep } from "../ports/hooks.ts";
import type { ModelDep } from "../ports/model-port.ts";
import type { UserPort } from "../ports/user-port.ts";
import type { AllowRuleDep, PermissionDep, ReadFiles, Tool } from "../ports/tool.ts";
import type { Millis, Tokens } from "../schema/brand.ts";
import type { RetryLimits } from "../model/limits.ts";
import type { ResolvedSettings } from "../settings/resolved-settings.ts";
import type { Draft } from "../transcript/draft.ts";
import type { Line } from "./line.ts";

export interface ResolvedSettingsDep {
  /** Numbers in force at this moment: settings may change while a turn runs. */
  readonly numbers: () => ResolvedSettings;
}

export interface WaitDep {
  /** Must resolve early when the signal is raised. */
  readonly wait: (time: Millis, signal: AbortSignal) => Promise<void>;
}

/** To ask a model, and again where that fails. */
export interface ModelCallDeps extends ModelDep, ClockDep, WaitDep {
  /** From 0 up to 1. */
  readonly random: () => number;
  readonly retries: RetryLimits;
}

/** To tell hooks what happens. */
export interface HookDeps extends HooksDep {
  /** Where the session is. */
  readonly place: () => HookContext;
}

export interface ToolsDep {
  readonly tools: readonly Tool[];
}

/** To take results into the transcript. */
export interface ResultDeps extends BlobsDep, ToolsDep {
  readonly offloadLimits: () => OffloadLimits;
}

/** To compact. */
export interface CompactionDeps extends ModelCallDeps, HookDeps, BlobsDep, ResolvedSettingsDep {}

/** To tell the model what it should know before a request of the session. */
export interface ReminderDeps {
  /** What came up beside the conversation: each is given once. */
  readonly news?: (() => readonly Draft[]) | undefined;
  /** What changed beside the conversation since its view last said so. */
  readonly reminders?:
    | ((conversation: { readonly line: Line; readonly files: ReadFiles }) => Promise<readonly Draft[]>)
    | undefined;
}

/** To make the next request: the layers run before it. */
export interface RequestDeps extends CompactionDeps, ReminderDeps, ToolsDep {}

/** To walk through the rounds of a turn. */
export interface RoundsDeps extends RequestDeps, ResultDeps {
  /** An error named a smaller limit than we knew. Must not reject. */
  readonly learn: (lesson: WindowLesson) => Promise<void>;
}

/** To run the calls of a reply. */
export interface CallDeps extends HookDeps, ToolsDep, PermissionDep, ClockDep {
  /** Who is asked where a verdict leaves it to a person, and where their rules go. Absent: nobody is, and it is denied. */
  readonly asking?: (AllowRuleDep & { readonly person: UserPort }) | undefined;
  readonly cwd: () => string;
}

/** To take whole turns, the conversation's own and those of its forks. */
export interface AgentDeps extends RoundsDeps, CallDeps, HashDep {
  /** A fork's own: defined as these and standing where these stand now. What its calls change is seen by it alone. */
  readonly toolsForFork: () => Pick<CallDeps, "tools" | "cwd">;
}

export interface WindowLesson {
  readonly model: string;
  readonly limitTokens: Tokens;
  /** `input`: of what is sent, in a window that is larger. */
  readonly limitOf: "window" | "input";
  /** The words that said so. */
  readonly from: string;
}
