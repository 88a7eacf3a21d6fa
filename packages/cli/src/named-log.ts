import { createEngine, type EngineDeps, type ResolvedLog } from "./host/engine.ts";
import type { LogFormat } from "palimpsest/internal/import/importer";
import type { Translated } from "palimpsest/internal/session/foreign";
import type { OpenedLog } from "palimpsest/internal/session/open";
import type { Blobs } from "palimpsest/internal/ports/blobs";
import type { ByteSource } from "palimpsest/internal/ports/transcripts";
import type { SessionId } from "palimpsest/internal/schema/brand";
import type { CommandContext } from "./command.ts";
import { exitCode } from "./exit-code.ts";
import { failure, type Failure } from "./failure.ts";

/** A log open for reading, however the person named it. */
export interface NamedLog {
  readonly kind: "log";
  readonly path: string;
  readonly source: ByteSource;
  readonly blobs: Blobs;
  readonly origin: "ours" | "foreign";
  /** Of another tool's file, where it is one that we know. */
  readonly format?: LogFormat | undefined;
  /** Present where the file had to be translated. */
  readonly translated?: Translated;
  /** Present where it is a session of our own, which may be written. */
  readonly session?: { readonly id: SessionId; readonly deps: EngineDeps };
}

export async function openNamedLog(
  context: Pick<CommandContext, "env" | "cwd">,
  name: string,
): Promise<NamedLog | Failure> {
  const resolved = await createEngine(context).resolveLog(name);
  if (resolved.kind !== "ours" && resolved.kind !== "foreign") return notOpened(resolved, name);
  if (resolved.kind === "foreign") return { ...resolved, kind: "log", origin: "foreign" };
  const { id, deps, path } = resolved;
  const source = await deps.transcripts.openForReading(id);
  if (source === undefined) return notOpened({ kind: "missing" }, name);
  return { kind: "log", path, source, blobs: deps.blobs, origin: "ours", session: { id, deps } };
}

function notOpened(resolved: Exclude<ResolvedLog, { kind: "ours" | "foreign" }>, name: string): Failure {
  switch (resolved.kind) {
    case "missing":
      return failure({
        code: exitCode.notFound,
        message: `no session or file is called ${name}`,
        hint: "`palimpsest sessions list --all` shows the sessions there are; a path to a .jsonl file works too.",
      });
    case "not-a-file":
      return failure({
        code: exitCode.notFound,
        message: `${resolved.path} is not a file`,
        hint: "Give the path of a transcript; `palimpsest sessions import` takes folders.",
      });
    case "unreadable":
      return failure({
        code: exitCode.machine,
        message: resolved.message,
        hint: "Give the path of a transcript that you may read.",
      });
    case "ambiguous":
      return failure({
        code: exitCode.usage,
        message: `${name} is the beginning of ${resolved.candidates.length} sessions`,
        hint: `Write more of the id: ${resolved.candidates.slice(0, 4).join(", ")}${resolved.candidates.length > 4 ? ", …" : ""}`,
      });
  }
}

/**
 * Where not one line of another tool's file is an entry, it is the wrong file rather than a damaged one: an answer about
 * it would look like one about an empty session. A session of our own stays one, whatever became of its file.
 */
export function wrongFile(log: NamedLog, { fold, damage }: Pick<OpenedLog, "fold" | "damage">): Failure | undefined {
  if (log.origin === "ours" || log.translated !== undefined || fold.view().path.entries > 0) return undefined;
  if (damage.length > 0)
    return failure({
      code: exitCode.negative,
      message: `${log.path} is not a transcript: no line of it is an entry`,
      hint: "Give a transcript's path; `palimpsest sessions fsck` says what is wrong line by line.",
    });
  return failure({
    code: exitCode.negative,
    message: `${log.path} is empty: nothing was said in it yet`,
    hint: "Give the path of a transcript that has entries.",
  });
}
