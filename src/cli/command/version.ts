import { readFileSync } from "node:fs";
import { isObject, parseJson, text } from "../../schema/json.ts";
import { command } from "../command.ts";
import { exitCode } from "../exit-code.ts";

export const versionCommand = command({
  name: "version",
  summary: "show the version",
  json: "the versions of palimpsest and node, and the platform",
  run: async ({ out }, { format }) => {
    const version = ownVersion();
    const { platform, arch, versions } = process;
    if (format === "json")
      await out.json({ palimpsest: version, node: versions.node, platform: `${platform}-${arch}` });
    else await out.write(`palimpsest ${version}\n`);
    return exitCode.fine;
  },
});

/** package.json is as far up from the sources as from what is built from them. */
function ownVersion(): string {
  const manifest = parseJson(readFileSync(new URL("../../../package.json", import.meta.url), "utf8"));
  const version = isObject(manifest) ? text(manifest, "version") : undefined;
  if (version === undefined) throw new Error("package.json has no version");
  return version;
}
