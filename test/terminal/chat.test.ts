import { existsSync, globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, it, vi } from "vitest";
import { isPromptShown } from "./chat-program.ts";
import { answer, compileOnce, itemLines, newChatWorld, send, slowItems, styleSequence } from "./chat-world.ts";
import type { Terminal } from "./terminal.ts";

const fixing = `moves:
  - text: Let me see.
    tools: [{ name: read, input: { file_path: sum.js } }]
  - tools: [{ name: edit, input: { file_path: sum.js, old_string: a - b, new_string: a + b } }]
  - text: The sum is right now.`;
const files = { "sum.js": "exports.sum = (a, b) => a - b;\n", "docs/readme.md": "# Sums\n" };
const talk = "moves: [{ text: Good. }]";

beforeAll(compileOnce);

const shows = (chat: Terminal, text: string): boolean => chat.screen().some((line) => line.includes(text));
const lineOf = (chat: Terminal, text: string): number => chat.screen().findIndex((line) => line.includes(text));
const countOf = (lines: readonly string[], text: string): number =>
  lines.filter((line) => line.trimEnd().endsWith(text)).length;

describe.skipIf(process.platform === "win32")("a turn", () => {
  it("is seen while it comes", async () => {
    const chat = await newChatWorld(slowItems(60)).open({ rows: 30 });
    send(chat, "Count to sixty.");
    await chat.waitFor(/item 3$/m);
    expect(shows(chat, "item 60")).toBe(false);
    await chat.waitFor(/item 60$/m);
    expect(shows(chat, "Interrupted.")).toBe(false);
  });

  it("is interrupted by Escape, and the next message is answered", async () => {
    const world = newChatWorld(`${slowItems(400, 20)}\n  - text: Gladly.`);
    const chat = await world.open();
    send(chat, "Count.");
    await chat.waitFor(/item 3$/m);
    chat.press("escape");
    await chat.waitFor("Interrupted.");
    expect(chat.scrollback().some((line) => line.includes("item 400"))).toBe(false);
    send(chat, "Never mind.");
    await chat.waitFor(() => world.said().includes("Never mind."));
  });

  it("asks before it changes a file, and does what the answer says", async () => {
    const world = newChatWorld(fixing, files);
    const denying = await world.open();
    send(denying, "Fix it.");
    await denying.waitFor("Yes, once");
    await answer(denying, "n");
    await denying.waitFor("The sum is right now.");
    expect(readFileSync(join(world.cwd, "sum.js"), "utf8")).toContain("a - b");
    await denying.close();
    const allowing = await world.open();
    send(allowing, "Fix it.");
    await allowing.waitFor("Yes, once");
    expect(shows(allowing, "a + b")).toBe(true);
    await answer(allowing, "enter");
    await allowing.waitFor("The sum is right now.");
    expect(readFileSync(join(world.cwd, "sum.js"), "utf8")).toContain("a + b");
  });

  it("is ended by Escape where it asks, and the next message is answered", async () => {
    const world = newChatWorld(fixing, files);
    const chat = await world.open();
    send(chat, "Fix it.");
    await chat.waitFor("Yes, once");
    await answer(chat, "escape");
    await chat.waitFor("Interrupted.");
    expect(chat.scrollback().some((line) => line.includes("The sum is right now."))).toBe(false);
    expect(readFileSync(join(world.cwd, "sum.js"), "utf8")).toContain("a - b");
    send(chat, "Never mind.");
    await chat.waitFor("The sum is right now.");
  });

  it("survives an overloaded provider and a stream that breaks, and says so calmly", async () => {
    const world = newChatWorld("moves:\n  - fault: [overloaded, break after=3]\n    text: Here after all.");
    const chat = await world.open();
    send(chat, "Are you there?");
    await chat.waitFor("Here after all.", { withinMillis: 40_000 });
    await chat.waitFor(/Asked again/);
  });
});

describe.skipIf(process.platform === "win32")("a project that came with settings", () => {
  it("is asked about before it is opened, and counts once it is trusted", async () => {
    const hooks = { SessionStart: [{ hooks: [{ type: "command", command: "touch hooked" }] }] };
    const world = newChatWorld(talk, { ".palimpsest/settings.json": JSON.stringify({ hooks }) });
    const chat = await world.open();
    await chat.waitFor("Do you trust this project?");
    expect(shows(chat, "touch hooked")).toBe(true);
    expect(existsSync(join(world.cwd, "hooked"))).toBe(false);
    await answer(chat, "up", "enter");
    await chat.waitFor(() => existsSync(join(world.cwd, "hooked")));
    expect(JSON.parse(readFileSync(join(world.home, "settings.json"), "utf8"))).toEqual({
      trustedProjects: [world.cwd],
    });
  });
});

