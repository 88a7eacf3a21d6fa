import { spawn } from "node:child_process";
import { cp, mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { z } from "zod";
import { parseJson } from "../../packages/palimpsest/src/schema/json.ts";
import { clientPackage, type RealClient } from "./client.ts";

const manifest = z.object({ version: z.string() });

/** Clients are installed once; delete the folder to install them anew. */
const cacheFolder = join(tmpdir(), "palimpsest-real-clients");

/** Puts this Node first: with an old one npm silently installs old versions. */
export const pathWithThisNode = (rest: string): string => `${dirname(process.execPath)}${delimiter}${rest}`;

/** Clients that are one package share a folder. */
export const installFolder = (client: RealClient, version: string): string =>
  join(cacheFolder, `${clientPackage(client).replace("@", "").replace("/", "-")}-${version}`);

/** Rejects if npm fails; nothing is left behind then. */
export async function install(client: RealClient, version: string): Promise<void> {
  const folder = installFolder(client, version);
  if ((await installedVersion(client, folder)) === undefined) await installNew(client, { folder, version });
  // The drivers import the library, so they must stand next to it.
  await cp(join(import.meta.dirname, "drivers"), join(folder, "drivers"), { recursive: true });
}

async function installNew(client: RealClient, { folder, version }: { folder: string; version: string }) {
  await mkdir(folder, { recursive: true });
  const name = clientPackage(client);
  const allowScripts = client.installScript === "needed" ? { [name]: true } : {};
  const { overrides = {} } = client;
  await writeFile(
    join(folder, "package.json"),
    JSON.stringify({ private: true, type: "module", allowScripts, overrides }),
  );
  const scripts = client.installScript === "needed" ? "--ignore-scripts=false" : "--ignore-scripts";
  const packages = [`${name}@${version}`, ...client.packages.slice(1)];
  const args = ["install", "--no-audit", "--no-fund", "--loglevel=error", scripts, ...packages];
  const env = { ...process.env, PATH: pathWithThisNode(process.env["PATH"] ?? "") };
  const npm = spawn("npm", args, { cwd: folder, env, stdio: ["ignore", "ignore", "inherit"] });
  const code = await new Promise<number | null>((resolve, reject) => {
    npm.once("error", reject);
    npm.once("close", resolve);
  });
  if (code === 0) return;
  await rm(folder, { recursive: true, force: true });
  throw new Error(`npm ended with ${code} when it installed ${packages.join(" ")}`);
}

/** Undefined if it is not there. */
async function installedVersion(client: RealClient, folder: string): Promise<string | undefined> {
  const path = join(folder, "node_modules", clientPackage(client), "package.json");
  const source = await readFile(path, "utf8").catch(() => undefined);
  return source === undefined ? undefined : manifest.parse(parseJson(source)).version;
}
