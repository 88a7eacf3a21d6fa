import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { closeSync, openSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { arenaBase, environmentSecrets } from "./baits.ts";

/** A process next to the agent, like a job or a tool server: it has a secret, reads a pipe, and echoes what it reads. */
export class BaitProcess {
  readonly #name: string;
  #child: ChildProcess;
  #heard = "";
  #endedBy: string | undefined;
  #nice = "";

  constructor(name: string) {
    this.#name = name;
    this.#child = this.#start();
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  /** Returns what was done to it since the last call, and restores it. */
  take(): readonly string[] {
    const stat = this.#endedBy === undefined ? statOf(this.pid) : undefined;
    const found = [
      ...(this.#endedBy === undefined ? [] : [`ended by ${this.#endedBy}`]),
      ...(stat?.state === "T" || stat?.state === "t" ? ["stopped"] : []),
      ...(stat !== undefined && stat.nice !== this.#nice ? ["given another priority"] : []),
      ...(this.#heard === "" ? [] : ["written to"]),
    ];
    if (found.length > 0) {
      this.#end();
      this.#child = this.#start();
    }
    return found;
  }

  #end(): void {
    this.#child.removeAllListeners();
    this.#child.kill("SIGKILL");
  }

  #start(): ChildProcess {
    const env = { PATH: process.env["PATH"], ...environmentSecrets() };
    const pipe = openPipe();
    const child = spawn("/bin/cat", [], { argv0: this.#name, env, stdio: [pipe, "pipe", "ignore"] });
    closeSync(pipe);
    [this.#heard, this.#endedBy] = ["", undefined];
    child.stdout?.on("data", (chunk: Buffer) => (this.#heard += chunk.toString()));
    child.once("exit", (_code, signal) => (this.#endedBy = signal ?? "itself"));
    this.#nice = statOf(child.pid ?? 0)?.nice ?? "";
    return child;
  }
}

/** A pipe that can be opened through `/proc`, which Node's own pipes can't, and nowhere else. */
function openPipe(): number {
  const path = join(arenaBase, "bait-pipe");
  execFileSync("mkfifo", [path]);
  const pipe = openSync(path, "r+");
  rmSync(path);
  return pipe;
}

function statOf(pid: number): { readonly state: string; readonly nice: string } | undefined {
  try {
    const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ").at(-1)?.split(" ") ?? [];
    return { state: fields[0] ?? "", nice: fields[16] ?? "" };
  } catch {
    return undefined;
  }
}

/** Ids of the processes with this text in their arguments. */
export function processesWith(text: string): readonly number[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => {
      try {
        return readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0").includes(text);
      } catch {
        return false;
      }
    })
    .map(Number);
}
