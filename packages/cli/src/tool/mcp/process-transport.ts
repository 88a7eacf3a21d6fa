import { type ChildProcessByStdio, spawn } from "node:child_process";
import type { Readable, Writable } from "node:stream";
import { finished } from "node:stream/promises";
import { setTimeout as wait } from "node:timers/promises";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import type { JSONRPCMessage } from "@modelcontextprotocol/sdk/types.js";
import type { SandboxEntry } from "palimpsest/internal/ports/sandbox";
import type { ServerStart } from "palimpsest/internal/ports/tool-server";
import type { StdioServer } from "palimpsest/internal/schema/server-definition";
import { errorCode } from "../error-code.ts";
import { endGroup, signalGroup } from "../signal-group.ts";
import { closeGraceMs, messageBytesMax, stderrBytesMax, transportDrainMs } from "./limits.ts";

interface ProcessInput extends Pick<ServerStart, "cwd" | "env" | "record" | "enter"> {
  readonly definition: StdioServer;
  /** Parses one line; throws if it is not a message of the protocol. */
  readonly parse: (line: string) => JSONRPCMessage;
}

type Child = ChildProcessByStdio<Writable, Readable, Readable>;

/**
 * A server as a process, one message per line. The SDK's own transport starts it in our process group: its children are
 * then not ended with it, and a later start can't find it.
 *
 *   new ──start──▶ running ──exit, close, a line too long──▶ ending ──group gone──▶ closed: `onclose`, once
 *       ──start, refused by the sandbox──▶ never started: `start` rejects
 *
 * Lines that are not messages are counted and skipped: some programs print a greeting on stdout.
 */
export class ProcessTransport implements Transport {
  onclose: (() => void) | undefined;
  onerror: ((error: Error) => void) | undefined;
  onmessage: Transport["onmessage"];
  readonly #input: ProcessInput;
  readonly #lines = new LineSplitter(messageBytesMax);
  #stderr = Buffer.alloc(0);
  #strayLines = 0;
  #child: Child | undefined;
  #endReason: string | undefined;
  #forget: Promise<() => Promise<void>> | undefined;
  #leaveSandbox: () => Promise<void> = async () => {};
  #ended: Promise<void> | undefined;

  constructor(input: ProcessInput) {
    this.#input = input;
  }

