import { type ChildProcess, spawn } from "node:child_process";
import { basename } from "node:path";
import type { Readable } from "node:stream";
import { setTimeout as wait } from "node:timers/promises";
import type { ProgramStart, SandboxEntry } from "palimpsest/internal/ports/sandbox";
import type { Millis } from "palimpsest/internal/schema/brand";
import { errorCode } from "../error-code.ts";
import { groupLookMs, shellDrainMs, shellFolderBytesMax, shellKillGraceMs, shellOutputBytesMax } from "../limits.ts";
import { terminateInside, signalGroup } from "../signal-group.ts";

interface ShellRun {
  /** Of the program that reads the line, such as `/bin/bash`. */
  readonly shell: string;
  readonly command: string;
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  readonly timeoutMs: Millis;
  readonly signal: AbortSignal;
  /** Holds the program in a sandbox. Absent: it runs as this process does. */
  readonly enter?: EnterSandbox | undefined;
  /** Puts the process group on record by its leader's id; gives how to take that back. Must not reject. */
  readonly record?: ((leader: number) => Promise<() => Promise<void>>) | undefined;
  /** Takes what it writes as it comes; the end then holds none of it. */
  readonly onOutput?: ((chunk: Buffer) => void) | undefined;
}

/** Must not reject. */
export type EnterSandbox = (start: ProgramStart) => Promise<SandboxEntry>;

export interface ShellEnd {
  readonly how:
    | { readonly kind: "exited"; readonly code: number }
    | { readonly kind: "killed"; readonly signal: string }
    | { readonly kind: "timed-out" }
    | { readonly kind: "aborted" }
    /** The shell itself could not be started. */
    | { readonly kind: "not-started"; readonly why: string };
  /** What it wrote, both streams in the order of writing. */
  readonly output: string;
  /** Of its middle: more than is kept of one command. */
  readonly leftOutBytes: number;
  /** Where the shell stood at its end; undefined if it did not come to say. */
  readonly folder: string | undefined;
  /** Processes it had left running, which were ended. */
  readonly leftRunning: "none" | "ended";
}

/**
 * One pipe for both streams keeps their order. The folder is told on another: behind the command, so that a trap of its
 * own may stand, and by a trap where it leaves by `exit`; once, as the pipe is closed then. A process in the background
 * runs that trap too when it is ended, but is not the shell. The command is an argument, so that nothing it holds can
 * change what the lines are, and `command` finds what a function of its own hides.
 *
 * The pipe comes as descriptor 3, which commands use for themselves, and is moved to a number that they rarely do. It
 * stands in the lines as it is: a variable could be set by the command, and what is no number there names a file.
 *
 * In a sandbox, processes are counted at the start and at the end: it shows none but its own, and takes down what is left
 * of them before anybody outside could look.
 */
function scriptFor(shell: string, place: RunPlace): string {
  const pipe = basename(shell) === "bash" ? rareInBash : rareInSh;
  const folder = '"$(command pwd -P 2>/dev/null)"';
  const isInside = place === "inside";
  const told = isInside ? `${folder} "$#"` : folder;
  const tell = [
    "{ command set +x; } 2>/dev/null",
    ...(isInside ? ["command set +f", `command set -- "\${1-}" ${processes}`] : []),
    String.raw`command printf "%s\0" ${told} 2>/dev/null >&${pipe} || :`,
    `command exec ${pipe}>&-`,
  ].join("; ");
  // On one line, so that the shell's messages number the command's lines as the command does.
  return [
    `exec 2>&1 ${pipe}>&3 3>&-`,
    ...(isInside ? [`set -- "$1" ${processes}`, String.raw`printf "%s\0" "$#" >&${pipe}`] : []),
    `trap 'case "\${BASHPID:-$$}" in "$$") ${tell} ;; esac' EXIT`,
    'eval "set --; $1"',
    '{ command set -- "$?"; } 2>/dev/null',
    tell,
    'command exit "$1"',
  ].join("; ");
}

const processes = "/proc/[0-9]*";

const rareInBash = 87;
/** Other shells read one digit. */
const rareInSh = 8;

