import { createServer } from "node:http";
import { setTimeout as wait } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { heldToolbox, type HeldToolboxOptions } from "../../../../../test/fixture/sandbox.ts";
import { needsBubblewrap, noBubblewrap } from "../../../../../test/fixture/sandbox-available.ts";
import { toolbox, type Toolbox } from "../../../../../test/fixture/toolbox.ts";
import {
  noUser,
  type PermissionAnswer,
  type PermissionPrompt,
  type UserPort,
} from "palimpsest/internal/ports/user-port";
import { millis } from "palimpsest/internal/schema/brand";
import type { SessionSandbox } from "../sandbox/session-sandbox.ts";
import { type Net, PageCache } from "../web/get-page.ts";
import { findShell } from "./bash-tool.ts";
import { ShellJobs } from "./shell-jobs.ts";

/** Every name leads to this machine, which may be connected to. */
const here: Net = { resolve: () => Promise.resolve([{ address: "127.0.0.1", family: 4 }]), mayConnect: () => true };

const asked: string[] = [];
const web = createServer((request, response) => {
  asked.push(`${request.headers.host?.split(":")[0]}${request.url}`);
  response.end("hello\n");
});
beforeAll(() => new Promise<void>((resolve) => void web.listen(0, "127.0.0.1", resolve)));
afterAll(() => void web.close());
const url = (host: string, path = "/"): string => {
  const address = web.address();
  return `http://${host}:${address !== null && typeof address === "object" ? address.port : 0}${path}`;
};

const node = JSON.stringify(process.execPath);
/** By a program that no table names: it asks for the network itself. */
const fetching = (to: string): string =>
  `${node} -e 'fetch("${to}").then((a) => a.text()).then(console.log, (e) => console.log("none"))'`;

const netBox = (options: HeldToolboxOptions): Promise<Toolbox> =>
  heldToolbox({ mode: "default", allow: ["Bash"], web: { net: here, pages: new PageCache() }, ...options });

interface Answering {
  readonly user: UserPort;
  readonly asks: PermissionPrompt[];
}

function answering(answer: (signal: AbortSignal) => Promise<PermissionAnswer>): Answering {
  const asks: PermissionPrompt[] = [];
  const permission: UserPort["permission"] = (ask, signal) => {
    asks.push(ask);
    return answer(signal);
  };
  return { asks, user: { ...noUser, permission } };
}

test.each<[string, { command: string; network?: boolean }, "a network" | "none"]>([
  ["what says that it connects", { command: "make", network: true }, "a network"],
  ["a program of the table", { command: "npm ci" }, "a network"],
  ["any other command", { command: "make" }, "none"],
  ["what only reads and runs unasked, whatever it says", { command: "ls", network: true }, "none"],
])("%s gets: %3$s", async (_name, input, expected) => {
  const given: string[] = [];
  const use: SessionSandbox["use"] = () => ({ kind: "unheld", because: "off" });
  const enter: SessionSandbox["enter"] = async (_start, { network }) => {
    given.push(network === undefined ? "none" : "a network");
    return { kind: "refused", why: "seen" };
  };
  const box = await toolbox({ sandbox: () => ({ use, enter }), web: { net: here, pages: new PageCache() } });
  await box.call("bash", input);
  const offline = await toolbox({ sandbox: () => ({ use, enter }) });
  await offline.call("bash", input);
  expect(given).toEqual([expected, "none"]);
});