  async start(): Promise<void> {
    const { definition, record } = this.#input;
    const entry = await enterServerSandbox(this.#input);
    if (entry.kind === "refused") throw new Error(`it is not started: ${entry.why}`);
    if (this.#ended !== undefined) {
      await entry.leave();
      throw new Error("it was closed before it was started");
    }
    this.#leaveSandbox = entry.leave;
    const { program, args, cwd, env } = entry.start;
    const child: Child = spawn(program, args, {
      cwd,
      env: { ...env },
      detached: true,
      stdio: ["pipe", "pipe", "pipe"],
    });
    this.#child = child;
    child.stdout.on("data", (chunk: Buffer) => this.#onStdout(chunk));
    child.stderr.on("data", (chunk: Buffer) => this.#onStderr(chunk));
    for (const stream of [child.stdin, child.stdout, child.stderr])
      stream.on("error", (error) => this.onerror?.(error));
    child.once("exit", (code, signal) => {
      // If we ended it, or asked it to end, the reason is another one.
      if (this.#ended === undefined || (code !== null && code !== 0)) this.#endReason ??= exitText(code, signal);
      void this.#end();
    });
    await new Promise<void>((resolve, reject) => {
      child.once("spawn", resolve);
      child.once("error", (error) => reject(new Error(startErrorText(error, definition.command))));
    });
    if (child.pid !== undefined) this.#forget = record?.(child.pid);
  }

  async send(message: JSONRPCMessage): Promise<void> {
    const child = this.#child;
    if (child === undefined || this.#ended !== undefined || !child.stdin.writable)
      throw new Error(this.why("it is gone"));
    await new Promise<void>((resolve, reject) => {
      child.stdin.write(`${JSON.stringify(message)}\n`, (error) =>
        error === null || error === undefined ? resolve() : reject(error),
      );
    });
  }

  async close(): Promise<void> {
    await this.#end();
  }

  /** A message for the user: what happened, and the end of its stderr. */
  why(otherwise: string): string {
    const stderrText = this.#stderr.toString("utf8").trim();
    const stray = this.#strayLines === 0 ? "" : `; ${this.#strayLines} lines on its stdout are no messages`;
    return `${this.#endReason ?? otherwise}${stray}${stderrText === "" ? "" : `; its stderr ends: ${stderrText}`}`;
  }

  #onStdout(chunk: Buffer): void {
    const lines = this.#lines.add(chunk);
    if (lines === "too-long") {
      this.#endReason ??= `it sent a line of over ${messageBytesMax} bytes`;
      void this.#end();
      return;
    }
    for (const line of lines) this.#onLine(line);
  }

  #onLine(line: string): void {
    if (line.trim() === "") return;
    let message: JSONRPCMessage;
    try {
      message = this.#input.parse(line);
    } catch {
      this.#strayLines += 1;
      return;
    }
    this.onmessage?.(message);
  }

  #onStderr(chunk: Buffer): void {
    const all = Buffer.concat([this.#stderr, chunk]);
    this.#stderr = all.subarray(Math.max(0, all.length - stderrBytesMax));
  }

  #end(): Promise<void> {
    this.#ended ??= this.#endOnce();
    return this.#ended;
  }

  async #endOnce(): Promise<void> {
    const child = this.#child;
    if (child?.pid !== undefined) await endChild(child, child.pid);
    await (
      await this.#forget
    )?.();
    await this.#leaveSandbox();
    this.onclose?.();
  }
}

async function enterServerSandbox({ definition, cwd, env, enter }: ProcessInput): Promise<SandboxEntry> {
  const start = { program: definition.command, args: definition.args, cwd, env };
  return enter === undefined ? { kind: "ready", start, leave: async () => {} } : await enter(start);
}

/**
 * Closing stdin is how the protocol asks a server to end; a server that ignores it, or leaves children behind, is
 * killed.
 */
async function endChild(child: Child, leader: number): Promise<void> {
  const isOver = () => child.exitCode !== null || child.signalCode !== null;
  const exited = isOver() ? Promise.resolve() : new Promise<void>((resolve) => child.once("exit", () => resolve()));
  child.stdin.end();
  await Promise.race([exited, wait(closeGraceMs, undefined, { ref: false })]);
  // The last output of an ended process may still be on its way.
  if (isOver()) await Promise.race([waitForStreams(child), wait(transportDrainMs, undefined, { ref: false })]);
  if (signalGroup(leader, 0)) await endGroup(leader);
  await Promise.race([exited, wait(transportDrainMs, undefined, { ref: false })]);
  for (const stream of [child.stdin, child.stdout, child.stderr]) stream.destroy();
  child.unref();
}

const waitForStreams = ({ stdout, stderr }: Child): Promise<unknown> =>
  Promise.all([stdout, stderr].map((stream) => finished(stream).catch(() => undefined)));

const exitText = (code: number | null, signal: NodeJS.Signals | null): string =>
  code === null ? `it was ended by ${signal ?? "a signal"}` : `it ended with exit code ${code}`;

function startErrorText(error: Error, command: string): string {
  switch (errorCode(error)) {
    case "ENOENT":
      return `there is no program ${command}`;
    case "EACCES":
      return `${command} may not be run`;
    default:
      return error.message;
  }
}

/** Splits a stream of bytes into lines. An unfinished line is kept, up to a limit. */
export class LineSplitter {
  readonly #bytesMax: number;
  #unfinished: Buffer[] = [];
  #unfinishedBytes = 0;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  /** The lines that end in the chunk; `too-long` if a line exceeds the limit, and then it is dropped. */
  add(chunk: Buffer): readonly string[] | "too-long" {
    const lines: string[] = [];
    let rest = chunk;
    for (let at = rest.indexOf(newline); at !== -1; at = rest.indexOf(newline)) {
      this.#unfinished.push(rest.subarray(0, at));
      lines.push(Buffer.concat(this.#unfinished).toString("utf8").replace(/\r$/, ""));
      this.#clear();
      rest = rest.subarray(at + 1);
    }
    this.#unfinished.push(rest);
    this.#unfinishedBytes += rest.length;
    if (this.#unfinishedBytes <= this.#bytesMax) return lines;
    this.#clear();
    return "too-long";
  }

  #clear(): void {
    this.#unfinished = [];
    this.#unfinishedBytes = 0;
  }
}

const newline = 0x0a;
