import { execFile } from "node:child_process";
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, dirname, join, resolve } from "node:path";
import { promisify } from "node:util";
import { z } from "zod";
import { filledPage, type Row } from "./doc-tables.ts";

/**
 * `npm run test:packed`: packs the packages as they are published, installs them into an empty project with one framework at
 * a time, and runs that framework's example on Node 22, Bun and Deno. It needs the network, and some minutes. The results go
 * into docs/frameworks.md; it exits with 1 if an example fails on Node. Names as arguments: only these frameworks, and
 * the page stays as it is.
 */
const run = promisify(execFile);
const repository = resolve(import.meta.dirname, "..");
const page = join(repository, "docs/frameworks.md");
const env = { ...process.env, PATH: [dirname(process.execPath), process.env["PATH"]].join(delimiter) };
const exampleMillisMax = 120_000;
const manifestShape = z.object({ version: z.string() });
const peersShape = z.object({ peerDependencies: z.record(z.string(), z.string()) });

interface Framework {
  readonly name: string;
  readonly example: string;
  readonly needs: readonly string[];
  /** What these bring with them, at the versions of this checkout too. */
  readonly pins?: readonly string[];
  /** Of examples/, besides the example and the simulated model. */
  readonly files?: readonly string[];
  /** In the output, besides what every example prints. */
  readonly prints?: string;
  /** In the output of an example without requests, in place of what the others print. */
  readonly shows?: RegExp;
}

/** Each framework's example and what it needs besides our packages; versions are those of this checkout. */
const frameworks: readonly Framework[] = [
  { name: "Anthropic SDK", example: "11-anthropic-client.ts", needs: ["@anthropic-ai/sdk"] },
  { name: "AI SDK", example: "12-ai-sdk.ts", needs: ["ai", "@ai-sdk/anthropic", "zod"] },
  { name: "OpenAI SDK", example: "13-openai-client.ts", needs: ["openai"] },
  {
    name: "LangChain",
    example: "14-langchain.ts",
    needs: ["langchain", "@langchain/core", "@langchain/anthropic", "zod"],
    // Of these, a registry may have a version whose own dependencies it does not have.
    pins: ["@langchain/langgraph", "@langchain/langgraph-checkpoint", "@langchain/langgraph-sdk"],
  },
  { name: "Agents SDK", example: "15-openai-agents.ts", needs: ["@openai/agents", "openai", "zod"] },
  { name: "Mastra", example: "16-mastra.ts", needs: ["@mastra/core", "zod"] },
  {
    name: "Claude Agent SDK",
    example: "17-claude-agent-sdk.ts",
    needs: ["@anthropic-ai/claude-agent-sdk", "@modelcontextprotocol/sdk", "zod"],
    files: ["agent-sdk.ts", "agent-sdk-substitute.ts"],
    // Not the substitute.
    prints: "with @anthropic-ai/claude-agent-sdk",
  },
  {
    name: "MCP",
    example: "20-mcp.ts",
    needs: ["@modelcontextprotocol/sdk", "zod"],
    shows: /^recall:.*proxy drops the first ones.*^memory_log:.*Uploads/ms,
  },
];

/** The package that has the program for this platform, its place in it, and how a file is run. */
const platform = `${process.platform}-${process.arch}`;
const runtimes = [
  { name: "Node 22", install: `node-${platform}@22`, program: `node-${platform}/bin/node`, args: [] },
  { name: "Bun", install: `@oven/bun-${platform}`, program: `@oven/bun-${platform}/bin/bun`, args: ["run"] },
  {
    name: "Deno",
    install: `@deno/${platform}${process.platform === "linux" ? "-glibc" : ""}`,
    program: `@deno/${platform}${process.platform === "linux" ? "-glibc" : ""}/deno`,
    args: ["run", "--allow-all", "--node-modules-dir=manual"],
  },
];

const names = process.argv.slice(2);
/** By the names above, with the exact version. */
const titleByRuntime = new Map<string, string>();
const folder = await mkdtemp(join(tmpdir(), "packed-"));
const npm = (cwd: string, ...args: readonly string[]) => run("npm", args, { cwd, env, maxBuffer: 64 * 2 ** 20 });
const install = (cwd: string, ...what: readonly string[]) =>
  npm(cwd, "install", "--no-audit", "--no-fund", "--ignore-scripts", ...what);

