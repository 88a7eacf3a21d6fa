import { readFileSync } from "node:fs";
import { isObject, parseJson, textField } from "palimpsest/internal/schema/json";

/** package.json is equally far up from the sources and from the build. */
export function readOwnVersion(): string {
  const manifest = parseJson(readFileSync(new URL("../../package.json", import.meta.url), "utf8"));
  const version = isObject(manifest) ? textField(manifest, "version") : undefined;
  if (version === undefined) throw new Error("package.json has no version");
  return version;
}
