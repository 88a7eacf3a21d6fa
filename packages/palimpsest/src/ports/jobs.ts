import type { Millis, ToolUseId } from "../schema/brand.ts";
import type { ProgramStart, SandboxEntry } from "./sandbox.ts";

/** Commands that run in the background. They belong to a session and end with it. */
export interface Jobs {
  /** Returns at once. If the command can't be run at all, the job ends with that error. */
  start(request: JobRequest): JobStartOutcome;
  /** The job's output since the last look. Output is shown only once. */
  look(id: string, filter?: string): JobReadOutcome;
  /** Resolves when its processes are gone. Must not reject. */
  kill(id: string): Promise<JobReadOutcome>;
  /** What the next `look` would show, without consuming it: for the user. */
  peek(id: string): JobReadOutcome;
  /**
   * For the user: ends the job; the agent is told so as with any other end. Resolves when its processes are gone. Must
   * not reject.
   */
  end(id: string): Promise<void>;
  /** The running jobs and the most recently ended ones, oldest first. */
  list(): readonly Job[];
  /** Jobs that have ended and whose end no `look` has shown. Each is returned once. */
  takeEnded(): readonly Job[];
  /** Ends all jobs; none can be started afterwards. Must not reject. */
  close(): Promise<void>;
}

export interface JobRequest {
  readonly command: string;
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  /** Runs the job in a sandbox. Must not reject. Absent: it runs with the rights of this process. */
  readonly enter?: ((start: ProgramStart) => Promise<SandboxEntry>) | undefined;
  readonly toolUse: ToolUseId;
  /** Called once the job has ended: returns lines to show after its output. `output` is the part that was not shown yet. */
  readonly endNotes?:
    | ((end: { readonly output: string; readonly result: "done" | "failed" }) => readonly string[])
    | undefined;
  /** The job is ended after this time; undefined: when the session ends, or at a very high limit. */
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
      /** Bytes dropped from the middle of the output, because more was written than is kept. */
      readonly leftOutBytes: number;
      /** Lines that the filter left out. */
      readonly hiddenLines: number;
    }
  | { readonly kind: "unknown"; readonly known: readonly string[] };

/** For sessions whose tool definitions mention jobs but that can have none. `why`: one line, without its full stop. */
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

/** For forks: their tool definitions are the session's, and nothing would end the jobs that they start. */
export const forkJobs: Jobs = createUnavailableJobs(
  "jobs belong to the session that this agent was forked from: it starts, sees and ends none",
);

/** For a session that had jobs and is continued for a single turn: its tool definitions must stay the same. */
export const foregroundOnlyJobs: Jobs = createUnavailableJobs("nothing outlasts this turn; run it in the foreground");
