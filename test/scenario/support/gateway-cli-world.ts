import { spawn } from "node:child_process";
import { chmod, mkdir, mkdtemp, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { createInterface } from "node:readline";
import { serveSimulator, Simulator } from "@palimpsest/simulator";
import { called } from "./called.ts";
import { callingEnvironment } from "./command-line.ts";

/** Called by `closeWorlds`, the last one first. */
export const closers: (() => Promise<void> | void)[] = [];

export async function closeWorlds(): Promise<void> {
  for (const close of closers.splice(0).toReversed()) await close();
}

const launcher = resolve(import.meta.dirname, "../../../bin/palimpsest");

/** A home, an upstream, and a folder of programs that stand for clients. */
export async function createWorld() {
  const folder = await mkdtemp(join(tmpdir(), "gateway-cli-"));
  const home = join(folder, "home");
  const cwd = join(folder, "project");
  const programs = join(folder, "programs");
  for (const path of [home, cwd, programs]) await mkdir(path);
  const upstream = await serveSimulator(new Simulator({ models: [{ id: "mystery-1" }] }), { port: 0 });
  if (upstream.kind === "failed") throw new Error(upstream.message);
  closers.push(() => upstream.close());
  closers.push(async () => {
    const said = await called({ home }, "gateway", "stop");
    if (said.code !== 0 && said.code !== 3) throw new Error(said.err);
  });
  await writeFile(join(home, "gateway.json"), JSON.stringify({ port: 0, upstream: { anthropic: upstream.url } }));
  const addProgram = async (name: string, script: string): Promise<void> => {
    await writeFile(join(programs, name), `#!/bin/sh\n${script}\n`);
    await chmod(join(programs, name), 0o755);
  };
  const env = { PATH: `${programs}:${process.env["PATH"] ?? ""}`, ANTHROPIC_BASE_URL: "", OPENAI_BASE_URL: "" };
  return { home, cwd, folder, env, addProgram, upstream: upstream.url };
}

/** `palimpsest gateway` as a process, once it has said its address. */
export async function startGateway(world: { readonly home: string }, ...args: readonly string[]) {
  const child = spawn(process.execPath, [launcher, "gateway", ...args], {
    ...callingEnvironment(world),
    stdio: ["ignore", "pipe", "pipe"],
  });
  let err = "";
  child.stderr.on("data", (chunk: Buffer) => (err += chunk.toString()));
  const ended = new Promise<number | null>((resolveEnd) => {
    child.once("exit", resolveEnd);
  });
  closers.push(async () => {
    child.kill("SIGKILL");
    await ended;
  });
  const [url] = await Promise.race([
    new Promise<readonly string[]>((resolveLine) => {
      createInterface(child.stdout).once("line", (line) => resolveLine([line]));
    }),
    ended.then(() => Promise.reject(new Error(err))),
  ]);
  return { child, url: url ?? "", ended, messages: () => err };
}
