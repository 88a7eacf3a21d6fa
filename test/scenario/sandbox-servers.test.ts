import { existsSync } from "node:fs";
import { mkdir, readFile, rename, symlink, writeFile } from "node:fs/promises";
import { once } from "node:events";
import { createServer as createHttpServer } from "node:http";
import { createServer } from "node:net";
import { homedir } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import type { AgentOptions } from "../../packages/cli/src/agent/agent-options.ts";
import type { Agent } from "../../packages/cli/src/agent/agent.ts";
import { openAgent } from "../../packages/cli/src/agent/open-agent.ts";
import { openWorkspace } from "../../packages/cli/src/host/workspace.ts";
import { noUser, type UserPort } from "../../packages/palimpsest/src/ports/user-port.ts";
import type { SandboxSearchOutcome } from "../../packages/palimpsest/src/ports/sandbox.ts";
import type { ConnectServer, ServerStart } from "../../packages/palimpsest/src/ports/tool-server.ts";
import { pendingApprovals } from "../../packages/cli/src/settings/defined-servers.ts";
import { serverConnector } from "../../packages/cli/src/tool/mcp/server-connector.ts";
import { findSandbox } from "../../packages/cli/src/tool/sandbox/find-sandbox.ts";
import type { Net } from "../../packages/cli/src/tool/web/get-page.ts";
import { connectTo, fakeServer } from "../fixture/tool-servers.ts";
import { needsBubblewrap, noBubblewrap } from "../fixture/sandbox-available.ts";
import { playing, says } from "./support/simulated.ts";
import { type AgentWorld, agentWorld, turn } from "./support/whole-agent.ts";

const program = join(import.meta.dirname, "../fixture/mcp/stdio-server.ts");
const definition = { command: process.execPath, args: [program, "good", "pry"] };

interface Prying {
  /** `a` is the project's, `b` the user's own. */
  readonly server: "a" | "b";
  readonly write?: string;
  readonly read?: string;
  /** Connected to without a proxy. */
  readonly port?: number;
  /** Fetched as the environment says. */
  readonly url?: string;
}

/** A server of a project and one of the user's own, each asked to try something. */
async function worldWith(...pries: readonly Prying[]): Promise<AgentWorld> {
  const calls = pries.map(({ server, ...input }) => [
    { type: "tool_use", name: "use_tool", input: { server, tool: "pry", input } } as const,
  ]);
  const world = await agentWorld({ responder: playing(...calls, says("Done.")) });
  await mkdir(world.home, { recursive: true });
  await writeFile(join(world.home, "settings.json"), JSON.stringify({ mcpServers: { b: definition } }));
  await writeFile(join(world.work, ".mcp.json"), JSON.stringify({ mcpServers: { a: definition } }));
  const workspace = openWorkspace({ env: world.env, cwd: world.work });
  await workspace.approveServers(pendingApprovals(await workspace.servers()).map(({ approval }) => approval));
  return world;
}

interface Opening extends Pick<AgentOptions, "user" | "net"> {
  readonly sandbox: SandboxSearchOutcome;
  readonly connectServer: ConnectServer;
  readonly deny?: readonly string[];
  readonly allow?: readonly string[];
}

async function openIn({ env, work: cwd }: AgentWorld, opening: Opening): Promise<Agent> {
  const { sandbox, allow, deny = [], ...others } = opening;
  const opened = await openAgent({
    env,
    cwd,
    version: "0.0.0",
    flags: sandbox.kind === "none" ? [{ flag: "sandbox", text: "required" }] : [],
    session: { kind: "new" },
    model: { kind: "provider" },
    tools: allow === undefined ? { mode: "bypass", allow: [], deny } : { allow, deny },
    sandbox,
    ...others,
  });
  if (opened.kind !== "agent") throw new Error(JSON.stringify(opened));
  onTestFinished(() => opened.close());
  return opened;
}

const resultsIn = ({ seen }: AgentWorld): string => JSON.stringify(seen.at(-1)?.body["messages"]);

/** A port of this machine on which somebody answers. */
async function listeningPort(): Promise<number> {
  const server = createServer((socket) => socket.end()).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  const address = server.address();
  return typeof address === "object" && address !== null ? address.port : 0;
}

