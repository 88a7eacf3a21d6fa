import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { createServer, type RequestListener } from "node:http";
import { dirname, join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { openAgent } from "../../packages/cli/src/agent/open-agent.ts";
import { noUser, type PermissionPrompt, type UserPort } from "../../packages/palimpsest/src/ports/user-port.ts";
import { findSandbox } from "../../packages/cli/src/tool/sandbox/find-sandbox.ts";
import { type Net, PageCache } from "../../packages/cli/src/tool/web/get-page.ts";
import { temporaryFolder } from "../contract/temporary-folder.ts";
import { heldToolbox } from "../fixture/sandbox.ts";
import { needsBubblewrap, noBubblewrap } from "../fixture/sandbox-available.ts";
import { playing, says } from "./support/simulated.ts";
import { agentWorld, turn } from "./support/whole-agent.ts";

/** Every name leads to this machine, which may be connected to. */
const here: Net = { resolve: async () => [{ address: "127.0.0.1", family: 4 }], mayConnect: () => true };

async function serving(answer: RequestListener): Promise<number> {
  const server = createServer(answer).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  const address = server.address();
  return typeof address === "object" && address !== null ? address.port : 0;
}

/** One package, as a registry has it. */
async function registry(folder: string): Promise<number> {
  await mkdir(join(folder, "package"));
  await writeFile(join(folder, "package/package.json"), '{"name":"sluice","version":"1.0.0","main":"main.js"}');
  await writeFile(join(folder, "package/main.js"), 'module.exports = "from the registry";');
  execFileSync("tar", ["czf", "sluice.tgz", "package"], { cwd: folder });
  const packed = await readFile(join(folder, "sluice.tgz"));
  const integrity = `sha512-${createHash("sha512").update(packed).digest("base64")}`;
  return await serving(({ url = "", headers: { host } }, response) => {
    if (url.endsWith(".tgz")) return void response.end(packed);
    if (url !== "/sluice") return void response.writeHead(404).end("{}");
    const dist = { tarball: `http://${host}/sluice.tgz`, integrity };
    const versions = { "1.0.0": { name: "sluice", version: "1.0.0", main: "main.js", dist } };
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify({ name: "sluice", "dist-tags": { latest: "1.0.0" }, versions }));
  });
}

/** A repository as files, which git can clone as well. */
async function repositoryServer(folder: string): Promise<number> {
  const git = (cwd: string, ...args: readonly string[]) => execFileSync("git", args, { cwd, stdio: "ignore" });
  const work = join(folder, "work");
  await mkdir(work);
  git(work, "init", "-q");
  await writeFile(join(work, "file"), "cloned\n");
  git(work, "add", "-A");
  git(work, "-c", "user.name=n", "-c", "user.email=e@e", "commit", "-qm", "one");
  git(folder, "clone", "-q", "--bare", work, "served.git");
  git(join(folder, "served.git"), "update-server-info");
  return await serving(({ url = "" }, response) => {
    const path = new URL(url, "http://x").pathname;
    readFile(join(folder, path)).then(
      (bytes) => response.end(bytes),
      () => response.writeHead(404).end(),
    );
  });
}

describe.skipIf(noBubblewrap)(`the network of commands: ${needsBubblewrap("in a sandbox")}`, () => {
  test("npm installs and git clones from hosts of allow rules, without a question", async () => {
    const folder = await temporaryFolder();
    const [packages, repository] = [await registry(folder), await repositoryServer(folder)];
    const env = { ...process.env, PATH: `${dirname(process.execPath)}:${process.env["PATH"]}` };
    const allow = ["Bash(npm:*)", "Bash(git clone:*)", "Bash(node:*)"];
    const hosts = ["WebFetch(domain:registry.test)", "WebFetch(domain:git.test)"];
    const web = { net: here, pages: new PageCache() };
    const box = await heldToolbox({ mode: "default", allow: [...allow, ...hosts], env, web });
    await writeFile(join(box.project, "package.json"), '{"name":"p","version":"1.0.0"}');
    const from = `--registry http://registry.test:${packages} --no-audit --no-fund`;
    const installed = await box.call("bash", { command: `npm install sluice ${from}` });
    expect(installed.text).toContain("added 1 package");
    expect((await box.call("bash", { command: `node -p 'require("sluice")'` })).text).toBe("from the registry");
    await box.call("bash", { command: `git clone -q http://git.test:${repository}/served.git cloned` });
    expect((await box.call("bash", { command: "cat cloned/file" })).text).toBe("cloned");
  });

  test("the user's yes for the project opens the host from then on, and is kept as a rule", async () => {
    const port = await serving((_request, response) => void response.end("a page"));
    const fetching = `${JSON.stringify(process.execPath)} -e 'fetch("http://asked.test:${port}/").then((a) => a.text()).then(console.log)'`;
    const call = { type: "tool_use", name: "bash", input: { command: fetching, network: true } } as const;
    const world = await agentWorld({ responder: playing([call], [call], says("Done.")) });
    const asks: PermissionPrompt[] = [];
    const user: UserPort = {
      ...noUser,
      permission: async (ask) => {
        asks.push(ask);
        return { kind: "always", rules: ask.suggestedRules ?? [], scope: "project" };
      },
    };
    const { env, work: cwd } = world;
    const opened = await openAgent({
      env,
      cwd,
      version: "0.0.0",
      flags: [],
      session: { kind: "new" },
      model: { kind: "provider" },
      tools: { allow: ["Bash"], deny: [] },
      sandbox: await findSandbox({ env, folder: join(world.home, "sandbox") }),
      net: here,
      user,
    });
    if (opened.kind !== "agent") throw new Error(JSON.stringify(opened));
    onTestFinished(() => opened.close());
    await turn(opened, "Fetch it.");
    expect(JSON.stringify(world.seen.at(-1)?.body["messages"]).match(/a page/g)).toHaveLength(2);
    expect(asks.map(({ suggestedRules, acts }) => ({ suggestedRules, acts }))).toEqual([
      {
        suggestedRules: ["WebFetch(domain:asked.test)"],
        acts: [{ kind: "fetch", url: `http://asked.test:${port}/`, host: "asked.test" }],
      },
    ]);
    expect(await readFile(join(world.home, "settings.json"), "utf8")).toContain("WebFetch(domain:asked.test)");
  });
});
