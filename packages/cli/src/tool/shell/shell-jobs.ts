import type { ClockDep } from "palimpsest/internal/ports/clock-dep";
import type { Job, JobReadOutcome, JobRequest, Jobs, JobStartOutcome, JobState } from "palimpsest/internal/ports/jobs";
import type { RunningGroups } from "palimpsest/internal/ports/session-files";
import { jobMsMax, jobOutputBytesMax, jobsKeptMax, jobsRunningMax } from "../limits.ts";
import { formatEnd, OutputBuffer, runShell, type ShellEnd } from "./run-shell.ts";

interface ShellJobsDeps extends ClockDep {
  /** Of the program that reads the line. */
  readonly shell: string;
  /** Absent in a store without files. */
  readonly groups?: RunningGroups | undefined;
  /** Once all have ended, for good. Must not reject. */
  readonly afterClose?: () => Promise<void>;
}

/**
 * The jobs of one session.
 *
 *   running ──exit, kill, time limit, close──▶ ended ──look, or told by takeEnded──▶ ended and known
 *
 * Each is a process group on record, as any command: one that outlives a killed agent is ended when the session is gone
 * on with.
 */
export class ShellJobs implements Jobs {
  readonly #deps: ShellJobsDeps;
  readonly #jobById = new Map<string, ShellJob>();
  #isClosed = false;

  constructor(deps: ShellJobsDeps) {
    this.#deps = deps;
  }

