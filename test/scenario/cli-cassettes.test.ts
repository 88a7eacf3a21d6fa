import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readdirSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { createInterface } from "node:readline";
import { describe, expect, it, onTestFinished } from "vitest";
import { readCassetteFolder } from "../../packages/simulator/src/cassette/read-cassette-folder.ts";
import { realClock } from "../../packages/simulator/src/simulator-clock.ts";
import { called } from "./support/called.ts";
import { playing, says, served } from "./support/simulated.ts";

const launcher = resolve(import.meta.dirname, "../../bin/palimpsest");
const folder = (): string => mkdtempSync(join(tmpdir(), "cassettes-"));

interface Running {
  readonly url: string;
  readonly told: () => string;
  readonly stop: (signal: NodeJS.Signals) => Promise<number | null>;
}

async function simulate(...args: readonly string[]): Promise<Running> {
  const child = spawn(process.execPath, [launcher, "simulate", "--port", "0", ...args], {
    env: { ...process.env, HOME: folder() },
    stdio: ["ignore", "pipe", "pipe"],
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  let told = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => void (told += text));
  const [url] = (await once(createInterface({ input: child.stdout }), "line")) as [string];
  const stop = async (signal: NodeJS.Signals): Promise<number | null> => {
    const exited = once(child, "exit") as Promise<[number | null]>;
    child.kill(signal);
    return (await exited)[0];
  };
  return { url, told: () => told, stop };
}

const asks = (url: string, content: string, headers: Record<string, string> = {}): Promise<Response> =>
  fetch(`${url}/v1/messages`, {
    method: "POST",
    headers: { "content-type": "application/json", "x-api-key": "any", "anthropic-version": "2023-06-01", ...headers },
    body: JSON.stringify({
      model: "claude-sonnet-5-5",
      max_tokens: 300,
      stream: true,
      messages: [{ role: "user", content }],
    }),
  });

describe("palimpsest simulate with cassettes", () => {
  it("records in front of a base URL, then answers without it", async () => {
    const { url: upstream } = await served({ responder: playing(says("One."), says("Two.")) });
    const into = join(folder(), "new", "kept");
    const recorder = await simulate("--record", into, "--upstream", upstream);
    const original = [await (await asks(recorder.url, "1")).text(), await (await asks(recorder.url, "2")).text()];
    expect(recorder.told()).toContain(`${upstream} answers; cassettes go to ${into}`);
    expect(await recorder.stop("SIGINT")).toBe(0);
    writeFileSync(join(into, "0003.jsonl"), "{}\n");
    const player = await simulate("--cassette", into);
    expect([await (await asks(player.url, "1")).text(), await (await asks(player.url, "2")).text()]).toEqual(original);
    expect((await asks(player.url, "3")).status).toBe(404);
    expect(await player.stop("SIGTERM")).toBe(0);
    expect(player.told()).toMatch(
      /not used: 0003\.jsonl:1: .*\n2 cassettes of .* answer.*\nNo cassette answers .*0001\.jsonl/,
    );
  });

  it("killed, has lost nothing but what was under way", async () => {
    const { url: upstream } = await served({
      clock: realClock(),
      responder: playing(says("Much to be said, slowly.")),
    });
    const into = folder();
    const recorder = await simulate("--record", into, "--upstream", upstream);
    for (const content of ["1", "2", "3"]) await (await asks(recorder.url, content)).text();
    const slow = await asks(recorder.url, "4", { "x-simulator-fault": "trickle every=10000" });
    await slow.body?.getReader().read();
    await recorder.stop("SIGKILL");
    expect(readdirSync(into)).toEqual(["0001.jsonl", "0002.jsonl", "0003.jsonl"]);
    const read = await readCassetteFolder(into);
    expect(read).toMatchObject({ problems: [], cassettes: [{}, {}, { cassette: { ending: { end: "whole" } } }] });
  });

  it("stopped in the middle of an exchange, keeps what came of it", async () => {
    const { url: upstream } = await served({
      clock: realClock(),
      responder: playing(says("Much to be said, slowly.")),
    });
    const into = folder();
    const recorder = await simulate("--record", into, "--upstream", upstream);
    const slow = await asks(recorder.url, "1", { "x-simulator-fault": "trickle every=10000" });
    await slow.body?.getReader().read();
    expect(await recorder.stop("SIGTERM")).toBe(0);
    expect(await readCassetteFolder(into)).toMatchObject({ cassettes: [{ cassette: { ending: { end: "aborted" } } }] });
  });

  const upstream = ["--upstream", "http://127.0.0.1:9"];
  it.each<[string, readonly string[], RegExp, number]>([
    ["--record without an upstream", ["--record", "x"], /--record needs to know who answers/, 2],
    ["an upstream without --record", upstream, /--upstream says where --record/, 2],
    ["an upstream that is none", ["--record", "x", "--upstream", "nowhere"], /nowhere is no base URL/, 2],
    ["an upstream of another kind", ["--record", "x", "--upstream", "file:///x"], /is no base URL/, 2],
    ["an upstream with a password", ["--record", "x", "--upstream", "http://u:p@h"], /holds no password/, 2],
    ["--record with --scenario", ["--record", "x", ...upstream, "--scenario", "y"], /goes without --scenario$/, 2],
    ["--record with --replay", ["--record", "x", ...upstream, "--replay", "y"], /goes without --replay$/, 2],
    ["--record with --cassette", ["--record", "x", ...upstream, "--cassette", "y"], /goes without --cassette$/, 2],
    ["--cassette with --fault", ["--cassette", "x", "--fault", "hang 1"], /--cassette goes without --fault$/, 2],
    ["--cassette with --trace and --seed", ["--cassette", "x", "--trace", "y", "--seed", "1"], /--seed, --trace$/, 2],
    ["a speed without --cassette", ["--cassette-speed", "real"], /--cassette-speed says how fast/, 2],
    ["a speed that is none", ["--cassette", "x", "--cassette-speed", "fast"], /no speed called fast/, 2],
    ["a folder that is not there", ["--cassette", "/nowhere/at/all"], /no folder is called \/nowhere\/at\/all/, 3],
    ["a folder without a cassette", ["--cassette", folder()], /holds no cassette that can be read/, 3],
    ["a file for a folder", ["--cassette", launcher], /is no folder/, 5],
    ["a file to record into", ["--record", launcher, ...upstream], /is no folder/, 5],
  ])("refuses %s", async (_, args, message, code) => {
    const said = await called({ home: folder() }, "simulate", ...args);
    expect(said.err.split("\n")[0]).toMatch(message);
    expect(said.code).toBe(code);
    expect(said.out).toBe("");
  });
});
