import { basename, dirname } from "node:path";
import type { SandboxLimits, SandboxNetwork, SandboxStrength } from "palimpsest/internal/ports/sandbox";
import type { ShellAct } from "palimpsest/internal/ports/tools";
import { isInside, isInsideAny } from "../inside.ts";

/** All real paths. */
export interface SandboxPlaces {
  /** The project's folders. */
  readonly roots: readonly string[];
  /** Where credentials are, and what rules hide. */
  readonly secrets: readonly string[];
  /** What decides about programs that run outside. */
  readonly protected: readonly string[];
  /** What rules keep from being changed. */
  readonly unchanged: readonly string[];
  /** Read by commands although they may lie among secrets: folders on PATH, results of this session. */
  readonly tools: readonly string[];
  /** What this command reads by name: allowed, but in bypass mode nobody was asked. */
  readonly named: readonly string[];
  /** What it reads by name and a rule asked about: the user said yes. */
  readonly asked: readonly string[];
  readonly temporary: string;
}

export interface LimitsInput {
  readonly strength: Exclude<SandboxStrength, "none">;
  readonly places: SandboxPlaces;
  readonly network: SandboxNetwork;
}

/** What runs unasked writes nothing; what was allowed writes in the project. Pure. */
export function limitsFor({ strength, places, network }: LimitsInput): SandboxLimits {
  const { roots, secrets, unchanged, tools, named, asked, temporary } = places;
  const isWritable = (root: string): boolean => strength === "workspace" && !isInsideAny(root, unchanged);
  const isToBeShown = (path: string): boolean => isTemporary(path) && !isInsideAny(path, secrets);
  return {
    strength,
    writable: roots.filter(isWritable),
    protected: strength === "workspace" ? [...places.protected, ...unchanged] : [],
    hidden: secrets,
    shown: [...roots, ...tools.map((folder) => toolRoot(folder, secrets)), ...named.filter(isToBeShown), ...asked],
    temporary,
    network,
  };
}

/** The system's temporary folders are replaced by the session's own, so what a command means of the others is shown. */
const isTemporary = (path: string): boolean =>
  ["/tmp", "/var/tmp"].some((folder) => path !== folder && isInside(path, folder));

/** A program on PATH needs what it was installed with: `x/bin` comes with `x`, unless that is itself to be hidden. */
function toolRoot(folder: string, secrets: readonly string[]): string {
  const above = dirname(folder);
  const root = basename(above) === "node_modules" ? dirname(above) : above;
  const isOfPackage = /^\.?s?bin$/.test(basename(folder)) && root !== "/";
  const holdsSecrets = secrets.some((secret) => isInside(secret, root));
  return isOfPackage && isInsideAny(root, secrets) && !holdsSecrets ? root : folder;
}

/** A command that is known to change nothing is held to that; every other that may run at all works in the project. */
export const strengthFor = ({ effect }: Pick<ShellAct, "effect">): Exclude<SandboxStrength, "none"> =>
  effect === "read-only" ? "read-only" : "workspace";
