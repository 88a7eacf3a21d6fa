import { execFile } from "node:child_process";
import { randomUUID } from "node:crypto";
import { mkdir, mkdtemp, rename, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, isAbsolute, join } from "node:path";
import { promisify } from "node:util";
import type { Sandbox, SandboxSearch } from "palimpsest/internal/ports/sandbox";
import { canRun } from "../file-checks.ts";
import { bubblewrap } from "./bubblewrap.ts";
import { sandboxTryCharsMax, sandboxTryMsMax } from "./limits.ts";
import { MountPoints } from "./mount-points.ts";
import { bubblewrapRemedy, machineFacts } from "./remedy.ts";
import { seatbelt } from "./seatbelt.ts";
import { socketFilter } from "./seccomp.ts";

export interface FindSandboxInput {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** For the files that a sandbox needs; made when the first is. No command may write in it. */
  readonly folder: string;
  readonly platform?: string;
  readonly arch?: string;
}

/** Looks for what this machine has, and tries it once. Must not reject. */
export async function findSandbox({
  env,
  folder,
  platform = process.platform,
  arch = process.arch,
}: FindSandboxInput): Promise<SandboxSearch> {
  if (platform === "darwin") return await trySandbox(seatbelt({ program: sandboxExec }), async () => seatbeltRemedy);
  if (platform !== "linux") return none(`there is none for ${platform} here`, "run it on Linux or macOS");
  const filter = socketFilter(arch);
  if (filter === undefined) return none(`there is none for ${arch} processors here`, "run it on x64 or arm64");
  const program = await findProgram("bwrap", env["PATH"] ?? "");
  if (program === undefined) return none("bubblewrap is not installed", bubblewrapRemedy(await machineFacts()));
  const filterFile = () => ensureFile({ folder, name: "sockets.bpf", data: filter });
  const sandbox = bubblewrap({ program, filterFile, mountPoints: new MountPoints(join(folder, "held")) });
  return await trySandbox(sandbox, async (failure) => bubblewrapRemedy(await machineFacts(), failure));
}

async function trySandbox(sandbox: Sandbox, remedyFor: (failure: string) => Promise<string>): Promise<SandboxSearch> {
  const failure = await tryOut(sandbox);
  return failure === undefined ? { kind: "found", sandbox } : none(failure, await remedyFor(failure));
}

/** A part of macOS: not one that lies on PATH. */
const sandboxExec = "/usr/bin/sandbox-exec";
const seatbeltRemedy = `see whether it works by hand: ${sandboxExec} -p '(version 1)(allow default)' /usr/bin/true`;

const none = (why: string, remedy: string): SandboxSearch => ({ kind: "none", why, remedy });

/** Where systems keep programs first: PATH may lead into a project. */
async function findProgram(name: string, path: string): Promise<string | undefined> {
  const folders = ["/usr/bin", "/bin", "/usr/local/bin", ...path.split(delimiter).filter((one) => isAbsolute(one))];
  for (const folder of folders) if (await canRun(join(folder, name))) return join(folder, name);
  return undefined;
}

/** Written once; again if it is gone or not whole, as when its disk was full. */
async function ensureFile({ folder, name, data }: EnsuredFile): Promise<string> {
  const path = join(folder, name);
  const found = await stat(path).catch(() => undefined);
  if (found?.size === data.byteLength) return path;
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const fresh = `${path}.${randomUUID()}`;
  await writeFile(fresh, data, { flag: "wx" });
  await rename(fresh, path);
  return path;
}

interface EnsuredFile {
  readonly folder: string;
  readonly name: string;
  readonly data: Uint8Array;
}

/** What it fails with; undefined: it works. */
async function tryOut(sandbox: Sandbox): Promise<string | undefined> {
  const temporary = await mkdtemp(join(tmpdir(), "palimpsest-try-"));
  try {
    const start = { program: "/bin/sh", args: ["-c", "exit 0"], cwd: "/", env: {} };
    const entry = await sandbox.enter(start, {
      strength: "read-only",
      writable: [],
      protected: [],
      hidden: [],
      shown: [],
      temporary,
      network: { kind: "off" },
    });
    if (entry.kind === "refused") return entry.why;
    const { program, args, cwd, env } = entry.start;
    await promisify(execFile)(program, args, { cwd, env, timeout: sandboxTryMsMax });
    await entry.leave();
    return undefined;
  } catch (error) {
    const said = error instanceof Error && "stderr" in error ? String(error.stderr).trim() : "";
    const [line = ""] = (said || String(error)).split("\n");
    return line.slice(0, sandboxTryCharsMax);
  } finally {
    await rm(temporary, { recursive: true, force: true });
  }
}
