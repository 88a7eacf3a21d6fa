import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import type { Calling } from "./command-line.ts";

/**
 * How to start a process that permission bits bind. They do not bind root, so root drops the capabilities that lift
 * them, and only if it can't, starts the process as another user: that one can't read a clone in a closed folder, such
 * as the home of a container's root.
 */
type Binding =
  | { readonly kind: "bound"; readonly calling: Partial<Calling> }
  | { readonly kind: "impossible"; readonly why: string };

const nobodyUid = 65_534;
const capabilityDrops = ["setpriv", "--bounding-set=-dac_override,-dac_read_search", "--inh-caps=-dac_override"];

export const bound: Binding = bindProcess();
/** Behind a test's name. */
export const whyUnbound = bound.kind === "bound" ? "" : ` (skipped: ${bound.why})`;
export const boundCalling: Partial<Calling> = bound.kind === "bound" ? bound.calling : {};

function bindProcess(): Binding {
  if (process.platform === "win32") return { kind: "impossible", why: "there are no permission bits" };
  if (process.geteuid?.() !== 0) return { kind: "bound", calling: {} };
  if (dropsWork()) return { kind: "bound", calling: { startedBy: capabilityDrops } };
  if (isReachableByAll(import.meta.dirname) && isReachableByAll(process.execPath))
    return { kind: "bound", calling: { uid: nobodyUid } };
  return { kind: "impossible", why: "root here, without setpriv, in a folder that no other user can reach" };
}

function dropsWork(): boolean {
  const folder = mkdtempSync(join(tmpdir(), "bound-"));
  const closed = join(folder, "closed");
  writeFileSync(closed, "", { mode: 0o000 });
  try {
    return endsWell("true") && !endsWell("cat", closed);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function endsWell(...command: readonly string[]): boolean {
  const [file = "", ...before] = capabilityDrops;
  try {
    execFileSync(file, [...before, ...command], { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
}

function isReachableByAll(path: string): boolean {
  for (let at = resolve(path); at !== dirname(at); at = dirname(at))
    if ((statSync(at).mode & 0o001) === 0) return false;
  return true;
}