describe.skipIf(noBubblewrap)(`bash: the network of a command: ${needsBubblewrap("in a sandbox")}`, () => {
  test("an allow rule opens its host and no other; what was refused is told with the result", async () => {
    const box = await netBox({ allow: ["Bash", "WebFetch(domain:open.test)"] });
    const command = `${fetching(url("open.test", "/rule"))}; ${fetching(url("other.test", "/rule"))}; exit 3`;
    expect(await box.call("bash", { command, network: true })).toMatchObject({
      isError: true,
      text: "hello\n\nnone\n[exit code 3]\n[no connection to other.test: no rule allows it, and there is nobody to ask]",
    });
    expect(asked.filter((one) => one.endsWith("/rule"))).toEqual(["open.test/rule"]);
  });

  test("the user is asked about a host while the command waits", async () => {
    const { user, asks } = answering(async () => ({ kind: "once" }));
    const box = await netBox({ answering: user });
    const command = `${fetching(url("asked.test"))}; ${fetching(url("asked.test"))}`;
    expect((await box.call("bash", { command, network: true })).text).toBe("hello\n\nhello");
    expect(asks).toMatchObject([
      { tool: "bash", input: { command: `${command.slice(0, 200)}…` }, acts: [{ host: "asked.test" }] },
    ]);
  });

  test("a no is told with the user's words, and a deny rule beats bypass", async () => {
    const { user, asks } = answering(async () => ({ kind: "denied", words: "use the mirror" }));
    const box = await netBox({ answering: user });
    const ran = await box.call("bash", { command: fetching(url("no.test")), network: true });
    expect(ran.text).toBe("none\n[no connection to no.test: the user said no: use the mirror]");
    expect(asks).toHaveLength(1);
    const bypass = await netBox({ mode: "bypass", deny: ["WebFetch(domain:no.test)"] });
    const lines = `${fetching(url("no.test"))}; ${fetching(url("yes.test"))}`;
    expect((await bypass.call("bash", { command: lines, network: true })).text).toBe(
      "none\nhello\n[no connection to no.test: the rule WebFetch(domain:no.test) forbids it]",
    );
  });

  test("programs of the table need not ask for it; without it there is no network, and no proxy is named", async () => {
    const box = await netBox({ allow: ["Bash", "WebFetch(domain:git.test)"] });
    await box.call("bash", { command: `git ls-remote ${url("git.test", "/by-git")} 2>&1` });
    expect(asked.filter((one) => one.includes("by-git"))).toHaveLength(1);
    const off = await box.call("bash", { command: `${fetching(url("git.test", "/off"))}; echo "[$HTTP_PROXY]"` });
    expect(off.text).toBe("none\n[]");
    expect(asked.filter((one) => one.includes("/off"))).toEqual([]);
    const failed = await box.call("bash", { command: `${node} -e 'fetch("http://git.test")'` });
    expect(failed.text).toContain("[commands in the sandbox have no network; if this one needs it");
  });

  test("folder, exit code, what was left running, time limit and interrupt are as without it", async () => {
    const box = await netBox({});
    expect((await box.call("bash", { command: "mkdir -p a; cd a; exit 4", network: true })).text).toBe("[exit code 4]");
    expect((await box.call("bash", { command: "pwd", network: true })).text).toBe(`${box.project}/a`);
    const left = await box.call("bash", { command: "sleep 30 & echo started", network: true });
    expect(left.text).toBe("started\n[Processes it left in the background were ended.]");
    const limited = { command: "trap 'echo asked; exit 1' TERM; sleep 30 & wait", network: true, timeout_ms: 1500 };
    expect((await box.call("bash", limited)).text).toMatch(/^asked\n\[ended after 1500 ms/);
    expect((await box.call("bash", { command: "kill -9 $$", network: true })).text).toMatch(/137|SIGKILL/);
  });

  test("an interrupt takes the question away, ends the command and counts as nobody's answer", async () => {
    const stop = new AbortController();
    const gone = Promise.withResolvers<void>();
    const { user } = answering((signal) => {
      signal.addEventListener("abort", () => gone.resolve());
      setTimeout(() => stop.abort(), 50);
      return new Promise(() => undefined);
    });
    const box = await netBox({ answering: user });
    const command = { command: fetching(url("slow.test")), network: true };
    const ran = await box.call("bash", command, { signal: stop.signal });
    expect(ran.text).toContain("[interrupted]");
    await gone.promise;
  });

  test("a job has it too, and is told what was refused at its end", async () => {
    const jobs = new ShellJobs({ shell: (await findShell()).path, now: () => millis(Date.now()) });
    onTestFinished(() => jobs.close());
    const box = await netBox({ jobs, allow: ["Bash", "WebFetch(domain:open.test)"] });
    const command = `${fetching(url("open.test"))}; ${fetching(url("other.test"))}`;
    await box.call("bash", { command, network: true, background: true });
    const [job] = jobs.list();
    while (jobs.list()[0]?.state.kind === "running") await wait(20);
    expect(jobs.look(job?.id ?? "")).toMatchObject({
      output: "hello\n\nnone\n\n[no connection to other.test: no rule allows it, and there is nobody to ask]",
    });
  });

  test("secret files stay hidden and the project's guarded ones unchanged from a command with a network", async () => {
    const box = await netBox({});
    const command =
      "touch .git/hooks/x 2>&1; mkdir -p .git/hooks 2>&1; touch /usr/x 2>&1; ls ~/.ssh 2>&1 | head -1; true";
    const ran = await box.call("bash", { command, network: true });
    expect(ran.text).toMatch(/Read-only file system/);
  });
});
