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
  /** Of one line; throws where it is no message of the protocol. */
  readonly parse: (line: string) => JSONRPCMessage;
}

type Child = ChildProcessByStdio<Writable, Readable, Readable>;

/**
 * A server as a process, one message a line. The protocol's own transport starts it in our process group, where neither
 * its children are ended with it nor a later start can find it.
 *
 *   new ──start──▶ running ──exit, close, a line too long──▶ ending ──group gone──▶ closed: `onclose`, once
 *       ──start, refused by the sandbox──▶ never started: `start` rejects
 *
 * Lines that are no message are counted and passed over: programs greet on stdout.
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
  #how: string | undefined;
  #forget: Promise<() => Promise<void>> | undefined;
  #leave: () => Promise<void> = async () => {};
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
    this.#leave = entry.leave;
    const { program, args, cwd, env } = entry.start;
    const child: Child = spawn(program, args, {
      cwd,
      env: { ...env },
      detached: true,
      stdio: ["pipe", "pipe", "pipe"],
    });
    this.#child = child;
    child.stdout.on("data", (chunk: Buffer) => this.#take(chunk));
    child.stderr.on("data", (chunk: Buffer) => this.#keep(chunk));
    for (const stream of [child.stdin, child.stdout, child.stderr])
      stream.on("error", (error) => this.onerror?.(error));
    child.once("exit", (code, signal) => {
      // Where it was ended here, or only asked to, the reason is another.
      if (this.#ended === undefined || (code !== null && code !== 0)) this.#how ??= exitText(code, signal);
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

  /** Words for people: what happened, and the end of what it wrote to stderr. */
  why(otherwise: string): string {
    const said = this.#stderr.toString("utf8").trim();
    const stray = this.#strayLines === 0 ? "" : `; ${this.#strayLines} lines on its stdout are no messages`;
    return `${this.#how ?? otherwise}${stray}${said === "" ? "" : `; its stderr ends: ${said}`}`;
  }

  #take(chunk: Buffer): void {
    const lines = this.#lines.add(chunk);
    if (lines === "too-long") {
      this.#how ??= `it sent a line of over ${messageBytesMax} bytes`;
      void this.#end();
      return;
    }
    for (const line of lines) this.#read(line);
  }

  #read(line: string): void {
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

  #keep(chunk: Buffer): void {
    const all = Buffer.concat([this.#stderr, chunk]);
    this.#stderr = all.subarray(Math.max(0, all.length - stderrBytesMax));
  }

  #end(): Promise<void> {
    this.#ended ??= this.#ending();
    return this.#ended;
  }

  async #ending(): Promise<void> {
    const child = this.#child;
    if (child?.pid !== undefined) await endChild(child, child.pid);
    await (
      await this.#forget
    )?.();
    await this.#leave();
    this.onclose?.();
  }
}

async function enterServerSandbox({ definition, cwd, env, enter }: ProcessInput): Promise<SandboxEntry> {
  const start = { program: definition.command, args: definition.args, cwd, env };
  return enter === undefined ? { kind: "ready", start, leave: async () => {} } : await enter(start);
}

/** A closed stdin is how the protocol asks a server to end; what does not listen, or has left others behind, is ended. */
async function endChild(child: Child, leader: number): Promise<void> {
  const isOver = () => child.exitCode !== null || child.signalCode !== null;
  const exited = isOver() ? Promise.resolve() : new Promise<void>((resolve) => child.once("exit", () => resolve()));
  child.stdin.end();
  await Promise.race([exited, wait(closeGraceMs, undefined, { ref: false })]);
  // The last words of one that has ended may still be on their way.
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

/** Lines of a stream of bytes. What has come of an unfinished one is kept, up to a limit. */
export class LineSplitter {
  readonly #bytesMax: number;
  #open: Buffer[] = [];
  #openBytes = 0;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  /** Those that end in the chunk; `too-long` where one has grown over the limit, and nothing of it is kept then. */
  add(chunk: Buffer): readonly string[] | "too-long" {
    const lines: string[] = [];
    let rest = chunk;
    for (let at = rest.indexOf(newline); at !== -1; at = rest.indexOf(newline)) {
      this.#open.push(rest.subarray(0, at));
      lines.push(Buffer.concat(this.#open).toString("utf8").replace(/\r$/, ""));
      this.#clear();
      rest = rest.subarray(at + 1);
    }
    this.#open.push(rest);
    this.#openBytes += rest.length;
    if (this.#openBytes <= this.#bytesMax) return lines;
    this.#clear();
    return "too-long";
  }

  #clear(): void {
    this.#open = [];
    this.#openBytes = 0;
  }
}

const newline = 0x0a;
