import { randomUUID } from "node:crypto";
import { globSync, readFileSync } from "node:fs";
import { mkdir, mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileStore, openContext } from "palimpsest";
import { beforeEach, describe, expect, it } from "vitest";
import { called } from "./support/called.ts";

/** A project in which the agent had a session, and after it a program that uses the library. */
async function createWorld() {
  const folder = await mkdtemp(join(tmpdir(), "own-sessions-"));
  const [home, cwd] = [join(folder, "home"), join(folder, "project")];
  for (const path of [home, cwd]) await mkdir(path);
  const env = { ANTHROPIC_API_KEY: "" };
  const call = (...argv: readonly string[]) => called({ home, cwd, env }, ...argv);
  const ask = (...argv: readonly string[]) => call("-p", "--model", "simulator", "--output-format", "json", ...argv);
  const first = await ask("first words");
  expect(first.code, first.err).toBe(0);
  const { session_id: own } = JSON.parse(first.out) as { readonly session_id: string };
  const [log = ""] = globSync(join(home, "projects/*/*.jsonl"));

  const store = fileStore({ folder: join(log, "..") });
  const program = randomUUID();
  const options = { model: "claude-sonnet-5-5", system: "You are the program.", store, session: program };
  const context = await openContext(options);
  await context.user("words of the program");
  await context.close();
  const read = (): string => readFileSync(join(log, "..", `${program}.jsonl`), "utf8");
  return { call, ask, own, program, read };
}

describe("sessions of other programs", () => {
  let world: Awaited<ReturnType<typeof createWorld>>;
  beforeEach(async () => {
    world = await createWorld();
  });

  const sessionOf = (out: string): string => (JSON.parse(out) as { readonly session_id: string }).session_id;

  it("--continue passes them over, and takes the agent's newest", async () => {
    const { ask, call, own, program, read } = world;
    const before = read();
    const listed = JSON.parse((await call("sessions", "list", "--json")).out) as { readonly sessionId: string }[];
    expect(listed.map(({ sessionId }) => sessionId)).toEqual([program, own]);
    const continued = await ask("--continue", "more words");
    expect([continued.code, continued.err]).toEqual([0, ""]);
    expect(sessionOf(continued.out)).toBe(own);
    expect(read()).toBe(before);
  });

  it("--resume refuses them, after an undo or a pin too, and --fork continues a copy", async () => {
    const { ask, call, program, read } = world;
    const entry = /"uuid":"([^"]+)"/.exec(
      read()
        .split("\n")
        .find((line) => line.includes("words of the program")) ?? "",
    );
    expect((await call("pin", program, entry?.[1] ?? "")).code).toBe(0);
    const before = read();
    expect(before).toContain('"version":"0');
    const refused = await ask("--resume", program, "more words");
    expect([refused.code, refused.err]).toEqual([5, expect.stringContaining("a program that uses the library")]);
    expect(refused.err).toContain(`palimpsest view ${program}`);
    expect(read()).toBe(before);

    const forked = await ask("--resume", program, "--fork", "more words");
    expect(forked.code, forked.err).toBe(0);
    expect(read()).toBe(before);
    const continued = await ask("--continue", "still more");
    expect(sessionOf(continued.out)).toBe(sessionOf(forked.out));
  });

  it("a chat refuses them likewise", async () => {
    const { call, program, read } = world;
    const before = read();
    const chat = await call("--no-tui", "--model", "simulator", "--resume", program);
    expect([chat.code, chat.err]).toEqual([5, expect.stringContaining("a program that uses the library")]);
    expect(read()).toBe(before);
  });
});
