import { type ChildProcessByStdio, spawn } from "node:child_process";
import type { Readable, Writable } from "node:stream";
import { setTimeout as wait } from "node:timers/promises";
import { codeOf } from "../failure.ts";
import { signalGroup } from "../process-group.ts";
import { type CutLimits, cutShort } from "./cut.ts";
import { hookDrainMs, hookKillGraceMs, hookOutputBytesMax } from "./limits.ts";

export interface HookProcess extends CutLimits {
  /** Of the program that reads the line, such as `/bin/bash`. */
  readonly shell: string;
  readonly command: string;
  readonly input: string;
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
}

export type HookEnd =
  | { readonly kind: "exited"; readonly code: number; readonly stdout: Captured; readonly stderr: Captured }
  | { readonly kind: "killed"; readonly signal: string }
  | { readonly kind: "timed-out" }
  | { readonly kind: "aborted" }
  /** The shell itself could not be started. */
  | { readonly kind: "not-started"; readonly why: string };

export interface Captured {
  readonly text: string;
  /** `cut`: there was more than the limit. */
  readonly extent: "whole" | "cut";
}

type Child = ChildProcessByStdio<Writable, Readable, Readable>;

/**
 * One command in a process group of its own. Must not reject. At the limit the whole group is asked to end and, a
 * moment later, ended; a hook that ends in time may leave processes behind, which are not waited for.
 *
 *   running ──exit──────────▶ draining ──pipes closed or hookDrainMs──▶ done
 *   running ──limit, abort──▶ ending ──exit or hookKillGraceMs──▶ SIGKILL to the group ──▶ done
 */
export async function runHookProcess(run: HookProcess): Promise<HookEnd> {
  if (run.signal.aborted) return { kind: "aborted" };
  const started = start(run);
  if ("kind" in started) return started;
  const child = started;
  const stdout = capture(child.stdout);
  const stderr = capture(child.stderr);
  // A hook need not read what it is given.
  child.stdin.on("error", () => {});
  child.stdin.end(run.input);
  const ended = await firstOf(child, run);
  if (ended.kind === "exited") await Promise.race([Promise.all([stdout.closed, stderr.closed]), wait(hookDrainMs)]);
  for (const stream of [child.stdin, child.stdout, child.stderr]) stream.destroy();
  child.unref();
  return ended.kind === "exited" ? { ...ended, stdout: stdout.captured(), stderr: stderr.captured() } : ended;
}

function start({ shell, command, cwd, env }: HookProcess): Child | Extract<HookEnd, { kind: "not-started" }> {
  try {
    return spawn(shell, ["-c", command], { cwd, env, detached: true, stdio: ["pipe", "pipe", "pipe"] });
  } catch (error) {
    // A NUL in the command, an argument that is too long.
    if (codeOf(error) === undefined) throw error;
    return { kind: "not-started", why: error instanceof Error ? error.message : String(error) };
  }
}

type Ended = Exclude<HookEnd, { kind: "exited" }> | { readonly kind: "exited"; readonly code: number };

async function firstOf(child: Child, limits: CutLimits): Promise<Ended> {
  const exited = new Promise<Ended>((resolve) => {
    child.once("error", (error) => resolve({ kind: "not-started", why: error.message }));
    child.once("exit", (code, name) =>
      resolve(code === null ? { kind: "killed", signal: name ?? "unknown" } : { kind: "exited", code }),
    );
  });
  const cut = cutShort(limits);
  const first = await Promise.race([exited, cut.first.then((kind): Ended => ({ kind }))]);
  cut.release();
  if (first.kind === "timed-out" || first.kind === "aborted") {
    signalGroup(child.pid, "SIGTERM");
    await Promise.race([exited, wait(hookKillGraceMs)]);
    // Also where the leader is gone: its children may not have listened.
    signalGroup(child.pid, "SIGKILL");
  }
  return first;
}

interface Capture {
  readonly closed: Promise<void>;
  captured(): Captured;
}

/** Goes on reading past the limit: a full pipe would hold the hook up until its time is over. */
function capture(stream: Readable): Capture {
  const chunks: Buffer[] = [];
  let room: number = hookOutputBytesMax;
  let extent: Captured["extent"] = "whole";
  const closed = new Promise<void>((resolve) => {
    stream.on("data", (chunk: Buffer) => {
      if (chunk.length > room) extent = "cut";
      if (room > 0) chunks.push(chunk.subarray(0, room));
      room = Math.max(0, room - chunk.length);
    });
    stream.once("close", resolve);
    stream.once("error", () => resolve());
  });
  return { closed, captured: () => ({ text: Buffer.concat(chunks).toString("utf8"), extent }) };
}
