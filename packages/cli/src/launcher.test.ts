import { spawn, spawnSync } from "node:child_process";
import { chmodSync, cpSync, mkdirSync, mkdtempSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join, resolve } from "node:path";
import { text } from "node:stream/consumers";
import { describe, expect, it } from "vitest";
import { passingForOld } from "../../../test/fixture/old-node.ts";

const root = resolve(import.meta.dirname, "..");
const launcher = join(root, "bin", "palimpsest");

/** The first Node on the PATH (or PALIMPSEST_OLD_NODE) that cannot run the sources itself. */
const oldNode = [
  process.env["PALIMPSEST_OLD_NODE"],
  ...(process.env["PATH"] ?? "").split(delimiter).map((folder) => join(folder, "node")),
].find((path) => path !== undefined && isOld(path));

function isOld(node: string): boolean {
  const { stdout, status } = spawnSync(node, ["--version"], { encoding: "utf8" });
  const major = Number.parseInt(stdout?.slice(1) ?? "", 10);
  return status === 0 && major >= 18 && major < 24;
}

interface Running {
  readonly name: string;
  readonly node: string;
  readonly flags: readonly string[];
}

/** These start a second Node. */
const relaunching: readonly Running[] = [
  { name: "a Node that passes for an older one", node: process.execPath, flags: passingForOld() },
  ...(oldNode === undefined ? [] : [{ name: "an older Node", node: oldNode, flags: [] }]),
];
const nodes: readonly Running[] = [{ name: "this Node", node: process.execPath, flags: [] }, ...relaunching];

describe.each(nodes)("bin/palimpsest under $name", ({ node, flags }) => {
  it("runs, without noise on stderr", () => {
    const { status, stdout, stderr } = spawnSync(node, [...flags, launcher, "version", "--json"], { encoding: "utf8" });
    expect(stderr).toBe("");
    expect(status).toBe(0);
    expect(stdout).toContain(`"node":"24.`);
  });

  it("passes exit code and stderr on", () => {
    const { status, stdout, stderr } = spawnSync(node, [...flags, launcher, "nonsense"], { encoding: "utf8" });
    expect({ status, stdout }).toEqual({ status: 2, stdout: "" });
    expect(stderr).toMatch(/^palimpsest: unknown command nonsense \(see palimpsest --help\)\n/);
  });

  it.skipIf(process.platform === "win32")("keeps compiled code for its user alone, whatever the umask", () => {
    const cache = mkdtempSync(join(tmpdir(), "cache-"));
    const modeBehind = (umask: string): string => {
      const shell = `umask ${umask}; unset NODE_COMPILE_CACHE; exec "$@"`;
      const called = ["-c", shell, "sh", node, ...flags, launcher, "version"];
      const env = { ...process.env, XDG_CACHE_HOME: cache };
      expect(spawnSync("sh", called, { env }).status).toBe(0);
      return (statSync(join(cache, "palimpsest")).mode & 0o777).toString(8);
    };
    expect(modeBehind("000")).toBe("700");
    // As an earlier version made it.
    chmodSync(join(cache, "palimpsest"), 0o755);
    expect(modeBehind("022")).toBe("700");
  });

  it.skipIf(process.platform === "win32")("is quiet when nobody reads", () => {
    const called = [node, ...flags, launcher].map((word) => `"${word}"`).join(" ");
    const shell = `${called} --help | true; ${called} --help | head -n 1`;
    const { stdout, stderr } = spawnSync("sh", ["-c", shell], { encoding: "utf8" });
    expect({ stdout, stderr }).toEqual({
      stdout: "palimpsest: a context and memory engine for LLM agents\n",
      stderr: "",
    });
  });

  it.skipIf(process.platform === "win32")("passes stdin, signals and death by signal on", async () => {
    const folder = packageWith(
      `export const main = async ({ argv, stdin, stdout, env }) => {
         for await (const chunk of stdin) stdout.write(chunk);
         process.emitWarning("noise", "ExperimentalWarning");
         if (argv[0] === "handle") process.on("SIGTERM", () => { stdout.write(" handled"); process.exit(7); });
         stdout.write(" ready " + Object.keys(env).includes("PALIMPSEST_RELAUNCHED"));
         setInterval(() => {}, 1000);
         return 0;
       };`,
    );
    expect(await terminated(node, [...flags, join(folder, "bin", "palimpsest"), "handle"])).toEqual({
      code: 7,
      signal: null,
      output: "hello ready false handled",
    });
    expect(await terminated(node, [...flags, join(folder, "bin", "palimpsest"), "die"])).toEqual({
      code: null,
      signal: "SIGTERM",
      output: "hello ready false",
    });
  });
});