describe.skipIf(process.platform === "win32")("what is typed while the agent works", () => {
  it("waits in sight and is handed over", async () => {
    const world = newChatWorld(slowItems(120, 20));
    const chat = await world.open({ rows: 40 });
    send(chat, "Count.");
    await chat.waitFor(/item 3$/m);
    send(chat, "And then stop.");
    await chat.waitFor("And then stop.");
    expect(world.said()).toEqual(["Count."]);
    await vi.waitFor(() => expect(world.said()).toEqual(["Count.", "And then stop."]), { timeout: 20_000 });
  });

  it("comes back by the arrow key", async () => {
    const world = newChatWorld(slowItems(400, 20));
    const chat = await world.open({ rows: 40 });
    send(chat, "Count.");
    await chat.waitFor(/item 3$/m);
    send(chat, "A thought");
    await chat.waitFor("A thought");
    chat.press("up");
    chat.type(" of mine");
    await chat.waitFor("A thought of mine");
    chat.press("escape");
    await chat.waitFor("Interrupted.");
    expect(world.said()).toEqual(["Count."]);
  });

  it("and what was sent survives kill -9: --continue gives both back", async () => {
    const world = newChatWorld(slowItems(2_000, 30));
    const killed = await world.open();
    send(killed, "The first message.");
    await killed.waitFor(/item 3$/m);
    send(killed, "The second message.");
    await killed.waitFor("The second message.");
    await vi.waitFor(() => expect(keptIn(world.home)).toContain("The second message."), { timeout: 5_000 });
    killed.kill("SIGKILL");
    expect(await killed.exited).toBe(128 + 9);
    const again = await world.open({ args: ["--continue"] });
    await again.waitFor("The first message.");
    await again.waitFor("The second message.");
    again.press("enter");
    await vi.waitFor(() => expect(world.said()).toEqual(["The first message.", "The second message."]), {
      timeout: 20_000,
    });
  });
});

const keptIn = (home: string): string =>
  globSync("projects/*/*/input.json", { cwd: home })
    .map((file) => readFileSync(join(home, file), "utf8"))
    .join("");

describe.skipIf(process.platform === "win32")("a compaction", () => {
  async function talked(): Promise<Terminal> {
    const chat = await newChatWorld(talk).open({ columns: 100, rows: 40 });
    // Enough that a summary is shorter.
    chat.paste(`The pump leaks. Remember the valve.\n${"It has leaked before, and nobody knows why.\n".repeat(400)}`);
    chat.press("enter");
    await chat.waitFor("Good.");
    return chat;
  }

  it("shows what it would do first, and cancelled it does nothing", async () => {
    const chat = await talked();
    send(chat, "/compact");
    await chat.waitFor("enter commits");
    await answer(chat, "escape");
    await chat.waitFor((screen) => isPromptShown(screen) && !screen.some((line) => line.includes("enter commits")));
    expect(shows(chat, "Compacted:")).toBe(false);
  });

  it("takes the summary as it was edited, and /undo takes it back", async () => {
    const chat = await talked();
    send(chat, "/compact");
    await chat.waitFor("enter commits");
    await answer(chat, "e");
    await chat.waitFor("ctrl-s saves");
    chat.type(" The valve is blue.");
    await chat.waitFor("The valve is blue.");
    chat.press("ctrl+s");
    await chat.waitFor("enter commits");
    await answer(chat, "enter");
    await chat.waitFor("Compacted:");
    send(chat, "/undo");
    await chat.waitFor(/undone|taken back|back in the view/i);
  });
});

