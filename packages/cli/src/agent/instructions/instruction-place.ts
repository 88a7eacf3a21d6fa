import { homedir } from "node:os";
import { join } from "node:path";
import type { ImportAnswer, InstructionPlace } from "palimpsest/internal/memory/load-instruction-file";
import type { LoadedSettings } from "../../settings/read-settings.ts";
import { realPath } from "../../settings/scope-files.ts";

export interface InstructionPlaceInput extends Pick<InstructionPlace, "cwd" | "root"> {
  /** `~/.palimpsest` or what stands for it. */
  readonly home: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly reading: Pick<LoadedSettings, "trust" | "settings" | "namedInstructions">;
  /** Absent: where they are on this system. */
  readonly managedFolders?: readonly string[] | undefined;
  /** Answers that were not stored. */
  readonly importAnswers?: ReadonlyMap<string, ImportAnswer> | undefined;
}

/** Where the instruction files of a session come from. */
export function instructionPlace({
  home: ownHome,
  env,
  cwd,
  root,
  reading: { trust, settings, namedInstructions },
  managedFolders = systemManagedFolders(process.platform),
  importAnswers = new Map(),
}: InstructionPlaceInput): InstructionPlace {
  const home = homedir();
  return {
    cwd,
    root,
    home: realPath(home),
    managedFolders,
    userFolders: [env["CLAUDE_CONFIG_DIR"] ?? join(home, ".claude"), ownHome],
    trust,
    importAnswers: new Map([
      ...settings.allowedImports.value.map((file) => [resolveFile(file, home), "allowed"] as const),
      ...importAnswers,
      // A refusal wins over everything.
      ...settings.refusedImports.value.map((file) => [resolveFile(file, home), "left-out"] as const),
    ]),
    excludes: settings.claudeMdExcludes.value.map((pattern) => expandHome(pattern, home)),
    foreign: settings.foreignInstructions.value,
    named: namedInstructions,
  };
}

const resolveFile = (written: string, home: string): string => realPath(expandHome(written, home));

const expandHome = (written: string, home: string): string =>
  written.startsWith("~/") ? join(home, written.slice("~/".length)) : written;

/** Where whoever runs the machine puts instructions for all of its users. */
const systemManagedFolders = (platform: NodeJS.Platform): readonly string[] =>
  platform === "darwin"
    ? ["/Library/Application Support/ClaudeCode", "/Library/Application Support/Palimpsest"]
    : ["/etc/claude-code", "/etc/palimpsest"];
