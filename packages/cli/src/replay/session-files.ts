import { stat, access, constants } from "node:fs/promises";
import { resolve, dirname } from "node:path";
import type { CommandContext } from "../program/command.ts";
import { exitCode, failure, type Failure } from "../program/failure.ts";
import { filesBelow } from "../session/files-below.ts";
import { openNamedLog } from "../session/named-log.ts";
import type { SessionFile } from "./file-job.ts";
import { makeFolder, errorCode, refusalText } from "palimpsest/internal/store/files/disk";

interface SessionFiles {
  readonly kind: "files";
  /** Each once, sorted by path. */
  readonly files: readonly SessionFile[];
  /** `in folders`: at least one of the named paths is a folder. */
  readonly named: "one by one" | "in folders";
}

/**
 * Whether a file holds a session shows when it is read. A path that does not exist fails at once: a long run should not
 * end with a typing error.
 */
export async function findSessionFiles(
  context: Pick<CommandContext, "env" | "cwd">,
  names: readonly string[],
): Promise<SessionFiles | Failure> {
  const paths = new Set<string>();
  let named: SessionFiles["named"] = "one by one";
  for (const name of names) {
    const path = resolve(context.cwd, name);
    const found = await filesBelow(path);
    if (found.kind === "missing") {
      const session = await findSessionPath(context, name);
      if (session.kind === "failure") return session;
      paths.add(session.path);
      continue;
    }
    if (found.kind === "unreadable")
      return failure({ code: exitCode.machine, message: `${name} can't be read: ${found.message}` });
    if (found.paths.length !== 1 || found.paths[0] !== path) named = "in folders";
    for (const file of found.paths) paths.add(file);
  }
  const files: SessionFile[] = [];
  for (const path of [...paths].toSorted()) {
    // Removed meanwhile: then it is no file of this run.
    const stats = await stat(path).catch(() => undefined);
    if (stats !== undefined) files.push({ path, sizeBytes: stats.size, modifiedMillis: stats.mtimeMs });
  }
  if (files.length > 0) return { kind: "files", files, named };
  return failure({
    code: exitCode.notFound,
    message: `there is no file below ${names.join(", ")}`,
    hint: "Name transcripts, or a folder with some in it or below it.",
  });
}

async function findSessionPath(
  context: Pick<CommandContext, "env" | "cwd">,
  name: string,
): Promise<{ readonly kind: "session"; readonly path: string } | Failure> {
  const log = await openNamedLog(context, name);
  if (log.kind === "log") {
    await log.source.close();
    return { kind: "session", path: log.path };
  }
  if (log.code !== exitCode.notFound) return log;
  return failure({
    code: exitCode.notFound,
    message: `there is no file, folder or session ${name}`,
    hint: "`palimpsest sessions list --all` shows the sessions there are.",
  });
}

interface OutputPaths {
  /** `what`: the name of the file in the error message. */
  readonly file: { readonly path: string; readonly what: "report" | "drawing" } | undefined;
  /** Created if missing. */
  readonly traceFolder: string | undefined;
}

/**
 * Checked before the work, so that hours of it do not end with a path that can't be written. Errors of the machine are
 * thrown.
 */
export async function checkOutputPaths({ file, traceFolder }: OutputPaths): Promise<Failure | undefined> {
  const fileFailure = file === undefined ? undefined : await checkOutputFile(file);
  if (fileFailure !== undefined || traceFolder === undefined) return fileFailure;
  return checkTraceFolder(traceFolder);
}

async function checkOutputFile({ path, what }: NonNullable<OutputPaths["file"]>): Promise<Failure | undefined> {
  const folder = dirname(path);
  if ((await pathState(folder)) !== "folder")
    return placeFailure(`there is no folder ${folder} for the ${what}`, "Make it first, or name a file in another.");
  const state = await pathState(path);
  if (state === "folder") return placeFailure(`${path} is a folder, and the ${what} is a file`, "Name a file in it.");
  await access(state === "missing" ? folder : path, constants.W_OK);
  return undefined;
}

async function checkTraceFolder(path: string): Promise<Failure | undefined> {
  const why = await makeFolder(path).then(() => undefined, rethrowRefusal);
  if (why !== undefined || (await pathState(path)) !== "folder")
    return placeFailure(`${path} can't be a folder for traces`, "Name a folder, or a place where one can be made.");
  await access(path, constants.W_OK | constants.X_OK);
  return undefined;
}

/** A part of the path is a file, or leads where nothing can be created. Other errors are thrown. */
function rethrowRefusal(error: unknown): "not-a-folder" {
  const code = errorCode(error);
  if (code === undefined || refusalText(code) !== undefined) throw error;
  return "not-a-folder";
}

const pathState = async (path: string): Promise<"folder" | "other" | "missing"> =>
  stat(path).then(
    (found) => (found.isDirectory() ? "folder" : "other"),
    () => "missing",
  );

const placeFailure = (message: string, hint: string): Failure => failure({ code: exitCode.notFound, message, hint });
