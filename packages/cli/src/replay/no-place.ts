import { access, constants, stat } from "node:fs/promises";
import { dirname } from "node:path";
import { makeFolder } from "palimpsest/internal/store/files/disk";
import { codeOf, refusalText } from "palimpsest/internal/store/files/failure";
import { exitCode } from "../exit-code.ts";
import { failure, type Failure } from "../failure.ts";

export interface Written {
  /** Called what it is to whoever is told that there is no place for it. */
  readonly file: { readonly path: string; readonly what: "report" | "drawing" } | undefined;
  /** Is made. */
  readonly traceFolder: string | undefined;
}

/** Asked before the work, so that hours of it do not end with a place that can't be written. What the machine forbids is thrown. */
export async function noPlaceFor({ file, traceFolder }: Written): Promise<Failure | undefined> {
  const nowhere = file === undefined ? undefined : await noFileAt(file);
  if (nowhere !== undefined || traceFolder === undefined) return nowhere;
  return noTraceFolderAt(traceFolder);
}

async function noFileAt({ path, what }: NonNullable<Written["file"]>): Promise<Failure | undefined> {
  const folder = dirname(path);
  if ((await stateOf(folder)) !== "folder")
    return noPlace(`there is no folder ${folder} for the ${what}`, "Make it first, or name a file in another.");
  const state = await stateOf(path);
  if (state === "folder") return noPlace(`${path} is a folder, and the ${what} is a file`, "Name a file in it.");
  await access(state === "missing" ? folder : path, constants.W_OK);
  return undefined;
}

async function noTraceFolderAt(path: string): Promise<Failure | undefined> {
  const why = await makeFolder(path).then(() => undefined, noWay);
  if (why !== undefined || (await stateOf(path)) !== "folder")
    return noPlace(`${path} can't be a folder for traces`, "Name a folder, or a place where one can be made.");
  await access(path, constants.W_OK | constants.X_OK);
  return undefined;
}

/** A part of the way is a file, or leads where nothing can be made. A refusal of the machine stays one. */
function noWay(error: unknown): "no way" {
  const code = codeOf(error);
  if (code === undefined || refusalText(code) !== undefined) throw error;
  return "no way";
}

const stateOf = async (path: string): Promise<"folder" | "other" | "missing"> =>
  stat(path).then(
    (found) => (found.isDirectory() ? "folder" : "other"),
    () => "missing",
  );

const noPlace = (message: string, hint: string): Failure => failure({ code: exitCode.notFound, message, hint });