describe.skipIf(process.platform === "win32")("the terminal", () => {
  it("may change its size while a reply comes: no line is lost, and few stand there twice", async () => {
    const chat = await newChatWorld(slowItems(200, 10)).open({ columns: 120, rows: 30 });
    send(chat, "Count.");
    const sizes = [
      [10, 80, 30],
      [60, 40, 20],
      [110, 100, 35],
      [150, 60, 35],
    ] as const;
    for (const [item, columns, rows] of sizes) {
      await chat.waitFor(new RegExp(`item ${item}$`, "m"));
      chat.resize(columns, rows);
    }
    await chat.waitFor(/item 200$/m);
    await chat.waitFor(isPromptShown);
    const all = chat.scrollback();
    const counts = itemLines(200).map((item) => countOf(all, item));
    expect(counts.indexOf(0), "lost").toBe(-1);
    // A frame that is on its way when the size changes counts on the rows of before: nobody can take it back.
    expect(counts.reduce((sum, count) => sum + count - 1, 0)).toBeLessThanOrEqual(5 * sizes.length);
    expect(countOf(chat.screen(), "item 200")).toBe(1);
  });

  it("without colour gets no sequence for style at all", async () => {
    const chat = await newChatWorld(fixing, files).open({ env: { NO_COLOR: "1" } });
    send(chat, "Fix it.");
    await chat.waitFor("Yes, once");
    await answer(chat, "enter");
    await chat.waitFor("The sum is right now.");
    send(chat, "/context");
    await chat.waitFor(/tokens/);
    expect(styleSequence.exec(chat.raw())).toBeNull();
  });

  it.each([80, 40])("of %i columns is enough: no line is broken by its edge", async (columns) => {
    const chat = await newChatWorld(fixing, files).open({ columns, rows: 30 });
    send(chat, "Fix it.");
    await chat.waitFor("Yes, once");
    await answer(chat, "enter");
    await chat.waitFor("The sum is right now.");
    const rules = chat.screen().filter((line) => /^─+$/.test(line));
    expect(rules.length).toBeGreaterThanOrEqual(2);
    for (const rule of rules) expect(rule.length).toBeLessThanOrEqual(columns);
    expect(chat.scrollback().some((line) => line.includes("+ exports") || line.includes("a + b"))).toBe(true);
  });

  it("keeps what was there before: it is still above the chat", async () => {
    const chat = await newChatWorld(slowItems(150, 1)).open({
      script: `for n in $(seq 1 60); do echo "before $n"; done; exec "$@"`,
    });
    send(chat, "Count.");
    await chat.waitFor(/item 150$/m);
    chat.resize(60, 20);
    await chat.waitFor(isPromptShown);
    const all = chat.scrollback();
    for (let n = 1; n <= 60; n += 1) expect(countOf(all, `before ${n}`), `before ${n}`).toBe(1);
    for (const item of itemLines(150)) expect(countOf(all, item), item).toBeGreaterThanOrEqual(1);
  });

  it("is as it was when Ctrl-C twice has ended the chat", async () => {
    const chat = await newChatWorld(talk).open({ script: `"$@"; echo "code $?"; stty -a; read line`, rows: 40 });
    expect(chat.modes().pastes).toBe("bracketed");
    chat.press("ctrl+c");
    await chat.waitFor(/once more/i);
    chat.press("ctrl+c");
    await chat.waitFor("code 0");
    await chat.waitFor(/\bicanon\b/);
    expect(chat.modes()).toEqual({ cursor: "shown", pastes: "plain", buffer: "normal" });
    const settings = chat.screen().join(" ");
    for (const name of ["icanon", "echo", "isig"]) expect(settings).toMatch(new RegExp(`(?<!-)\\b${name}\\b`));
    // Keys are sent the old way again: as many protocols were left as were entered.
    expect(chat.raw().split("\u001B[<u").length).toBe(chat.raw().split("\u001B[>7u").length);
  });
});

describe.skipIf(process.platform === "win32")("the editor", () => {
  it.each([
    ["漢字", 4],
    ["👩‍👩‍👧", 2],
    ["漢字👩‍👩‍👧e\u0301", 7],
  ])("knows how wide %s is", async (text, cells) => {
    const chat = await newChatWorld(talk).open();
    chat.type("|");
    await chat.waitFor("|");
    const { column } = chat.cursor();
    chat.type(text);
    await chat.waitFor(() => chat.cursor().column === column + cells);
    chat.type("!");
    await chat.waitFor(`|${text}!`);
  });

  it("shows a long paste as a mark and sends it whole", async () => {
    const world = newChatWorld(talk);
    const chat = await world.open();
    const lines = Array.from({ length: 500 }, (_, at) => `pasted line ${at + 1}`);
    chat.paste(lines.join("\n"));
    await chat.waitFor(/\[past[^\]]*500[^\]]*\]/);
    expect(shows(chat, "pasted line 250")).toBe(false);
    chat.press("enter");
    await chat.waitFor("Good.");
    expect(world.said()[0]).toContain(lines.join("\n"));
  });

  it("completes the name of a file behind @", async () => {
    const world = newChatWorld(talk, files);
    const chat = await world.open();
    chat.type("Look at @read");
    await chat.waitFor("docs/readme.md");
    chat.press("tab");
    await chat.waitFor("@docs/readme.md");
    send(chat, "please");
    await chat.waitFor("Good.");
    expect(world.said()[0]).toMatch(/^Look at @docs\/readme\.md please/);
  });

  it("brings back what was sent before, also in another chat of the project", async () => {
    const world = newChatWorld(talk);
    const first = await world.open();
    send(first, "Something worth repeating");
    await first.waitFor("Good.");
    await first.close();
    const second = await world.open();
    // The prompt is there first; what was sent before is read behind it.
    await second.waitFor("% left");
    second.press("up");
    await second.waitFor("Something worth repeating");
    send(second, " twice");
    await second.waitFor("Good.");
    expect(world.said()).toContain("Something worth repeating twice");
  });

  it.each([
    ["alt+enter", "legacy"],
    ["shift+enter", "kitty"],
    ["ctrl+j", "legacy"],
  ] as const)("begins a new line by %s", async (key, keyboard) => {
    const world = newChatWorld(talk);
    const chat = await world.open({ keyboard });
    chat.type("one");
    await chat.waitFor("one");
    const before = lineOf(chat, "one");
    chat.press(key);
    chat.type("two");
    await chat.waitFor("two");
    expect(lineOf(chat, "two")).toBe(before + 1);
    chat.press("enter");
    await chat.waitFor("Good.");
    expect(world.said()[0]).toBe("one\ntwo");
  });
});
