import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, readdir } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { describe, expect, it, vi } from "vitest";
import { testTerminal } from "../terminal/in-test.ts";
import { palimpsest } from "./support/command-line.ts";

// It starts a dozen processes: beside other tests they share the cores.
vi.setConfig({ testTimeout: 180_000 });

async function world() {
  const home = await mkdtemp(join(tmpdir(), "demo-home-"));
  const tmp = join(home, "tmp");
  await mkdir(tmp);
  return { home, tmp, env: { HOME: home, USERPROFILE: home, TMPDIR: tmp, TEMP: tmp, TMP: tmp } };
}

const chapters = [
  "A failing test",
  "A log that no window should hold",
  "Longer than the window",
  "Refused",
  "Killed",
  "Recall",
  "Compact, undo, redo",
  "What happened",
  "The bill",
];

const claims =
  "before after offload pin compacted restored pinned refused release torn resumed hidden recalled proposed carried undone redone layers window audit lost expanded saved";

it("the demo ends well without a terminal, a home and git, says only what is so, and leaves nothing behind", async () => {
  const { home, tmp, env } = await world();
  const { code, out, err } = await palimpsest({ home: join(home, ".palimpsest"), cwd: home, env }, "demo");
  expect({ code, err }).toEqual({ code: 0, err: "" });
  expect(out).not.toMatch(/NOT SO|undefined|NaN|unknown/);
  expect(out).not.toContain("\u001B");
  expect([...out.matchAll(/^\d {2}(?<name>.+)$/gm)].map((one) => one.groups?.["name"])).toEqual(chapters);
  const claimed = [...out.matchAll(/^ {2}(?<label>\w+) +✓ /gm)].map((one) => one.groups?.["label"]);
  expect(claimed.join(" ")).toBe(claims);
  // The test fails before the line is changed and passes after it.
  const steps = [
    /before +✓ 25 tests pass, 1 fails/,
    /✗ bash node --test/,
    /- .*offsetMinutes \* 1_000/,
    /\+ .*minutes\(offsetMinutes\)/,
    /● bash node --test/,
    /after +✓ 27 tests pass/,
  ];
  const places = steps.map((step) => out.search(step));
  expect(places).not.toContain(-1);
  expect(places).toEqual(places.toSorted((one, other) => one - other));
  // Every automatic edit has a receipt, and so have the pin, the boundary by hand, its undo and its redo.
  const receipts = /^8 {2}What happened[^]*?(?=^9 )/m.exec(out)?.[0] ?? "";
  const kinds = [...receipts.matchAll(/^ {2}(?<kind>offload|clear|boundary|pin|repair|undo) /gm)];
  expect(new Set(kinds.map((one) => one.groups?.["kind"]))).toEqual(
    new Set(["offload", "clear", "boundary", "pin", "repair", "undo"]),
  );
  expect(out.match(/^◆ Compacted: /gm)?.length).toBe(receipts.match(/^ {2}boundary \(auto\)/gm)?.length);
  // The session is gone when somebody could copy it.
  expect(out).not.toContain("palimpsest undo ");
  expect(await readdir(tmp)).toEqual([]);
  expect(await readdir(home)).toEqual(["tmp"]);
});

it("a speed that there is not is refused", async () => {
  const { home, env } = await world();
  const { code, err } = await palimpsest(
    { home: join(home, ".palimpsest"), cwd: home, env },
    "demo",
    "--speed",
    "warp",
  );
  expect(code).toBe(2);
  expect(err).toContain("no speed is called warp");
});

it("a demo that is stopped removes its folder too", async () => {
  const { home, tmp, env } = await world();
  const launcher = resolve(import.meta.dirname, "../../bin/palimpsest");
  const child = spawn(process.execPath, [launcher, "demo"], {
    env: { ...process.env, ...env },
    cwd: home,
    stdio: ["ignore", "pipe", "ignore"],
  });
  const ended = once(child, "exit");
  let out = "";
  for await (const text of child.stdout.setEncoding("utf8")) {
    const isFirst = !out.includes("● skill");
    out += String(text);
    // A second request would end it at once.
    if (isFirst && out.includes("● skill")) child.kill("SIGINT");
  }
  expect(await ended).toEqual([1, null]);
  expect(await readdir(tmp)).toEqual([]);
});

const launched = async (more: Readonly<Record<string, string>> = {}) => {
  const { home, tmp, env } = await world();
  const launcher = resolve(import.meta.dirname, "../../bin/palimpsest");
  const terminal = testTerminal({
    command: process.execPath,
    args: [launcher, "demo"],
    cwd: home,
    env: { ...env, ...more },
  });
  return { terminal, tmp };
};

describe.skipIf(process.platform === "win32")("the demo at a terminal", () => {
  it.each(["q", "\u0003"])("ends by %j, removes its folder and gives the terminal back", async (key) => {
    const { terminal, tmp } = await launched();
    await terminal.waitFor("context [");
    terminal.type(key);
    expect(await terminal.exited).toBe(1);
    expect(await readdir(tmp)).toEqual([]);
    expect(terminal.modes()).toMatchObject({ cursor: "shown", buffer: "normal" });
  });

  it("is drawn as the chat is, in colours, at reading speed", async () => {
    const { terminal } = await launched();
    await terminal.waitFor("There is a sk", { withinMillis: 30_000 });
    await terminal.waitFor("● todo", { withinMillis: 30_000 });
    expect(terminal.raw()).toContain("\u001B[36m> ");
    expect(terminal.scrollback().join("\n")).not.toContain("2  A log");
  });

  it("is plain and quick with NO_COLOR", async () => {
    const { terminal } = await launched({ NO_COLOR: "1" });
    await terminal.waitFor("2  A log", { withinMillis: 30_000 });
    // eslint-disable-next-line no-control-regex -- sequences begin with a control character
    expect(terminal.raw()).not.toMatch(/\u001B\[[\d;]*m/);
  });
});
