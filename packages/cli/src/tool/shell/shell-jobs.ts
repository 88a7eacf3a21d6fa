import type { ClockDep } from "palimpsest/internal/ports/clock-dep";
import type { Job, JobReadOutcome, JobRequest, Jobs, JobStartOutcome, JobState } from "palimpsest/internal/ports/jobs";
import type { RunningGroups } from "palimpsest/internal/ports/session-files";
import { jobMsMax, jobOutputBytesMax, jobsKeptMax, jobsRunningMax } from "../limits.ts";
import { formatEnd, OutputBuffer, runShell, type ShellEnd } from "./run-shell.ts";

interface ShellJobsDeps extends ClockDep {
  /** Path of the program that runs the line. */
  readonly shell: string;
  /** Absent in a store without files. */
  readonly groups?: RunningGroups | undefined;
  /** Called once all jobs have ended and none can be started. Must not reject. */
  readonly afterClose?: () => Promise<void>;
}

/**
 * The jobs of one session.
 *
 *   running ──exit, kill, time limit, close──▶ ended ──look, or reported by takeEnded──▶ ended and known
 *
 * Each job is a recorded process group, like any command: one that outlives a killed agent is ended when the session is
 * resumed.
 */
export class ShellJobs implements Jobs {
  readonly #deps: ShellJobsDeps;
  readonly #jobById = new Map<string, ShellJob>();
  #isClosed = false;

  constructor(deps: ShellJobsDeps) {
    this.#deps = deps;
  }

  start(request: JobRequest): JobStartOutcome {
    if (this.#isClosed) return { kind: "refused", why: "the session is about to end" };
    const running = [...this.#jobById.values()].filter(({ isRunning }) => isRunning);
    if (running.length >= jobsRunningMax) {
      const ids = running.map(({ id }) => id).join(", ");
      return { kind: "refused", why: `${jobsRunningMax} jobs run already (${ids}): end one with bash_kill first` };
    }
    const job = new ShellJob({ deps: this.#deps, request, id: this.#idFor(request) });
    this.#jobById.set(job.id, job);
    this.#dropOldest();
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

  /** Derived from the call's id: a resumed session must not reuse an id that its transcript has for another job. */
  #idFor({ toolUse }: JobRequest): string {
    const short = `job_${toolUse.slice(-jobIdChars)}`;
    return this.#jobById.has(short) ? `job_${toolUse}` : short;
  }

  /** Drops the oldest ended jobs. */
  #dropOldest(): void {
    const ended = [...this.#jobById.values()].filter(({ isRunning }) => !isRunning);
    for (const { id } of ended.slice(0, Math.max(0, ended.length - jobsKeptMax))) this.#jobById.delete(id);
  }
}

/** Enough to tell the calls of a session apart, short enough to be repeated correctly. */
const jobIdChars = 8;

interface ShellJobInput {
  readonly deps: ShellJobsDeps;
  readonly request: JobRequest;
  readonly id: string;
}

class ShellJob {
  readonly id: string;
  readonly #input: ShellJobInput;
  readonly #startedAt;
  readonly #stop = new AbortController();
  /** A chunk may end in the middle of a character. */
  readonly #decoder = new TextDecoder();
  readonly #ended: Promise<void>;
  #unread = new OutputBuffer(jobOutputBytesMax);
  #state: JobState = { kind: "running" };
  #isEndKnown = false;

  constructor(input: ShellJobInput) {
    this.id = input.id;
    this.#input = input;
    this.#startedAt = input.deps.now();
    this.#ended = this.#run();
  }

  get isRunning(): boolean {
    return this.#state.kind === "running";
  }

  now(): Job {
    return { id: this.id, command: this.#input.request.command, startedAt: this.#startedAt, state: this.#state };
  }

  async kill(): Promise<void> {
    this.#stop.abort();
    await this.#ended;
  }

  /** Whether its end has not been reported yet; marks it as reported. */
  takeEnd(): boolean {
    const isUnreported = !this.isRunning && !this.#isEndKnown;
    if (isUnreported) this.#isEndKnown = true;
    return isUnreported;
  }

  peek(): JobReadOutcome {
    const { leftOutBytes } = this.#unread;
    return { kind: "seen", job: this.now(), output: this.#unread.text(), leftOutBytes, hiddenLines: 0 };
  }

  look(filter: string | undefined): JobReadOutcome {
    const unread = this.#unread;
    this.#unread = new OutputBuffer(jobOutputBytesMax);
    const { leftOutBytes } = unread;
    const { shown, hiddenLines } = this.#filterLines(unread.text(), filter);
    if (!this.isRunning) this.#isEndKnown = true;
    return { kind: "seen", job: this.now(), output: shown, leftOutBytes, hiddenLines };
  }

  /** A line that is still being written is not filtered yet: it stays unread until it ends. */
  #filterLines(text: string, filter: string | undefined): { readonly shown: string; readonly hiddenLines: number } {
    if (filter === undefined) return { shown: text, hiddenLines: 0 };
    const end = this.isRunning ? text.lastIndexOf("\n") + 1 : text.length;
    this.#unread.add(Buffer.from(text.slice(end)));
    const lines = text.slice(0, end).split("\n");
    if (lines.at(-1) === "") lines.pop();
    const searchTexts = filter.split("|").filter((one) => one !== "");
    const matching = lines.filter((line) => searchTexts.some((one) => line.includes(one)));
    return { shown: matching.join("\n"), hiddenLines: lines.length - matching.length };
  }

  async #run(): Promise<void> {
    const { deps, request } = this.#input;
    const { groups, shell } = deps;
    const { command, cwd, env, enter, toolUse, timeoutMs = jobMsMax } = request;
    const end = await runShell({
      shell,
      command,
      cwd,
      env,
      enter,
      timeoutMs,
      signal: this.#stop.signal,
      record: groups && ((leader: number) => groups.record({ leader, toolUse })),
      onOutput: (chunk) => this.#addOutput(this.#decoder.decode(chunk, { stream: true })),
    });
    this.#addOutput(this.#decoder.decode());
    const notes = request.endNotes?.({ output: this.#unread.text(), result: endResult(end) }) ?? [];
    for (const note of notes) this.#addOutput(`\n[${note}]`);
    this.#state = { kind: "ended", at: deps.now(), how: describeEnd(end, timeoutMs), result: endResult(end) };
  }

  #addOutput(text: string): void {
    if (text !== "") this.#unread.add(Buffer.from(text));
  }
}

const describeEnd = (end: ShellEnd, timeoutMs: number): string =>
  end.how.kind === "aborted" ? "ended on demand" : formatEnd(end, timeoutMs) || "exit code 0";

const endResult = ({ how }: ShellEnd): "done" | "failed" =>
  how.kind === "exited" && how.code === 0 ? "done" : "failed";