await npm(repository, "run", "build");
await npm(repository, "pack", "--workspaces", "--ignore-scripts", "--pack-destination", folder);
const programs = await installRuntimes();
const rows: Row[] = [];
for (const framework of frameworks.filter(({ name }) => names.length === 0 || names.includes(name))) {
  const project = await createProject(framework);
  const cells: string[] = [];
  for (const { name, args } of runtimes) {
    const program = programs.get(name);
    cells.push(program === undefined ? "not installable" : await runExample(project, { program, args, framework }));
  }
  rows.push([framework.name, `examples/${framework.example}`, ...cells]);
  console.log(rows.at(-1)?.join(" | "));
}
await npm(repository, "run", "clean");
await rm(folder, { recursive: true, force: true });
const table = [["framework", "example", ...runtimes.map(({ name }) => titleByRuntime.get(name) ?? name)], ...rows];
if (names.length === 0) await writeFile(page, filledPage(await readFile(page, "utf8"), { packed: table }));
process.exitCode = rows.some((row) => row[2] !== "runs") ? 1 : 0;

async function installRuntimes(): Promise<ReadonlyMap<string, string>> {
  const found = new Map<string, string>();
  for (const { name, install: what, program } of runtimes) {
    const home = await createFolder(`runtime-${name.replaceAll(" ", "-")}`);
    const path = join(home, "node_modules", program);
    const version = await install(home, what)
      .then(() => run(path, ["--version"]))
      .catch((error: unknown) => console.error(`${name} can't be installed: ${String(error).slice(0, 300)}`));
    if (version === undefined) continue;
    found.set(name, path);
    const [exact = ""] = /\d+\.\d+\.\d+/.exec(version.stdout) ?? [];
    titleByRuntime.set(name, `${name.split(" ")[0]} ${exact}`);
  }
  return found;
}

/** What is too large for this checkout has the version of its peer range. */
async function readVersion(name: string): Promise<string> {
  const manifest = await readFile(join(repository, "node_modules", name, "package.json"), "utf8").catch(
    () => undefined,
  );
  if (manifest !== undefined) return manifestShape.parse(JSON.parse(manifest)).version;
  const ours = await readFile(join(repository, "packages/palimpsest/package.json"), "utf8");
  const range = peersShape.parse(JSON.parse(ours)).peerDependencies[name];
  if (range === undefined) throw new Error(`${name} is neither installed nor a peer`);
  return range.replace("^", "");
}

async function createFolder(name: string, more: object = {}): Promise<string> {
  const path = join(folder, name);
  await mkdir(path, { recursive: true });
  const manifest = { name: "project", private: true, type: "module", ...more };
  await writeFile(join(path, "package.json"), JSON.stringify(manifest));
  return path;
}

async function createProject({ name, example, needs, pins = [], files = [] }: Framework): Promise<string> {
  const overrides = Object.fromEntries(
    await Promise.all(pins.map(async (pin) => [pin, await readVersion(pin)] as const)),
  );
  const project = await createFolder(name.replaceAll(" ", "-"), { overrides });
  const tarballs = ["palimpsest", "palimpsest-simulator"].map((file) => join(folder, `${file}-0.1.0.tgz`));
  const versions = await Promise.all(needs.map(async (need) => `${need}@${await readVersion(need)}`));
  await install(project, ...tarballs, ...versions);
  for (const file of [example, "simulated.ts", ...files])
    await cp(join(repository, "examples", file), join(project, file));
  return project;
}

async function runExample(
  project: string,
  {
    program,
    args,
    framework: { example, prints = "", shows },
  }: { readonly program: string; readonly args: readonly string[]; readonly framework: Framework },
): Promise<string> {
  const home = { ...env, PALIMPSEST_HOME: join(project, "home"), HOME: project };
  try {
    const { stdout } = await run(program, [...args, example], { cwd: project, env: home, timeout: exampleMillisMax });
    // Every example says how many tokens its last request had, and lists the edits that made it fit.
    const isUsual = /tokens/.test(stdout) && /^(?:clear|boundary)/m.test(stdout);
    const isWhole = (shows?.test(stdout) ?? isUsual) && stdout.includes(prints);
    return isWhole ? "runs" : `says ${stdout.slice(0, 60)}`;
  } catch (error) {
    console.error(`${example} with ${program}: ${String(error).slice(0, 1_500)}`);
    return "fails";
  }
}
