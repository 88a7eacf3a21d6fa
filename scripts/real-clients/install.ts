import { spawn } from "node:child_process";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { delimiter, dirname, join } from "node:path";
import { z } from "zod";
import { parseJson } from "../../packages/palimpsest/src/schema/json.ts";
import type { RealClient } from "./client.ts";

const manifest = z.object({ version: z.string() });

/** Puts this Node first: with an old one npm silently installs old versions. */
export const pathWithThisNode = (rest: string): string => `${dirname(process.execPath)}${delimiter}${rest}`;

/** `folder` must be for this client alone. Rejects if npm fails. */
export async function install(client: RealClient, { folder, version }: { folder: string; version: string }) {
  await mkdir(folder, { recursive: true });
  const allowScripts = client.installScript === "needed" ? { [client.package]: true } : {};
  await writeFile(join(folder, "package.json"), JSON.stringify({ private: true, allowScripts }));
  const scripts = client.installScript === "needed" ? "--ignore-scripts=false" : "--ignore-scripts";
  const args = ["install", "--no-audit", "--no-fund", "--loglevel=error", scripts, `${client.package}@${version}`];
  const env = { ...process.env, PATH: pathWithThisNode(process.env["PATH"] ?? "") };
  const npm = spawn("npm", args, { cwd: folder, env, stdio: ["ignore", "ignore", "inherit"] });
  const code = await new Promise<number | null>((resolve, reject) => {
    npm.once("error", reject);
    npm.once("close", resolve);
  });
  if (code !== 0) throw new Error(`npm ended with ${code} when it installed ${client.package}@${version}`);
}

export const programOf = (client: RealClient, folder: string): string =>
  join(folder, "node_modules", ".bin", client.program);

export async function installedVersion(client: RealClient, folder: string): Promise<string> {
  const source = await readFile(join(folder, "node_modules", client.package, "package.json"), "utf8");
  return manifest.parse(parseJson(source)).version;
}
