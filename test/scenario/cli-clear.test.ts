import { globSync, readFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { main } from "../../packages/cli/src/main.ts";
import type { SessionId } from "../../packages/palimpsest/src/schema/brand.ts";
import type { MoveBlock } from "../../packages/simulator/src/responder/responder.ts";
import { expectRefusal } from "./support/cli-world.ts";
import { palimpsest } from "./support/command-line.ts";
import { slashWorld } from "./support/slash-world.ts";
import { type AgentWorld, agentWorld, turn } from "./support/whole-agent.ts";

interface Called {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

interface Cleared {
  readonly edit: string | null;
  readonly results: number;
  readonly because: string | null;
}

interface Scene {
  readonly id: SessionId;
  readonly world: AgentWorld;
  readonly call: (...args: readonly string[]) => Promise<Called>;
  readonly view: () => Promise<string>;
}

/** A session in which so many files of some thousand tokens were read, one after the other. */
async function scene(files: number): Promise<Scene> {
  const says: MoveBlock[][] = [];
  const word: MoveBlock[] = [{ type: "text", text: "Seen." }];
  const world = await agentWorld(
    { responder: { name: "reader", respond: () => ({ move: { kind: "say", blocks: says.shift() ?? word } }) } },
    { DISABLE_MICROCOMPACT: "1" },
  );
  for (let at = 0; at < files; at += 1) {
    await writeFile(join(world.work, `${at}.txt`), `file ${at}: ${"many words ".repeat(170)}\n`.repeat(3));
    says.push([{ type: "tool_use", name: "read", input: { path: `${at}.txt` } }]);
  }
  const agent = await world.open({ kind: "new" }, "claude-sonnet-5-5");
  await turn(agent, "Look.");
  await agent.close();
  const { id } = agent.session;
  const call: Scene["call"] = async (...argv) => {
    const [stdin, stdout, stderr] = [new PassThrough(), new PassThrough(), new PassThrough()];
    const texts = { out: "", err: "" };
    stdout.on("data", (data: Buffer) => (texts.out += data.toString()));
    stderr.on("data", (data: Buffer) => (texts.err += data.toString()));
    stdin.end();
    const env = { PATH: process.env["PATH"], NO_COLOR: "1", PALIMPSEST_HOME: world.home };
    const code = await main({ argv, stdin, stdout, stderr, env, cwd: world.work });
    return { code, ...texts };
  };
  const view = async (): Promise<string> =>
    JSON.stringify((JSON.parse((await call("view", id, "--json")).out) as { messages: unknown }).messages);
  return { id, world, call, view };
}

const reported = ({ code, out, err }: Called): Cleared => {
  expect(code, err).toBe(0);
  return JSON.parse(out) as Cleared;
};

describe("palimpsest clear", () => {
  it("clears the oldest results down to the target, however little that saves, and an undo brings them back", async () => {
    const { id, call, view } = await scene(8);
    const before = await view();
    const cleared = reported(await call("clear", id, "--target", "6000", "--json"));
    expect(cleared.results).toBeGreaterThan(0);
    expect(cleared.results).toBeLessThan(5);
    expect(cleared.because).toMatch(/^by hand: /);
    const after = await view();
    expect([0, 7].map((at) => after.includes(`file ${at}: many`))).toEqual([false, true]);
    expect((await call("receipts", id)).out).toContain("by hand");
    expect((await call("undo", id, cleared.edit ?? "")).code).toBe(0);
    // Behind it stands what opening the session has told.
    expect((await view()).startsWith(before.slice(0, -1))).toBe(true);
  });

  it("never clears the newest three, and says where there is nothing to clear or the target is none", async () => {
    const { id, call, view } = await scene(5);
    expect((await call("clear", id, "--target", "0")).out).toMatch(
      new RegExp(`^Cleared 2 results: .* tokens less\\.\\n  context .* → .*\\n[^]*to go back: palimpsest undo ${id} `),
    );
    const shown = await view();
    expect([0, 1, 2, 3, 4].map((at) => shown.includes(`file ${at}: many`))).toEqual([false, false, true, true, true]);
    expect((await call("clear", id)).out).toMatch(/^nothing to clear: /);
    expect(reported(await call("clear", id, "--json"))).toMatchObject({ edit: null, results: 0 });
    expect(await call("clear", id, "--target", "half")).toMatchObject({ code: 2, out: "" });
  });

  it.skipIf(process.platform === "win32")(
    "ends with 6 if the disk refuses, and clears nothing (skipped where there is no ulimit)",
    async () => {
      const { id, world, call } = await scene(8);
      // What opening a session writes is written now.
      expect((await call("clear", id, "--target", "900000")).out).toMatch(/^nothing to clear: /);
      const [log = ""] = globSync(join(world.home, `projects/*/${id}.jsonl`));
      const before = readFileSync(log);
      const fileBlocksMax = Math.ceil(before.length / 512);
      const refused = await palimpsest(
        { home: world.home, cwd: world.work, fileBlocksMax },
        "clear",
        id,
        "--target",
        "0",
      );
      expectRefusal(refused, 6, /Can't write .*\.jsonl \(the file size limit is reached/);
      expect(readFileSync(log).subarray(0, before.length).equals(before)).toBe(true);
      expect(reported(await call("clear", id, "--target", "0", "--json"))).toMatchObject({ results: 5 });
    },
  );
});

describe("/clear-results in the chat", () => {
  it("clears down to a target, says what that changed, and /undo takes it back", async () => {
    const { id, world, view } = await scene(5);
    const agent = await world.open({ kind: "resume", id }, "claude-sonnet-5-5");
    onTestFinished(() => agent.close());
    const chat = slashWorld(world, agent);
    const shown = async () => {
      const text = await view();
      return [0, 1, 2, 3, 4].map((at) => text.includes(`file ${at}: many`));
    };
    await chat.run("/clear-results half");
    expect(chat.said()).toBe(
      '/clear-results takes a whole number of tokens, not "half". For example /clear-results 20000.',
    );
    await chat.run("/clear-results");
    expect(chat.said()).toMatch(/^Nothing to clear: tool results have 40,000 tokens or less/);
    await chat.run("/clear-results 0");
    expect(chat.said()).toMatch(
      /^Cleared 2 results: [\d,]+ tokens less\.\nContext: [\d,]+ → [\d,]+ tokens\. \/undo brings the results back\.$/,
    );
    expect(await shown()).toEqual([false, false, true, true, true]);
    await chat.run("/undo");
    expect(await shown()).toEqual([true, true, true, true, true]);
  });

  it("says so if the disk refuses", async () => {
    const { id, world } = await scene(5);
    const agent = await world.open({ kind: "resume", id }, "claude-sonnet-5-5");
    onTestFinished(() => agent.close());
    const chat = slashWorld(world, agent);
    const message = "Can't write the log (the disk is full)";
    vi.spyOn(agent.session, "edit").mockResolvedValue({ kind: "failed", why: "disk-full", message });
    await chat.run("/clear-results 0");
    expect(chat.said()).toBe(`It could not be written: ${message}`);
  });
});
