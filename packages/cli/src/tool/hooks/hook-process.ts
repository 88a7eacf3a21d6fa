import { type ChildProcessByStdio, spawn } from "node:child_process";
import type { Readable, Writable } from "node:stream";
import { setTimeout as wait } from "node:timers/promises";
import { errorCode } from "../error-code.ts";
import { signalGroup } from "../signal-group.ts";
import { hookDrainMs, hookKillGraceMs, hookOutputBytesMax } from "./limits.ts";
import type { Millis } from "palimpsest/internal/schema/brand";
import { type Environment, isOwnSecret, shellEnvironment } from "../shell/shell-environment.ts";

interface HookProcess extends RunLimits {
  /** Path of the program that runs the line, such as `/bin/bash`. */
  readonly shell: string;
  readonly command: string;
  readonly input: string;
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
}

export type HookProcessEnd =
  | { readonly kind: "exited"; readonly code: number; readonly stdout: CapturedStream; readonly stderr: CapturedStream }
  | { readonly kind: "killed"; readonly signal: string }
  | { readonly kind: "timed-out" }
  | { readonly kind: "aborted" }
  /** The shell itself could not be started. */
  | { readonly kind: "not-started"; readonly why: string };

export interface CapturedStream {
  readonly text: string;
  /** `cut`: there was more than the limit. */
  readonly extent: "whole" | "cut";
}

type Child = ChildProcessByStdio<Writable, Readable, Readable>;

/**
 * Runs one command in its own process group. Must not reject. At the limit the whole group is asked to end and killed a
 * moment later. A hook that ends in time may leave processes behind; they are not waited for.
 *
 *   running ──exit──────────▶ draining ──pipes closed or hookDrainMs──▶ done
 *   running ──limit, abort──▶ ending ──exit or hookKillGraceMs──▶ SIGKILL to the group ──▶ done
 */
export async function runHookProcess(run: HookProcess): Promise<HookProcessEnd> {
  if (run.signal.aborted) return { kind: "aborted" };
  const started = spawnHook(run);
  if ("kind" in started) return started;
  const child = started;
  const stdout = capture(child.stdout);
  const stderr = capture(child.stderr);
  // A hook need not read its input.
  child.stdin.on("error", () => {});
  child.stdin.end(run.input);
  const ended = await waitForEnd(child, run);
  if (ended.kind === "exited") await Promise.race([Promise.all([stdout.closed, stderr.closed]), wait(hookDrainMs)]);
  for (const stream of [child.stdin, child.stdout, child.stderr]) stream.destroy();
  child.unref();
  return ended.kind === "exited" ? { ...ended, stdout: stdout.captured(), stderr: stderr.captured() } : ended;
}

function spawnHook({
  shell,
  command,
  cwd,
  env,
}: HookProcess): Child | Extract<HookProcessEnd, { kind: "not-started" }> {
  try {
    return spawn(shell, ["-c", command], { cwd, env, detached: true, stdio: ["pipe", "pipe", "pipe"] });
  } catch (error) {
    // A NUL in the command, an argument that is too long.
    if (errorCode(error) === undefined) throw error;
    return { kind: "not-started", why: error instanceof Error ? error.message : String(error) };
  }
}

type ProcessEnd = Exclude<HookProcessEnd, { kind: "exited" }> | { readonly kind: "exited"; readonly code: number };

async function waitForEnd(child: Child, limits: RunLimits): Promise<ProcessEnd> {
  const exited = new Promise<ProcessEnd>((resolve) => {
    child.once("error", (error) => resolve({ kind: "not-started", why: error.message }));
    child.once("exit", (code, name) =>
      resolve(code === null ? { kind: "killed", signal: name ?? "unknown" } : { kind: "exited", code }),
    );
  });
  const limitRace = raceLimits(limits);
  const first = await Promise.race([exited, limitRace.first.then((kind): ProcessEnd => ({ kind }))]);
  limitRace.release();
  if (first.kind === "timed-out" || first.kind === "aborted") {
    signalGroup(child.pid, "SIGTERM");
    await Promise.race([exited, wait(hookKillGraceMs)]);
    // Also if the leader is gone: its children may have ignored the signal.
    signalGroup(child.pid, "SIGKILL");
  }
  return first;
}

interface Capture {
  readonly closed: Promise<void>;
  captured(): CapturedStream;
}

/** Keeps reading past the limit: a full pipe would block the hook until it times out. */
function capture(stream: Readable): Capture {
  const chunks: Buffer[] = [];
  let room: number = hookOutputBytesMax;
  let extent: CapturedStream["extent"] = "whole";
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

export interface RunLimits {
  readonly timeoutMs: Millis;
  readonly signal: AbortSignal;
}

/** Resolves with whichever comes first: the timeout or the abort. */
export function raceLimits({ timeoutMs, signal }: RunLimits): LimitRace {
  const { promise, resolve } = Promise.withResolvers<"timed-out" | "aborted">();
  const timer = setTimeout(() => resolve("timed-out"), timeoutMs);
  const onAbort = (): void => resolve("aborted");
  signal.addEventListener("abort", onAbort, { once: true });
  const release = (): void => {
    clearTimeout(timer);
    signal.removeEventListener("abort", onAbort);
  };
  return { first: promise, release };
}

interface LimitRace {
  readonly first: Promise<"timed-out" | "aborted">;
  /** Must be called: otherwise the timer and the listener outlive the run. */
  readonly release: () => void;
}

interface HookEnvironmentInput {
  /** Of this process. */
  readonly env: Environment;
  readonly projectRoot: string;
}

/**
 * The environment for commands of the user's settings: without the keys to models and stores, and with the project's
 * root.
 */
export const hookEnvironment = ({ env, projectRoot }: HookEnvironmentInput): Readonly<Record<string, string>> => ({
  ...shellEnvironment({ env, effect: "unknown", roots: [], mayPass: (name) => !isOwnSecret(name) }),
  PALIMPSEST_PROJECT_DIR: projectRoot,
  CLAUDE_PROJECT_DIR: projectRoot,
});