  start(order: JobRequest): JobStartOutcome {
    if (this.#isClosed) return { kind: "refused", why: "the session is about to end" };
    const running = [...this.#jobById.values()].filter(({ isRunning }) => isRunning);
    if (running.length >= jobsRunningMax) {
      const ids = running.map(({ id }) => id).join(", ");
      return { kind: "refused", why: `${jobsRunningMax} jobs run already (${ids}): end one with bash_kill first` };
    }
    const job = new ShellJob({ deps: this.#deps, order, id: this.#idFor(order) });
    this.#jobById.set(job.id, job);
    this.#forget();
    return { kind: "started", job: job.now() };
  }

  look(id: string, filter?: string): JobReadOutcome {
    const job = this.#jobById.get(id);
    return job === undefined ? this.#unknown() : job.look(filter);
  }

  async kill(id: string): Promise<JobReadOutcome> {
    const job = this.#jobById.get(id);
    if (job === undefined) return this.#unknown();
    await job.kill();
    return job.look(undefined);
  }

  peek(id: string): JobReadOutcome {
    return this.#jobById.get(id)?.peek() ?? this.#unknown();
  }

  async end(id: string): Promise<void> {
    await this.#jobById.get(id)?.kill();
  }

  list(): readonly Job[] {
    return [...this.#jobById.values()].map((job) => job.now());
  }

  takeEnded(): readonly Job[] {
    return [...this.#jobById.values()].filter((job) => job.takeEnd()).map((job) => job.now());
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.all([...this.#jobById.values()].map((job) => job.kill()));
    await this.#deps.afterClose?.();
  }

  #unknown(): JobReadOutcome {
    return { kind: "unknown", known: [...this.#jobById.keys()] };
  }

  /** From the call's: a session that is gone on with must not give an id that its transcript has for another job. */
  #idFor({ toolUse }: JobRequest): string {
    const short = `job_${toolUse.slice(-jobIdChars)}`;
    return this.#jobById.has(short) ? `job_${toolUse}` : short;
  }

  /** The oldest that have ended go first. */
  #forget(): void {
    const ended = [...this.#jobById.values()].filter(({ isRunning }) => !isRunning);
    for (const { id } of ended.slice(0, Math.max(0, ended.length - jobsKeptMax))) this.#jobById.delete(id);
  }
}

/** Enough to tell the calls of a session apart, few enough to be said again without a slip. */
const jobIdChars = 8;

interface ShellJobInput {
  readonly deps: ShellJobsDeps;
  readonly order: JobRequest;
  readonly id: string;
}

class ShellJob {
  readonly id: string;
  readonly #parts: ShellJobInput;
  readonly #startedAt;
  readonly #stop = new AbortController();
  /** Between two looks a character may have come by half. */
  readonly #decoder = new TextDecoder();
  readonly #ended: Promise<void>;
  #unread = new OutputBuffer(jobOutputBytesMax);
  #state: JobState = { kind: "running" };
  #isEndKnown = false;

  constructor(parts: ShellJobInput) {
    this.id = parts.id;
    this.#parts = parts;
    this.#startedAt = parts.deps.now();
    this.#ended = this.#run();
  }

  get isRunning(): boolean {
    return this.#state.kind === "running";
  }

  now(): Job {
    return { id: this.id, command: this.#parts.order.command, startedAt: this.#startedAt, state: this.#state };
  }

  async kill(): Promise<void> {
    this.#stop.abort();
    await this.#ended;
  }

  /** Whether its end is news; from then on it is none. */
  takeEnd(): boolean {
    const isNews = !this.isRunning && !this.#isEndKnown;
    if (isNews) this.#isEndKnown = true;
    return isNews;
  }

  peek(): JobReadOutcome {
    const { leftOutBytes } = this.#unread;
    return { kind: "seen", job: this.now(), output: this.#unread.text(), leftOutBytes, hiddenLines: 0 };
  }

  look(filter: string | undefined): JobReadOutcome {
    const unread = this.#unread;
    this.#unread = new OutputBuffer(jobOutputBytesMax);
    const { leftOutBytes } = unread;
    const { shown, hiddenLines } = this.#shown(unread.text(), filter);
    if (!this.isRunning) this.#isEndKnown = true;
    return { kind: "seen", job: this.now(), output: shown, leftOutBytes, hiddenLines };
  }

  /** A line that is still being written is not filtered: it waits for its end. */
  #shown(text: string, filter: string | undefined): { readonly shown: string; readonly hiddenLines: number } {
    if (filter === undefined) return { shown: text, hiddenLines: 0 };
    const end = this.isRunning ? text.lastIndexOf("\n") + 1 : text.length;
    this.#unread.add(Buffer.from(text.slice(end)));
    const lines = text.slice(0, end).split("\n");
    if (lines.at(-1) === "") lines.pop();
    const sought = filter.split("|").filter((one) => one !== "");
    const fitting = lines.filter((line) => sought.some((one) => line.includes(one)));
    return { shown: fitting.join("\n"), hiddenLines: lines.length - fitting.length };
  }

  async #run(): Promise<void> {
    const { deps, order } = this.#parts;
    const { groups, shell } = deps;
    const { command, cwd, env, enter, toolUse, timeoutMs = jobMsMax } = order;
    const end = await runShell({
      shell,
      command,
      cwd,
      env,
      enter,
      timeoutMs,
      signal: this.#stop.signal,
      record: groups && ((leader: number) => groups.record({ leader, toolUse })),
      onOutput: (chunk) => this.#take(this.#decoder.decode(chunk, { stream: true })),
    });
    this.#take(this.#decoder.decode());
    const notes = order.endNotes?.({ output: this.#unread.text(), result: endResult(end) }) ?? [];
    for (const note of notes) this.#take(`\n[${note}]`);
    this.#state = { kind: "ended", at: deps.now(), how: describeEnd(end, timeoutMs), result: endResult(end) };
  }

  #take(text: string): void {
    if (text !== "") this.#unread.add(Buffer.from(text));
  }
}

const describeEnd = (end: ShellEnd, timeoutMs: number): string =>
  end.how.kind === "aborted" ? "ended on demand" : formatEnd(end, timeoutMs) || "exit code 0";

const endResult = ({ how }: ShellEnd): "done" | "failed" =>
  how.kind === "exited" && how.code === 0 ? "done" : "failed";