describe.skipIf(noBubblewrap)(`servers: ${needsBubblewrap("in a sandbox")}`, () => {
  test("a project's writes in the project only, reads no keys and reaches no port; the user's own does", async () => {
    const key = join(homedir(), ".ssh", "id_ed25519");
    await mkdir(join(homedir(), ".ssh"), { recursive: true });
    await writeFile(key, "the private key");
    const [port, inHome] = [await listeningPort(), join(homedir(), "written-by-a")];
    const world = await worldWith(
      { server: "a", write: inHome, read: key, port },
      { server: "a", write: "in-project", read: "in-project", port },
      { server: "a", write: "dots/settings.json" },
      { server: "b", write: join(homedir(), "written-by-b"), read: key, port },
    );
    await mkdir(join(world.work, "dots"));
    await rename(join(world.home, "settings.json"), join(world.work, "dots/settings.json"));
    await symlink(join(world.work, "dots/settings.json"), join(world.home, "settings.json"));
    const sandbox = await findSandbox({ env: world.env, folder: join(world.home, "sandbox") });
    await turn(await openIn(world, { sandbox, connectServer: serverConnector({ version: "0.0.0" }) }), "Try it.");
    const results = resultsIn(world);
    expect(results).toMatch(/(EACCES|ENOENT)[^}]*ECONNREFUSED/);
    // It may have written one of its own, in a temporary folder that only it sees.
    expect(existsSync(inHome)).toBe(false);
    expect(await readFile(join(world.work, "in-project"), "utf8")).toBe("pried");
    expect(await readFile(join(world.work, "dots/settings.json"), "utf8")).not.toContain("pried");
    // The user's own server did all of it: the test can fail.
    expect(results.match(/the private key/g)).toHaveLength(1);
    expect(existsSync(join(homedir(), "written-by-b"))).toBe(true);
  });

  test("a project's reaches a host by rule or by the user's word, and no other; the question names the server", async () => {
    const pages = createHttpServer((_, response) => response.end("a page")).listen(0, "127.0.0.1");
    await once(pages, "listening");
    onTestFinished(() => void pages.close());
    const address = pages.address();
    const port = typeof address === "object" && address !== null ? address.port : 0;
    const at = (host: string): Prying => ({ server: "a", url: `http://${host}:${port}/` });
    const world = await worldWith(at("ruled.test"), at("asked.test"), at("refused.test"), at("denied.test"));
    const asks: string[] = [];
    const user: UserPort = {
      ...noUser,
      permission: async ({ reason }) => {
        asks.push(reason);
        return reason.includes("asked.test") ? { kind: "once" } : { kind: "denied" };
      },
    };
    // Every name leads to this machine, which may be connected to.
    const net: Net = { resolve: async () => [{ address: "127.0.0.1", family: 4 }], mayConnect: () => true };
    const sandbox = await findSandbox({ env: world.env, folder: join(world.home, "sandbox") });
    const [allow, deny] = [["mcp__a", "WebFetch(domain:ruled.test)"], ["WebFetch(domain:denied.test)"]];
    const connectServer = serverConnector({ version: "0.0.0" });
    await turn(await openIn(world, { sandbox, connectServer, net, user, allow, deny }), "Try it.");
    const pagesSeen = resultsIn(world).match(/a page|no page/g);
    expect(pagesSeen).toEqual(["a page", "a page", "no page", "no page"]);
    expect(asks).toEqual(
      ["asked.test", "refused.test"].map(
        (host) =>
          `The project's MCP server a wants to connect to ${host} at port ${port}, and no rule says whether it may.`,
      ),
    );
  });
});

test("a project's server is not started where a sandbox is required and there is none; the user's own is", async () => {
  const none: SandboxSearchOutcome = { kind: "none", why: "bubblewrap is not installed", remedy: "install it" };
  const world = await worldWith();
  const startByName = new Map<string, ServerStart>();
  const fakes = connectTo({ a: fakeServer(), b: fakeServer() });
  const connectServer: ConnectServer = (start) => {
    startByName.set(start.definition.name, start);
    return fakes(start);
  };
  const agent = await openIn(world, { sandbox: none, connectServer });
  await agent.serversSettled();
  expect(agent.warnings.join("\n")).toContain("No command runs: you require a sandbox");
  const program = { program: "true", args: [], cwd: world.work, env: {} };
  expect(await startByName.get("a")?.enter?.(program)).toEqual({
    kind: "refused",
    why: "a sandbox is required, and there is none here (bubblewrap is not installed); the user can install it",
  });
  expect(startByName.get("b")?.enter).toBeUndefined();
});