/** Runs the line in a process group of its own, which is gone when this returns. */
export async function runShell(run: ShellRun): Promise<ShellEnd> {
  if (run.signal.aborted) return emptyEnd({ kind: "aborted" });
  const { shell, command, cwd, env, enter } = run;
  const startIn = (place: RunPlace): ProgramStart => {
    return { program: shell, args: ["-c", scriptFor(shell, place), shell, command], cwd, env };
  };
  if (enter === undefined) return await runProgram(run, { program: startIn("outside"), place: "outside" });
  const held = startIn("inside");
  const entry = await enter(held);
  if (entry.kind === "refused") return emptyEnd({ kind: "not-started", why: entry.why });
  // A sandbox that is turned off gives the start back as it is.
  const program = entry.start === held ? startIn("outside") : entry.start;
  const end = await runProgram(run, { program, place: entry.start === held ? "outside" : "inside" });
  await entry.leave();
  return end;
}

type RunPlace = "inside" | "outside";

interface ProgramRun {
  readonly program: ProgramStart;
  /** Of a sandbox. */
  readonly place: RunPlace;
}

async function runProgram(run: ShellRun, { program, place }: ProgramRun): Promise<ShellEnd> {
  if (run.signal.aborted) return emptyEnd({ kind: "aborted" });
  const started = spawnProgram(program);
  if (started.kind === "not-started") return emptyEnd(started);
  const { child } = started;
  const recorded = child.pid === undefined ? undefined : run.record?.(child.pid);
  const output = new OutputBuffer(shellOutputBytesMax);
  const folder = new OutputBuffer(shellFolderBytesMax);
  const taker = run.onOutput === undefined ? output : { add: run.onOutput };
  const streams = [collect(child.stdio[1], taker), collect(child.stdio[2], taker), collect(child.stdio[3], folder)];
  const closed = Promise.all(streams);
  const group: ShellGroup = { child, closed, ask: place === "inside" ? terminateInside : terminateGroup };
  const how = await waitForEnd(run, group);
  const ended = await endShellGroup(group);
  const forget = await recorded;
  await forget?.();
  await Promise.race([closed, wait(shellDrainMs)]);
  for (const stream of child.stdio) stream?.destroy();
  const { stood, leftRunning } = parseReport(folder.text(), place);
  const { leftOutBytes } = output;
  return {
    how,
    output: output.text(),
    leftOutBytes,
    folder: stood === "" ? undefined : stood,
    leftRunning: leftRunning === "ended" ? leftRunning : ended,
  };
}

/** The first of each: whatever tells something later is not the shell, or tells it again. */
function parseReport(text: string, place: RunPlace): { stood: string; leftRunning: ShellEnd["leftRunning"] } {
  const fields = text.split("\0");
  if (place === "outside") return { stood: fields[0] ?? "", leftRunning: "none" };
  const [before, stood = "", after = ""] = fields;
  return { stood, leftRunning: Number(after) > Number(before) ? "ended" : "none" };
}

const emptyEnd = (how: ShellEnd["how"]): ShellEnd => ({
  how,
  output: "",
  leftOutBytes: 0,
  folder: undefined,
  leftRunning: "none",
});

type SpawnOutcome =
  | { readonly kind: "started"; readonly child: ChildProcess }
  | { readonly kind: "not-started"; readonly why: string };

function spawnProgram({ program, args, cwd, env }: ProgramStart): SpawnOutcome {
  const stdio = ["ignore", "pipe", "pipe", "pipe"] as const;
  try {
    const child = spawn(program, args, { cwd, env, detached: true, stdio: [...stdio] });
    return { kind: "started", child };
  } catch (error) {
    // Most refusals come as an event; that of a line longer than the system takes is thrown.
    if (!(error instanceof Error) || errorCode(error) === undefined) throw error;
    return { kind: "not-started", why: error.message };
  }
}

async function collect(
  stream: ChildProcess["stdio"][number] | undefined,
  output: Pick<OutputBuffer, "add">,
): Promise<void> {
  if (!isReadable(stream)) return;
  await new Promise<void>((resolve) => {
    stream.on("data", (chunk: Buffer) => output.add(chunk));
    stream.once("close", resolve);
    stream.once("error", () => resolve());
  });
}

const isReadable = (stream: ChildProcess["stdio"][number] | undefined): stream is Readable =>
  stream !== null && stream !== undefined && "read" in stream;

interface ShellGroup {
  readonly child: ChildProcess;
  /** Resolves once no process holds our pipes any more. */
  readonly closed: Promise<unknown>;
  /** Asks it to end, by its leader; false if it has. */
  readonly ask: (leader: number | undefined) => boolean;
}

const terminateGroup = (leader: number | undefined): boolean => signalGroup(leader, "SIGTERM");

