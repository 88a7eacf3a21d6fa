import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { createInterface } from "node:readline";
import { describe, expect, it, onTestFinished } from "vitest";
import { faultKinds } from "../../packages/simulator/src/fault/fault.ts";
import { called } from "./support/called.ts";
import { served } from "./support/simulated.ts";

const launcher = resolve(import.meta.dirname, "../../bin/palimpsest");
const folder = (): string => mkdtempSync(join(tmpdir(), "simulate-"));

interface Running {
  readonly url: string;
  readonly stop: () => Promise<number | null>;
}

/** Starts `palimpsest simulate` and waits for its first line. */
async function simulate(...args: readonly string[]): Promise<Running> {
  const child = spawn(process.execPath, [launcher, "simulate", "--port", "0", ...args], {
    env: { ...process.env, HOME: folder() },
    stdio: ["ignore", "pipe", "pipe"],
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  const [url] = (await once(createInterface({ input: child.stdout }), "line")) as [string];
  const stop = async (): Promise<number | null> => {
    const exited = once(child, "exit") as Promise<[number | null]>;
    child.kill("SIGINT");
    return (await exited)[0];
  };
  return { url, stop };
}

async function ask(url: string, content: string, headers: Record<string, string> = {}): Promise<unknown> {
  const response = await fetch(`${url}/v1/messages`, {
    method: "POST",
    headers: { "content-type": "application/json", "x-api-key": "any", "anthropic-version": "2023-06-01", ...headers },
    body: JSON.stringify({ model: "claude-sonnet-5-5", max_tokens: 300, messages: [{ role: "user", content }] }),
  });
  return response.json();
}

describe("palimpsest simulate", () => {
  it("prints its base URL first, answers by its scenario until it is stopped, and leaves a trace of its own", async () => {
    const home = folder();
    const scenario = join(home, "scenario.yaml");
    writeFileSync(scenario, "name: two\nmoves:\n  - text: One.\n  - fault: overloaded\n  - text: Two.\n");
    const trace = join(home, "trace.jsonl");
    const { url, stop } = await simulate("--scenario", scenario, "--trace", trace);
    expect(url).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
    expect(await ask(url, "Start")).toMatchObject({ content: [{ text: "One." }] });
    expect(await ask(url, "Go on")).toMatchObject({ error: { type: "overloaded_error" } });
    expect(await ask(url, "Go on")).toMatchObject({ content: [{ text: "Two." }] });
    expect(await stop()).toBe(0);
    expect(statSync(trace).mode & 0o777).toBe(0o600);
    expect(readFileSync(trace, "utf8").match(/"type":"reply"/g)).toHaveLength(3);
    const listed = await called({ home }, "trace", "list", trace);
    expect(listed.code).toBe(0);
  });

  it("answers with the replies of a recorded session", async () => {
    const home = folder();
    const log = join(home, "session.jsonl");
    const entry = (uuid: string, parentUuid: string | null, type: string, message: object): string =>
      JSON.stringify({ type, uuid, parentUuid, sessionId: "s", timestamp: "2026-01-01T00:00:00.000Z", message });
    const lines = [
      entry("a", null, "user", { role: "user", content: "Hello" }),
      entry("b", "a", "assistant", {
        id: "msg_1",
        role: "assistant",
        model: "claude-sonnet-5",
        content: [{ type: "text", text: "As it was said then." }],
      }),
    ];
    writeFileSync(log, `${lines.join("\n")}\n`);
    const { url, stop } = await simulate("--replay", log);
    expect(await ask(url, "Hello")).toMatchObject({ content: [{ text: "As it was said then." }] });
    expect(await stop()).toBe(0);
  });

  it("lets requests fail by chance, the same ones for the same seed", async () => {
    const outcomes = async (): Promise<string> => {
      const { url, stop } = await simulate("--fault", "overloaded 0.5", "--seed", "3");
      const types: string[] = [];
      for (let at = 0; at < 12; at += 1)
        types.push(JSON.stringify(await ask(url, "Hi")).includes("overloaded") ? "x" : ".");
      await stop();
      return types.join("");
    };
    const first = await outcomes();
    expect(first).toMatch(/x/);
    expect(first).toMatch(/\./);
    expect(await outcomes()).toBe(first);
  });

  it.each<[string, readonly string[], RegExp, number]>([
    ["two who answer", ["--actor", "echo", "--replay", "x"], /only one can answer/, 2],
    ["a responder that is none", ["--responder", "parrot"], /no responder called parrot/, 2],
    ["under the older name too", ["--actor", "parrot"], /no responder called parrot/, 2],
    ["a scenario that is not there", ["--scenario", "nowhere.yaml"], /no file is called nowhere\.yaml$/, 3],
    ["a module that is not there", ["--scenario", "nowhere.ts"], /no file is called nowhere\.ts$/, 3],
    ["a trace in no folder", ["--trace", "/nowhere/x.jsonl"], /no folder for the trace \/nowhere\/x\.jsonl$/, 3],
    ["a session that is not there", ["--replay", "nowhere"], /no session or file/, 3],
    ["a fault that is none", ["--fault", "earthquake 0.1"], /earthquake/, 2],
    ["a port that is none", ["--port", "x"], /no port/, 2],
    ["a clock that is none", ["--clock", "sand"], /no clock called sand/, 2],
  ])("refuses %s in one line", async (_, args, message, code) => {
    const said = await called({ home: folder() }, "simulate", ...args);
    expect(said.err.split("\n")[0]).toMatch(message);
    expect(said.code).toBe(code);
    expect(said.out).toBe("");
  });

  it("says everything that is wrong with a scenario, up to a hundred lines", async () => {
    const home = folder();
    const file = join(home, "wrong.yaml");
    const wrong = async (moves: number): Promise<readonly string[]> => {
      writeFileSync(file, `name: wrong\nmoves:\n${Array.from({ length: moves }, () => "  - text: 3\n").join("")}`);
      const said = await called({ home }, "simulate", "--scenario", file);
      expect([said.code, said.out]).toEqual([2, ""]);
      return said.err.trimEnd().split("\n");
    };
    const lines = await wrong(7);
    expect(lines.slice(0, 7)).toEqual(
      Array.from({ length: 7 }, (_, at) => `error: ${file}:${at + 3}:5: moves[${at}].text: expected a text`),
    );
    expect(lines.slice(7)).toEqual([
      `palimpsest: ${file} has 7 problems`,
      expect.stringContaining("palimpsest help simulate"),
    ]);
    expect(await wrong(1)).toHaveLength(2);
    expect(await wrong(1001)).toHaveLength(102);
  });

  it("help lists every fault with its usual number, and the fields of a scenario", async () => {
    const { out } = await called({ home: folder() }, "help", "simulate");
    for (const kind of faultKinds) expect(out).toContain(kind);
    expect(out).toContain("break [after=5], break-utf8, overloaded-midway [after=3]");
    expect(out).toMatch(/of a condition: lastUser anyText/);
  });

  it("refuses a port that is in use, and a trace that is there already", async () => {
    const { url } = await served();
    const busy = await called({ home: folder() }, "simulate", "--port", new URL(url).port);
    expect([busy.code, busy.err]).toEqual([4, expect.stringContaining(`port ${new URL(url).port} is in use`)]);
    const trace = join(folder(), "trace.jsonl");
    writeFileSync(trace, "mine\n");
    const kept = await called({ home: folder() }, "simulate", "--port", "0", "--trace", trace);
    expect(kept.code).toBe(5);
    expect(readFileSync(trace, "utf8")).toBe("mine\n");
  });
});
