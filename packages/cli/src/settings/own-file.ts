import { lstat, readFile } from "node:fs/promises";
import type { WriteFailure } from "palimpsest/internal/ports/blobs";
import { isObject, type JsonObject, parseJson } from "palimpsest/internal/schema/json";
import { doubledKeys } from "./doubled-keys.ts";
import type { ReplaceFileDep } from "./learned-windows.ts";
import { settingsFileBytesMax } from "palimpsest/internal/settings/limits";

export type OwnRead =
  | {
      readonly kind: "read";
      readonly settings: JsonObject;
      /** As the file has it; two spaces where it has none. */
      readonly indent: string;
    }
  | Refused;

/** The file is not as it should be, and is left alone. */
export interface Refused {
  readonly kind: "refused";
  readonly why: string;
}

/** A settings file that is to be written: what can't be read is not written over. A file that is not there is empty. */
export async function readOwn(path: string): Promise<OwnRead> {
  try {
    const seen = await lstat(path);
    // Replacing it would cut a file off from where its person keeps it.
    if (!seen.isFile()) return refused(path, "it is a link or no file");
    if (seen.size > settingsFileBytesMax) return refused(path, "it is too large for settings");
    const text = await readFile(path, "utf8");
    const settings = parseJson(text.replace(/^\uFEFF/, ""));
    if (!isObject(settings)) return refused(path, "it holds no object");
    const [doubled] = doubledKeys(text);
    return doubled === undefined
      ? { kind: "read", settings, indent: /^([ \t]+)"/m.exec(text)?.[1] ?? indentDefault }
      : refused(path, `${doubled} stands in it twice, and one would be lost`);
  } catch (error) {
    if (error instanceof SyntaxError) return refused(path, "it is no JSON");
    const code = error instanceof Error && "code" in error ? String(error.code) : "";
    if (code === "") throw error;
    return code === "ENOENT"
      ? { kind: "read", settings: {}, indent: indentDefault }
      : refused(path, `it can't be read (${code})`);
  }
}

const indentDefault = "  ";

export const refused = (path: string, why: string): Refused => ({
  kind: "refused",
  why: `${path} was not changed: ${why}.`,
});

export interface OwnFile {
  readonly path: string;
  readonly settings: JsonObject;
  readonly indent: string;
}

export const writeOwn = (
  { replaceFile }: ReplaceFileDep,
  { path, settings, indent }: OwnFile,
): Promise<WriteFailure | undefined> => replaceFile(path, `${JSON.stringify(settings, undefined, indent)}\n`);
