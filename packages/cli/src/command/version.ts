import { command } from "../command.ts";
import { exitCode } from "../exit-code.ts";
import { ownVersion } from "../version.ts";

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
