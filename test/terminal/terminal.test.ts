import { describe, expect, it } from "vitest";
import { groupRuns } from "../fixture/processes.ts";
import { testTerminal } from "./in-test.ts";
import { bytesOfKey, type Key, type Keyboard } from "./keys.ts";
import type { Terminal } from "./terminal.ts";

const shell = (script: string, more: { readonly columns?: number; readonly rows?: number } = {}): Terminal =>
  testTerminal({ command: "bash", args: ["-c", script], ...more });

/** Prints what it gets, byte by byte, after it has printed something itself. */
const reader = (first: string, keyboard: Keyboard["protocol"] = "legacy"): Terminal =>
  testTerminal({
    command: process.execPath,
    args: [
      "-e",
      `process.stdin.setRawMode(true); process.stdout.write(${JSON.stringify(first)} + "ready\\r\\n");
       process.stdin.on("data", (data) => process.stdout.write(JSON.stringify(data.toString()) + "\\r\\n"));`,
    ],
    keyboard,
  });

describe.skipIf(process.platform === "win32")("a terminal for tests", () => {
  // On a loaded machine the terminal sometimes hangs up before `cat` has ended: then it ends by a signal.
  it("shows what is typed and what comes back", { retry: 2 }, async () => {
    const terminal = testTerminal({ command: "cat" });
    terminal.type("hello");
    await terminal.waitFor("hello");
    expect(terminal.cursor()).toEqual({ column: 5, row: 0 });
    terminal.press("enter");
    await terminal.waitFor(/^hello\nhello$/m);
    terminal.press("ctrl+d");
    expect(await terminal.exited).toBe(0);
  });

  it("keeps what has left the screen", async () => {
    const terminal = shell("seq 1 100", { rows: 10 });
    await terminal.exited;
    expect(terminal.screen().slice(0, -1)).toEqual(Array.from({ length: 9 }, (_, at) => String(at + 92)));
    expect(terminal.scrollback().slice(0, 100)).toEqual(Array.from({ length: 100 }, (_, at) => String(at + 1)));
  });

  it("tells the program of a new size", async () => {
    const terminal = shell(`trap 'stty size' WINCH; stty size; sleep 60 & wait; wait`, { columns: 100, rows: 30 });
    await terminal.waitFor("30 100");
    terminal.resize(42, 17);
    await terminal.waitFor("17 42");
  });

  it("gives wide characters two cells", async () => {
    const terminal = shell(`printf '漢字e\\u0301|'; read line`);
    await terminal.waitFor("|");
    expect(terminal.cursor().column).toBe(6);
    expect(terminal.screen()[0]).toBe("漢字e\u0301|");
  });

  it.each([
    ["joined", 2],
    ["single", 6],
  ] as const)("gives a family of three, with clusters %s, %i cells", async (clusters, cells) => {
    const terminal = testTerminal({ command: "bash", args: ["-c", "printf '👩‍👩‍👧|'; read line"], clusters });
    await terminal.waitFor("|");
    expect(terminal.cursor().column).toBe(cells + 1);
    expect(terminal.screen()[0]).toBe("👩‍👩‍👧|");
  });

  it("knows whether the cursor is shown", async () => {
    const terminal = shell("printf '\\033[?25l'; echo hidden; read line; printf '\\033[?25h'; echo shown");
    expect(terminal.modes().cursor).toBe("shown");
    await terminal.waitFor("hidden");
    expect(terminal.modes().cursor).toBe("hidden");
    terminal.press("enter");
    await terminal.exited;
    expect(terminal.modes().cursor).toBe("shown");
  });

  it("puts pastes into brackets where the program asks for them", async () => {
    const plain = reader("");
    await plain.waitFor("ready");
    plain.paste("one\ntwo");
    await plain.waitFor(JSON.stringify("one\rtwo"));
    const bracketed = reader("\u001B[?2004h");
    await bracketed.waitFor("ready");
    expect(bracketed.modes().pastes).toBe("bracketed");
    bracketed.paste("one\ntwo");
    await bracketed.waitFor(JSON.stringify("\u001B[200~one\rtwo\u001B[201~"));
  });

  it.each([
    ["device attributes", "\u001B[c", "legacy", "\u001B[?1;2c"],
    ["where the cursor is", "\u001B[6n", "legacy", "\u001B[1;1R"],
    ["the kitty keyboard, where it has one", "\u001B[>7u\u001B[?u", "kitty", "\u001B[?7u"],
  ] as const)("answers what a program asks: %s", async (_, asked, keyboard, answer) => {
    const terminal = reader(asked, keyboard);
    await terminal.waitFor(JSON.stringify(answer));
  });

  it("sends keys that can be told apart once the program has asked for the kitty protocol, and only then", async () => {
    const terminal = reader("\u001B[>1u", "kitty");
    await terminal.waitFor("ready");
    terminal.press("shift+enter");
    await terminal.waitFor(JSON.stringify("\u001B[13;2u"));
    const old = reader("\u001B[>1u");
    await old.waitFor("ready");
    old.press("shift+enter");
    await old.waitFor(JSON.stringify("\r"));
  });

  it("tells what looks how", async () => {
    const terminal = shell(`printf 'a\\033[1;31mbc\\033[0m 漢'; read line`);
    await terminal.waitFor("漢");
    expect(
      terminal.styled()[0]?.map(({ column, cells, text, look }) => [column, cells, text, look.bold, look.ink]),
    ).toEqual([
      [0, 1, "a", false, undefined],
      [1, 2, "bc", true, { kind: "palette", index: 1 }],
      [3, 1, " ", false, undefined],
      [4, 2, "漢", false, undefined],
    ]);
    expect(terminal.raw()).toContain("\u001B[1;31mbc");
  });

  it("fails a wait with the screen, when its time is over and when the program ends", async () => {
    const late = shell("echo something else; read line");
    await expect(late.waitFor("never", { withinMillis: 300 })).rejects.toThrow(
      /never did not come: 300 ms[^]*│something else/,
    );
    const ended = shell("echo the last word");
    await expect(ended.waitFor("never")).rejects.toThrow(/never did not come: the program has ended[^]*│the last word/);
  });

  it("tells how a program ended", async () => {
    expect(await shell("exit 7").exited).toBe(7);
    const killed = shell("echo up; read line");
    await killed.waitFor("up");
    killed.kill("SIGKILL");
    expect(await killed.exited).toBe(128 + 9);
  });

  it("leaves no process behind", async () => {
    const terminal = shell("trap '' HUP TERM; echo up; sleep 60; sleep 60");
    await terminal.waitFor("up");
    await terminal.close();
    expect(groupRuns(terminal.pid)).toBe(false);
  });
});

const legacy: Keyboard = { protocol: "legacy", cursorKeys: "normal" };

it.each<[Key, Keyboard, string]>([
  ["enter", legacy, "\r"],
  ["alt+enter", legacy, "\u001B\r"],
  ["shift+tab", legacy, "\u001B[Z"],
  ["ctrl+c", legacy, "\u0003"],
  ["ctrl+o", legacy, "\u000F"],
  ["escape", legacy, "\u001B"],
  ["up", legacy, "\u001B[A"],
  ["up", { ...legacy, cursorKeys: "application" }, "\u001BOA"],
  ["ctrl+left", legacy, "\u001B[1;5D"],
  ["pageup", legacy, "\u001B[5~"],
  ["escape", { ...legacy, protocol: "kitty" }, "\u001B[27u"],
  ["ctrl+c", { ...legacy, protocol: "kitty" }, "\u001B[99;5u"],
  ["enter", { ...legacy, protocol: "kitty" }, "\r"],
  ["shift+tab", { ...legacy, protocol: "kitty" }, "\u001B[9;2u"],
])("%s, %j", (key, keyboard, bytes) => {
  expect(bytesOfKey(key, keyboard)).toBe(bytes);
});
