import type { Millis, ToolUseId } from "../schema/brand.ts";
import type { ProgramStart, SandboxEntry } from "./sandbox.ts";

/** Commands that run beside the conversation. They belong to a session and end with it. */
export interface Jobs {
  /** Returns at once: whether the command can be run at all, its end tells. */
  start(order: JobRequest): JobStartOutcome;
  /** What it wrote since the last look. What was looked at is not shown again. */
  look(id: string, filter?: string): JobReadOutcome;
  /** Resolves when its processes are gone. Must not reject. */
  kill(id: string): Promise<JobReadOutcome>;
  /** What the next look would show: for a person, who takes nothing from the agent by it. */
  peek(id: string): JobReadOutcome;
  /** For a person: the agent is told of its end as of any other. Resolves when its processes are gone. Must not reject. */
  end(id: string): Promise<void>;
  /** Those that run and the last of those that have ended, oldest first. */
  list(): readonly Job[];
  /** Those that have ended and whose end no look has shown: each is given once. */
  takeEnded(): readonly Job[];
  /** Ends them all, for good. Must not reject. */
  close(): Promise<void>;
}

export interface JobRequest {
  readonly command: string;
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  /** Holds it in a sandbox. Must not reject. Absent: it runs as this process does. */
  readonly enter?: ((start: ProgramStart) => Promise<SandboxEntry>) | undefined;
  readonly toolUse: ToolUseId;
  /** Asked for once it has ended: lines to show behind what it wrote, of which `output` is what nobody has seen yet. */
  readonly endNotes?:
    | ((end: { readonly output: string; readonly result: "done" | "failed" }) => readonly string[])
    | undefined;
  /** Ended then; undefined: when the session ends, or at a limit that nobody waits for. */
  readonly timeoutMs?: Millis | undefined;
}

export type JobStartOutcome =
  | { readonly kind: "started"; readonly job: Job }
  | { readonly kind: "refused"; readonly why: string };

export interface Job {
  readonly id: string;
  readonly command: string;
  readonly startedAt: Millis;
  readonly state: JobState;
}

export type JobState =
  | { readonly kind: "running" }
  /** `how`: in words, such as `exit code 1`. */
  | { readonly kind: "ended"; readonly at: Millis; readonly how: string; readonly result: "done" | "failed" };

export type JobReadOutcome =
  | {
      readonly kind: "seen";
      readonly job: Job;
      readonly output: string;
      /** Of the middle of what it wrote since: more than is kept. */
      readonly leftOutBytes: number;
      /** Lines that the filter left out. */
      readonly hiddenLines: number;
    }
  | { readonly kind: "unknown"; readonly known: readonly string[] };

/** Where definitions speak of jobs and there can be none. `why`: in a line, without its full stop. */
const createUnavailableJobs = (why: string): Jobs => ({
  start: () => ({ kind: "refused", why }),
  look: () => ({ kind: "unknown", known: [] }),
  kill: async () => ({ kind: "unknown", known: [] }),
  peek: () => ({ kind: "unknown", known: [] }),
  end: async () => undefined,
  list: () => [],
  takeEnded: () => [],
  close: async () => undefined,
});

/** A fork's: its definitions are the session's, and nobody would end what it starts. */
export const forkJobs: Jobs = createUnavailableJobs(
  "jobs belong to the session that this agent was forked from: it starts, sees and ends none",
);

/** Of a session that had them, where it is gone on with for one turn: its definitions stay what they were. */
export const foregroundOnlyJobs: Jobs = createUnavailableJobs("nothing outlasts this turn; run it in the foreground");