describe.each(relaunching)("bin/palimpsest that had to start another Node, under $name", ({ node, flags }) => {
  it.skipIf(process.platform === "win32")("is not outlived by it, even when it is killed outright", async () => {
    const folder = packageWith(
      `export const main = async ({ stdout }) => {
         process.on("SIGTERM", () => { stdout.write(" asked to end"); process.exit(0); });
         setInterval(() => {}, 1000);
         stdout.write("ready");
         return 0;
       };`,
    );
    const started = spawn(node, [...flags, join(folder, "bin", "palimpsest")], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    started.stdout.once("data", () => started.kill("SIGKILL"));
    // Its stdout closes when the last process that holds it has ended.
    expect(await text(started.stdout)).toBe("ready asked to end");
  });

  it("ends by itself when there is nothing left to do, and says nothing of the channel to what it starts", () => {
    const folder = packageWith(
      `export const main = async ({ env, stdout }) => {
         stdout.write(String(Object.keys(env).some((name) => name.startsWith("NODE_CHANNEL"))));
         return 3;
       };`,
    );
    const { status, stdout } = spawnSync(node, [...flags, join(folder, "bin", "palimpsest")], {
      encoding: "utf8",
      timeout: 20_000,
    });
    expect({ status, stdout }).toEqual({ status: 3, stdout: "false" });
  });
});

describe.skipIf(oldNode === undefined)("bin/palimpsest under an older Node only (skipped where there is none)", () => {
  it("says in one line what to do", () => {
    const folder = mkdtempSync(join(tmpdir(), "launcher-"));
    cpSync(join(root, "bin"), join(folder, "bin"), { recursive: true });
    const { status, stdout, stderr } = spawnSync(oldNode ?? "", [join(folder, "bin", "palimpsest")], {
      encoding: "utf8",
    });
    expect({ status, stdout }).toEqual({ status: 1, stdout: "" });
    expect(stderr).toMatch(/^palimpsest: needs Node 24 or newer, this is .*\n$/);
  });
});

/** A package as published (dist, no src), whose command line is `main`, with a newer Node installed beside it. */
function packageWith(main: string): string {
  const folder = mkdtempSync(join(tmpdir(), "launcher-"));
  cpSync(join(root, "bin"), join(folder, "bin"), { recursive: true });
  mkdirSync(join(folder, "dist"));
  writeFileSync(join(folder, "package.json"), `{ "type": "module" }`);
  writeFileSync(join(folder, "dist", "main.js"), main);
  mkdirSync(join(folder, "node_modules", "node"), { recursive: true });
  const manifest = { name: "node", version: process.versions.node, bin: { node: "run" } };
  writeFileSync(join(folder, "node_modules", "node", "package.json"), JSON.stringify(manifest));
  symlinkSync(process.execPath, join(folder, "node_modules", "node", "run"));
  return folder;
}

/** Feeds "hello", waits until the process is ready, sends SIGTERM, waits for its end. */
function terminated(node: string, args: readonly string[]) {
  const child = spawn(node, args, { stdio: "pipe" });
  let output = "";
  const add = (chunk: Buffer): void => {
    const wasReady = output.includes("ready");
    output += chunk.toString();
    if (!wasReady && output.includes("ready")) child.kill("SIGTERM");
  };
  child.stdout.on("data", add);
  child.stderr.on("data", add);
  child.stdin.end("hello");
  return new Promise((done) => {
    child.on("close", (code, signal) => done({ code, signal, output }));
  });
}
