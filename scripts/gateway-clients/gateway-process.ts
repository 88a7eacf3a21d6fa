import { spawn } from "node:child_process";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { createInterface } from "node:readline";
import { z } from "zod";
import { parseJson } from "../../packages/palimpsest/src/schema/json.ts";

const launcher = resolve(import.meta.dirname, "../../bin/palimpsest");

const statusForm = z.object({
  requests: z.number(),
  gatewayErrors: z.number(),
  failedOpen: z.number(),
  conversations: z.array(z.object({ id: z.string(), requests: z.number(), edits: z.number() })),
});
export type GatewayReport = z.infer<typeof statusForm> & { readonly log: string };

export interface RunningGateway {
  readonly url: string;
  /** Ends it. */
  stop(): Promise<GatewayReport>;
}

export interface GatewayStart {
  /** Holds its home; must not exist yet. */
  readonly folder: string;
  readonly upstream: string;
  readonly contextTokens: number;
}

/** `palimpsest gateway` in a process of its own. */
export async function startGateway({ folder, upstream, contextTokens }: GatewayStart): Promise<RunningGateway> {
  const home = join(folder, "gateway-home");
  await mkdir(home, { recursive: true });
  const log = join(folder, "gateway.jsonl");
  await writeFile(join(home, "gateway.json"), JSON.stringify({ context: { contextTokens }, log }));
  const child = spawn(process.execPath, [launcher, "gateway", "--port", "0", "--upstream", upstream], {
    cwd: folder,
    env: { ...process.env, PALIMPSEST_HOME: home },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let errors = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => (errors += text));
  const ended = new Promise<void>((done) => child.once("close", () => done()));
  const url = await new Promise<string>((found, fail) => {
    createInterface({ input: child.stdout }).once("line", found);
    child.once("close", () => fail(new Error(`the gateway did not start: ${errors}`)));
  });
  return {
    url,
    stop: async () => {
      const secret = (await readFile(join(home, "gateway", "secret"), "utf8")).trim();
      const response = await fetch(`${url}/palimpsest/status.json`, { headers: { authorization: `Bearer ${secret}` } });
      const status = statusForm.parse(parseJson(await response.text()));
      child.kill("SIGTERM");
      await ended;
      return { ...status, log: await readFile(log, "utf8") };
    },
  };
}
