import type { Baseline } from "../cache/baseline.ts";
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
import type { RedactionDep } from "../session/redaction.ts";
import type { ResolvedSettings } from "../settings/resolved-settings.ts";
import type { Draft } from "../transcript/draft.ts";
import type { Line } from "./line.ts";
import type { EditApprovalDep } from "./request/edit-approvals.ts";

export interface ResolvedSettingsDep {
  /** The settings as they resolve now: they may change while a turn runs. */
  readonly settings: () => ResolvedSettings;
}

export interface WaitDep {
  /** Must resolve early when the signal is aborted. */
  readonly wait: (time: Millis, signal: AbortSignal) => Promise<void>;
}

/** For calling a model, with retries. */
export interface ModelCallDeps extends ModelDep, ClockDep, WaitDep {
  /** From 0 to below 1. */
  readonly random: () => number;
  readonly retries: RetryLimits;
}

/** For running hooks. */
export interface HookDeps extends HooksDep {
  /** The session's id, transcript and working directory. */
  readonly place: () => HookContext;
}

export interface ToolsDep {
  readonly tools: readonly Tool[];
}

/** For writing results to the transcript. */
export interface ResultDeps extends BlobsDep, ToolsDep, RedactionDep {
  readonly offloadLimits: () => OffloadLimits;
}

export interface CompactionDeps extends ModelCallDeps, HookDeps, BlobsDep, ResolvedSettingsDep {}

/** For reminders to the model before a request of the session. */
export interface ReminderDeps {
  /** What happened outside the conversation; each draft is returned once. */
  readonly news?: (() => readonly Draft[]) | undefined;
  /** What changed outside the conversation since its view last mentioned it. */
  readonly reminders?:
    | ((conversation: {
        readonly line: Line;
        readonly files: ReadFiles;
        readonly baseline: Baseline;
      }) => Promise<readonly Draft[]>)
    | undefined;
}

/** For preparing the next request, which includes running the layers. */
export interface RequestDeps extends CompactionDeps, ReminderDeps, ToolsDep, EditApprovalDep {}

/** For the rounds of a turn. */
export interface RoundsDeps extends RequestDeps, ResultDeps {
  /** Called when an error named a smaller limit than the known one. Must not reject. */
  readonly learn: (lesson: WindowLesson) => Promise<void>;
}

/** For running the calls of a reply. */
export interface CallDeps extends HookDeps, ToolsDep, PermissionDep, ClockDep {
  /** How the user is asked if a verdict leaves the decision to them, and where their rules are stored. Absent: the call is denied. */
  readonly asking?: (AllowRuleDep & { readonly user: UserPort }) | undefined;
  readonly cwd: () => string;
}

/** For whole turns, of the conversation and of its forks. */
export interface AgentDeps extends RoundsDeps, CallDeps, HashDep {
  /** Tools for a fork, with the same definitions and the current directory. State that its calls change stays in the fork. */
  readonly toolsForFork: () => Pick<CallDeps, "tools" | "cwd">;
}

export interface WindowLesson {
  readonly model: string;
  readonly limitTokens: Tokens;
  /** `input`: the limit applies to what is sent, and the window is larger. */
  readonly limitOf: "window" | "input";
  /** The error text that named the limit. */
  readonly from: string;
}
