import { execFile } from "node:child_process";
import { cp, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { promisify } from "node:util";
import { afterAll, describe, expect, it } from "vitest";
import { z } from "zod";
import { pathWithThisNode } from "../../scripts/real-clients/install.ts";
import { loopbackOnly } from "../../scripts/real-clients/namespace.ts";
import { sourceFlag } from "../scenario/support/command-line.ts";

const run = promisify(execFile);
const root = resolve(import.meta.dirname, "../..");
const sdk = "@anthropic-ai/claude-agent-sdk";
const env = { ...process.env, PATH: pathWithThisNode(process.env["PATH"] ?? "") };
const folder = await mkdtemp(join(tmpdir(), "claude-agent-sdk-"));
afterAll(() => rm(folder, { recursive: true, force: true }));

const manifestShape = z.object({ peerDependencies: z.record(z.string(), z.string()) });
const manifest = manifestShape.parse(
  JSON.parse(await readFile(join(root, "packages/palimpsest/package.json"), "utf8")),
);
const version = manifest.peerDependencies[sdk]?.replace("^", "") ?? "latest";

/** The SDK with its 355 MB is no dependency of this repository: it is installed here, with everything else from the checkout. */
async function install(): Promise<void> {
  await writeFile(join(folder, "package.json"), JSON.stringify({ private: true, type: "module" }));
  const flags = ["--no-audit", "--no-fund", "--ignore-scripts", "--legacy-peer-deps", "--loglevel=error"];
  await run("npm", ["install", ...flags, `${sdk}@${version}`], { cwd: folder, env, timeout: 300_000 });
  const links = ["palimpsest", "@palimpsest/simulator", "zod", "@modelcontextprotocol/sdk", "@anthropic-ai/sdk"];
  for (const name of links) {
    const path = join(folder, "node_modules", name);
    await mkdir(dirname(path), { recursive: true });
    await symlink(join(root, "node_modules", name), path);
  }
  for (const name of ["17-claude-agent-sdk", "agent-sdk", "agent-sdk-substitute"])
    await cp(join(root, `examples/${name}.ts`), join(folder, `${name}.ts`));
  await cp(join(import.meta.dirname, "child/resume-agent-sdk.ts"), join(folder, "resume-agent-sdk.ts"));
}

const namespace = loopbackOnly();
const why =
  namespace === undefined
    ? "this machine allows no network namespace"
    : await install().then(
        () => undefined,
        (error: unknown) => `npm: ${String(error).slice(0, 120)}`,
      );

async function runInside(...args: readonly string[]): Promise<string> {
  const [program = "", ...before] = namespace ?? [];
  const command = [...before, process.execPath, sourceFlag, ...args];
  const { stdout } = await run(program, command, { cwd: folder, env, timeout: 120_000, maxBuffer: 2 ** 24 });
  return stdout;
}

const summaryShape = z.object({
  isListed: z.boolean(),
  subkeys: z.array(z.string()),
  boundaries: z.number(),
  carriesOn: z.array(z.boolean()),
  receipts: z.array(z.tuple([z.number(), z.number()])),
  recalled: z.string(),
  messages: z.number().min(2),
  forked: z.number(),
  afterDeletion: z.number(),
});

describe.skipIf(why !== undefined)(
  `the Claude Agent SDK ${version}${why === undefined ? "" : ` (skipped: ${why})`}`,
  () => {
    it("takes our store, hooks, server and options by its own types", async () => {
      await writeFile(
        join(folder, "types.ts"),
        `import { type Options, query, type SessionStore } from "${sdk}";
import { agentSessions } from "palimpsest/claude-agent-sdk";
const memory = agentSessions();
export const store: SessionStore = memory.sessionStore;
export const options: Options = { ...(await memory.options()), model: "opus" };
export const parts: Options = { hooks: memory.hooks, mcpServers: await memory.mcpServers() };
export const messages = query({ prompt: "", options });
`,
      );
      const compilerOptions = { typeRoots: [join(root, "node_modules/@types")] };
      const config = { extends: join(root, "tsconfig.json"), compilerOptions, include: ["types.ts"] };
      await writeFile(join(folder, "tsconfig.json"), JSON.stringify(config));
      const { stdout } = await run(join(root, "node_modules/.bin/tsc"), ["-p", folder], { env }).catch(
        (error: unknown) => z.object({ stdout: z.string() }).parse(error),
      );
      expect(stdout).toBe("");
    });

    it("runs the example: the model recalls what the first of five compactions dropped", async () => {
      const out = await runInside("17-claude-agent-sdk.ts");
      expect(out).toContain(`with ${sdk}`);
      expect(out).toContain("It was periwinkle-1.");
      expect(out.match(/^boundary auto \d+ to \d+ tokens$/gm)?.length).toBeGreaterThanOrEqual(3);
    });

    it("resumes from our store alone, with its sub-agents, through three compactions", async () => {
      const summary = summaryShape.parse(JSON.parse(await runInside("resume-agent-sdk.ts", join(folder, "run"))));
      expect(summary.boundaries).toBeGreaterThanOrEqual(3);
      expect(summary.receipts).toHaveLength(summary.boundaries);
      for (const [before, after] of summary.receipts) expect(after).toBeLessThan(0.6 * before);
      expect(summary.carriesOn).not.toContain(false);
      expect(summary).toMatchObject({ isListed: true, recalled: "The word is ibis-1." });
      expect(summary).toMatchObject({ forked: summary.messages, afterDeletion: 0 });
      expect(summary.subkeys).toEqual([expect.stringMatching(/^subagents\/agent-/)]);
    });
  },
);
