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
  /** Path of the program that runs the line, such as `/bin/bash`. */
  readonly shell: string;
  readonly command: string;
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  readonly timeoutMs: Millis;
  readonly signal: AbortSignal;
  /** Puts the program into a sandbox. Absent: it runs like this process. */
  readonly enter?: EnterSandbox | undefined;
  /** Records the process group by its leader's id; returns a function that removes the record. Must not reject. */
  readonly record?: ((leader: number) => Promise<() => Promise<void>>) | undefined;
  /** Receives the output as it comes; the result then holds none of it. */
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
  /** Both streams, in the order of writing. */
  readonly output: string;
  /** Bytes dropped from the middle of the output, beyond the limit for one command. */
  readonly leftOutBytes: number;
  /** The shell's folder at its end; undefined if it was not reported. */
  readonly folder: string | undefined;
  /** Whether it left processes running, which were ended. */
  readonly leftRunning: "none" | "ended";
}

/**
 * One pipe for both streams keeps their order. The folder is reported on another pipe: after the command, so that the
 * command may set its own trap, and by a trap in case it leaves by `exit`. It is reported once, because the pipe is
 * closed then. A background process runs that trap too when it is ended, but it is not the shell. The command is passed
 * as an argument, so that its text can't change the script, and `command` bypasses functions that it defines.
 *
 * The pipe arrives as descriptor 3, which commands use themselves, and is moved to a number that they rarely use. The
 * number is written literally: the command could set a variable, and anything but a number there would name a file.
 *
 * In a sandbox, processes are counted at the start and at the end: it shows only its own, and it kills the remaining
 * ones before the outside could look.
 */
function scriptFor(shell: string, place: RunPlace): string {
  const pipe = basename(shell) === "bash" ? rareInBash : rareInSh;
  const folder = '"$(command pwd -P 2>/dev/null)"';
  const isInside = place === "inside";
  const report = isInside ? `${folder} "$#"` : folder;
  const reportCommand = [
    "{ command set +x; } 2>/dev/null",
    ...(isInside ? ["command set +f", `command set -- "\${1-}" ${processes}`] : []),
    String.raw`command printf "%s\0" ${report} 2>/dev/null >&${pipe} || :`,
    `command exec ${pipe}>&-`,
  ].join("; ");
  // On one line, so that the shell's messages number lines as the command does.
  return [
    `exec 2>&1 ${pipe}>&3 3>&-`,
    ...(isInside ? [`set -- "$1" ${processes}`, String.raw`printf "%s\0" "$#" >&${pipe}`] : []),
    `trap 'case "\${BASHPID:-$$}" in "$$") ${reportCommand} ;; esac' EXIT`,
    'eval "set --; $1"',
    '{ command set -- "$?"; } 2>/dev/null',
    reportCommand,
    'command exit "$1"',
  ].join("; ");
}

const processes = "/proc/[0-9]*";

const rareInBash = 87;
/** Other shells accept only one digit. */
const rareInSh = 8;

/** Runs the line in its own process group, which is gone when this returns. */
export async function runShell(run: ShellRun): Promise<ShellEnd> {
  if (run.signal.aborted) return emptyEnd({ kind: "aborted" });
  const { shell, command, cwd, env, enter } = run;
  const startIn = (place: RunPlace): ProgramStart => {
    return { program: shell, args: ["-c", scriptFor(shell, place), shell, command], cwd, env };
  };
  if (enter === undefined) return await runProgram(run, { program: startIn("outside"), place: "outside" });
  const sandboxedStart = startIn("inside");
  const entry = await enter(sandboxedStart);
  if (entry.kind === "refused") return emptyEnd({ kind: "not-started", why: entry.why });
  // A sandbox that is turned off returns the start unchanged.
  const program = entry.start === sandboxedStart ? startIn("outside") : entry.start;
  const end = await runProgram(run, { program, place: entry.start === sandboxedStart ? "outside" : "inside" });
  await entry.leave();
  return end;
}

type RunPlace = "inside" | "outside";

interface ProgramRun {
  readonly program: ProgramStart;
  /** Inside or outside a sandbox. */
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
  const { folderAtEnd, leftRunning } = parseReport(folder.text(), place);
  const { leftOutBytes } = output;
  return {
    how,
    output: output.text(),
    leftOutBytes,
    folder: folderAtEnd === "" ? undefined : folderAtEnd,
    leftRunning: leftRunning === "ended" ? leftRunning : ended,
  };
}

/** Takes the first report of each: later ones are repeated or not from the shell. */
function parseReport(text: string, place: RunPlace): { folderAtEnd: string; leftRunning: ShellEnd["leftRunning"] } {
  const fields = text.split("\0");
  if (place === "outside") return { folderAtEnd: fields[0] ?? "", leftRunning: "none" };
  const [before, folderAtEnd = "", after = ""] = fields;
  return { folderAtEnd, leftRunning: Number(after) > Number(before) ? "ended" : "none" };
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
    // Most failures come as an event; a line that is too long for the system throws.
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
  /** Asks the group to end; false if it has ended. */
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

/** Asks the whole group to end, then kills it. If the pipes are closed, any remaining processes are mostly zombies. */
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

/** Keeps any number of bytes in bounded memory: the first and the last of them, plus at most one chunk. */
export class OutputBuffer {
  readonly #halfBytes: number;
  readonly #head: Buffer[] = [];
  #headBytes = 0;
  /** The last half; its first chunk may begin before it. */
  readonly #tail: Buffer[] = [];
  #tailBytes = 0;
  /** Bytes of chunks that were removed from the tail. */
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

  /** Drops whole chunks only, so that nothing is copied while output arrives. */
  #dropFront(): void {
    for (let [first] = this.#tail; first !== undefined; [first] = this.#tail) {
      if (this.#tailBytes - first.length < this.#halfBytes) return;
      this.#tail.shift();
      this.#tailBytes -= first.length;
      this.#droppedBytes += first.length;
    }
  }

  /** Bytes of the tail's first chunk that are beyond the half. */
  get #overBytes(): number {
    return Math.max(0, this.#tailBytes - this.#halfBytes);
  }

  get leftOutBytes(): number {
    return this.#droppedBytes + this.#overBytes;
  }

  /** Costs a copy of the kept bytes, plus the text. */
  text(): string {
    const { leftOutBytes } = this;
    if (leftOutBytes === 0) return Buffer.concat([...this.#head, ...this.#tail]).toString("utf8");
    const head = Buffer.concat(this.#head).toString("utf8");
    const tail = Buffer.concat(this.#tail).subarray(this.#overBytes).toString("utf8");
    return `${head}\n… (${leftOutBytes} bytes left out) …\n${tail}`;
  }

  /** Bytes in memory now. */
  get heldBytes(): number {
    return this.#headBytes + this.#tailBytes;
  }
}

/** How a command ended, for the model; empty if it succeeded. */
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