async function waitForEnd({ signal, timeoutMs }: ShellRun, group: ShellGroup): Promise<ShellEnd["how"]> {
  const { child } = group;
  let stopped: "timed-out" | "aborted" | undefined;
  const stop = (why: "timed-out" | "aborted"): void => {
    stopped ??= why;
    void endShellGroup(group);
  };
  const onAbort = (): void => stop("aborted");
  const timer = setTimeout(() => stop("timed-out"), timeoutMs);
  signal.addEventListener("abort", onAbort, { once: true });
  try {
    return await new Promise<ShellEnd["how"]>((resolve) => {
      child.once("error", (error) => resolve({ kind: "not-started", why: error.message }));
      child.once("exit", (code, name) => {
        if (stopped !== undefined) resolve({ kind: stopped });
        else if (code !== null) resolve({ kind: "exited", code });
        else resolve({ kind: "killed", signal: name ?? "unknown" });
      });
    });
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", onAbort);
  }
}

/** Asks the whole group to end, then ends it. Closed pipes mean that what still counts as a process is mostly a dead one. */
async function endShellGroup({ child, closed, ask }: ShellGroup): Promise<"none" | "ended"> {
  if (!ask(child.pid)) return "none";
  let graceMs: number = shellKillGraceMs;
  void closed.then(() => (graceMs = shellDrainMs));
  for (let waitedMs = 0; waitedMs < graceMs; waitedMs += groupLookMs) {
    await wait(groupLookMs);
    if (!signalGroup(child.pid, 0)) return "ended";
  }
  signalGroup(child.pid, "SIGKILL");
  return "ended";
}

/** Bytes of unknown number in bounded memory: the first and the last of them, and at most one chunk more. */
export class OutputBuffer {
  readonly #halfBytes: number;
  readonly #head: Buffer[] = [];
  #headBytes = 0;
  /** The last half, from somewhere in its first chunk on. */
  readonly #tail: Buffer[] = [];
  #tailBytes = 0;
  /** In chunks that have left the tail. */
  #droppedBytes = 0;

  constructor(bytesMax: number) {
    this.#halfBytes = Math.floor(bytesMax / 2);
  }

  add(chunk: Buffer): void {
    const room = this.#halfBytes - this.#headBytes;
    const head = chunk.subarray(0, room);
    if (head.length > 0) {
      this.#head.push(head);
      this.#headBytes += head.length;
    }
    const rest = chunk.subarray(head.length);
    if (rest.length === 0) return;
    this.#tail.push(rest);
    this.#tailBytes += rest.length;
    this.#dropFront();
  }

  /** Whole chunks only, so that nothing is copied while the output runs. */
  #dropFront(): void {
    for (let [first] = this.#tail; first !== undefined; [first] = this.#tail) {
      if (this.#tailBytes - first.length < this.#halfBytes) return;
      this.#tail.shift();
      this.#tailBytes -= first.length;
      this.#droppedBytes += first.length;
    }
  }

  /** Of the first chunk of the tail: what has left the half. */
  get #overBytes(): number {
    return Math.max(0, this.#tailBytes - this.#halfBytes);
  }

  get leftOutBytes(): number {
    return this.#droppedBytes + this.#overBytes;
  }

  /** Costs a copy of what is kept, and the text. */
  text(): string {
    const { leftOutBytes } = this;
    if (leftOutBytes === 0) return Buffer.concat([...this.#head, ...this.#tail]).toString("utf8");
    const head = Buffer.concat(this.#head).toString("utf8");
    const tail = Buffer.concat(this.#tail).subarray(this.#overBytes).toString("utf8");
    return `${head}\n… (${leftOutBytes} bytes left out) …\n${tail}`;
  }

  /** In memory now. */
  get heldBytes(): number {
    return this.#headBytes + this.#tailBytes;
  }
}

/** How a command ended, for the model; empty where there is nothing to say. */
export function formatEnd({ how }: Pick<ShellEnd, "how">, timeoutMs: number): string {
  switch (how.kind) {
    case "exited":
      return how.code === 0 ? "" : `exit code ${how.code}`;
    case "killed":
      return `ended by ${how.signal}`;
    case "timed-out":
      return `ended after ${timeoutMs} ms, its time limit`;
    case "aborted":
      return "interrupted";
    case "not-started":
      return `the shell could not be started: ${how.why}`;
  }
}
