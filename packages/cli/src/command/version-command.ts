import { command } from "../program/command.ts";
import { exitCode } from "../program/failure.ts";
import { readOwnVersion } from "../program/read-own-version.ts";

export const versionCommand = command({
  name: "version",
  summary: "show the version",
  json: "the versions of palimpsest and node, and the platform",
  run: async ({ out }, { format }) => {
    const version = readOwnVersion();
    const { platform, arch, versions } = process;
    if (format === "json")
      await out.json({ palimpsest: version, node: versions.node, platform: `${platform}-${arch}` });
    else await out.write(`palimpsest ${version}\n`);
    return exitCode.fine;
  },
});
