import { beforeAll, describe, expect, it } from "vitest";
import { exitCode } from "../../packages/cli/src/program/failure.ts";
import { isPromptShown } from "./chat-program.ts";
import { compileOnce, newChatWorld, send, slowItems, itemLines } from "./chat-world.ts";
import type { Terminal } from "./terminal.ts";

const talk = "moves: [{ text: Good. }]";
const looking = `moves:
  - thinking: "A first thought\\nand a second one"
    text: Let me see.
    tools: [{ name: read, input: { file_path: sum.js } }]
  - pauseMs: 20
    text: ${JSON.stringify(itemLines(300).join("\n"))}`;
const files = { "sum.js": "exports.sum = (a, b) => a - b;\n" };

beforeAll(compileOnce);

const shows = (chat: Terminal, text: string): boolean => chat.screen().some((line) => line.includes(text));

describe.skipIf(process.platform === "win32")("the viewer", () => {
  it("opens over a turn that goes on, unfolds a call and a thought, finds a word, and goes back", async () => {
    const chat = await newChatWorld(looking, files).open({ rows: 30 });
    send(chat, "Look.");
    await chat.waitFor(/item 3$/m);
    chat.press("ctrl+o");
    await chat.waitFor("Esc back");
    expect(chat.modes().buffer).toBe("alternate");
    chat.press("enter", "home");
    await chat.waitFor("exports.sum");
    expect(shows(chat, "and a second one")).toBe(false);
    chat.press("up", "enter");
    await chat.waitFor("and a second one");
    chat.press("end");
    await chat.waitFor(/item 40$/m);
    chat.type("/");
    await chat.waitFor("Shift+Enter");
    chat.type("first thought");
    await chat.waitFor((screen) => screen.some((line) => line.includes("A first thought")));
    chat.press("escape");
    await chat.waitFor((screen) => !screen.join("\n").includes("Shift+Enter"));
    chat.press("escape");
    await chat.waitFor(isPromptShown);
    expect(chat.modes().buffer).toBe("normal");
    await chat.waitFor(/item 80$/m);
  });

  it("unfolds a boundary into what stands behind it", async () => {
    const chat = await newChatWorld(talk).open({ columns: 100, rows: 40 });
    chat.paste(`The pump leaks. Remember the valve.\n${"It has leaked before, and nobody knows why.\n".repeat(400)}`);
    chat.press("enter");
    await chat.waitFor("Good.");
    expect(shows(chat, "more lines: Ctrl-O shows them")).toBe(true);
    send(chat, "/compact --yes");
    await chat.waitFor("Compacted:");
    chat.press("ctrl+o");
    await chat.waitFor("Esc back");
    expect(shows(chat, "│ Good.")).toBe(false);
    chat.press("enter");
    await chat.waitFor("│ Good.");
  });
});

describe.skipIf(process.platform === "win32")("/recall", () => {
  it("opens the place in the transcript, of this session and of another, and goes back", async () => {
    const world = newChatWorld(`moves: [{ text: Good. }, { text: ${JSON.stringify(itemLines(60).join("\n"))} }]`);
    const first = await world.open();
    send(first, "The okapi sleeps in the barn.");
    await first.waitFor("Good.");
    send(first, "And now a list.");
    await first.waitFor(/item 60$/m);
    send(first, "/recall okapi");
    await first.waitFor("Which place?");
    first.press("enter");
    await first.waitFor(/^▌ > The okapi sleeps/m);
    expect(first.modes().buffer).toBe("alternate");
    expect(shows(first, "item 60")).toBe(false);
    first.press("escape");
    await first.waitFor(isPromptShown);
    expect(first.modes().buffer).toBe("normal");
    first.press("ctrl+d");
    await first.exited;
    const second = await world.open();
    send(second, "/recall --all okapi");
    await second.waitFor("Which place?");
    second.press("enter");
    await second.waitFor(/^▌ > The okapi sleeps/m);
    second.press("escape");
    await second.waitFor("Go on with that session");
    second.press("down", "enter");
    await second.waitFor(/item 60$/m);
  });
});

describe.skipIf(process.platform === "win32")("keys", () => {
  it("Shift-Tab goes through the permission modes, and the status line says which", async () => {
    const chat = await newChatWorld(talk).open();
    await chat.waitFor("% left");
    const modes = ["accept edits", "plan mode"];
    expect(modes.some((mode) => shows(chat, mode))).toBe(false);
    for (const mode of modes) {
      chat.press("shift+tab");
      await chat.waitFor(mode);
    }
    chat.press("shift+tab");
    await chat.waitFor((screen) => !modes.some((mode) => screen.join("\n").includes(mode)));
  });

  it("Ctrl-Z gives the terminal back, and fg goes on with what was typed", async () => {
    const script = `set -m; "$@"; echo "stopped, $?"; read line; fg > /dev/null; echo "ended, $?"; read line`;
    const chat = await newChatWorld(talk).open({ script });
    send(chat, "Something.");
    await chat.waitFor("Good.");
    chat.type("draft");
    await chat.waitFor("draft");
    chat.press("ctrl+z");
    await chat.waitFor("stopped, 148");
    expect(chat.modes()).toEqual({ cursor: "shown", pastes: "plain", buffer: "normal" });
    chat.type("go on\r");
    await chat.waitFor((screen) => isPromptShown(screen) && screen.some((line) => line.startsWith("draft")));
    expect(chat.scrollback().filter((line) => line.startsWith("Good."))).toHaveLength(1);
    chat.press("ctrl+c");
    await chat.waitFor((screen) => !screen.some((line) => line.startsWith("draft")));
    chat.press("ctrl+d");
    await chat.waitFor("ended, 0");
  });

  it("a terminal that hangs up ends the chat, and nothing that was said is lost", async () => {
    const world = newChatWorld(slowItems(400, 20));
    const chat = await world.open();
    send(chat, "Count.");
    await chat.waitFor(/item 3$/m);
    chat.kill("SIGHUP");
    expect(await chat.exited).toBeLessThan(128);
    expect(world.said()).toEqual(["Count."]);
    expect(chat.modes()).toEqual({ cursor: "shown", pastes: "plain", buffer: "normal" });
  });
});

describe.skipIf(process.platform === "win32")("without a key", () => {
  it("a first start says so in two lines, and what to do; it ends with its exit code", async () => {
    const chat = newChatWorld(talk).start({ model: "none", columns: 120 });
    expect(await chat.exited).toBe(exitCode.refused);
    const lines = chat.screen().filter((line) => line !== "");
    expect(lines, lines.join("\n")).toHaveLength(2);
    expect(lines[0]).toContain("no key");
    expect(lines[1]).toContain("--model simulator");
    expect(chat.modes()).toEqual({ cursor: "shown", pastes: "plain", buffer: "normal" });
  });
});

describe.skipIf(process.platform === "win32")("line by line", () => {
  it.each([
    ["--no-tui", { args: ["--no-tui"] }],
    ["TERM=dumb", { env: { TERM: "dumb" } }],
  ])("%s talks without moving the cursor", async (_, options) => {
    const world = newChatWorld(talk);
    const chat = world.start(options);
    chat.type("Hello there.\r");
    await chat.waitFor("Good.");
    expect(world.said()).toEqual(["Hello there."]);
    // oxlint-disable-next-line no-control-regex
    expect(chat.raw()).not.toMatch(/\u001B\[(?![\d;]*m)/);
    chat.press("ctrl+d");
    expect(await chat.exited).toBe(0);
  });
});

const rule = "Always run the linter before you commit.";
const remembering = `moves:
  - text: Good.
  - tools:
      - name: memory
        input:
          command: create
          path: /memories/lint.md
          file_text: ${JSON.stringify(`---\nname: Linter\ndescription: ${rule}\ntype: feedback\n---\n\n${rule}\n`)}`;

describe.skipIf(process.platform === "win32")("memories that were just saved", () => {
  it("unfold in the viewer, and Ctrl-R takes them back with a text in the editor", async () => {
    const chat = await newChatWorld(remembering).open({ columns: 100, rows: 30 });
    send(chat, rule);
    await chat.waitFor("Saved 1 memory: Linter. Ctrl-R takes this back.");
    chat.press("ctrl+o");
    await chat.waitFor("Esc back");
    chat.press("enter");
    await chat.waitFor(`lint.md: ${rule}`);
    chat.press("escape");
    await chat.waitFor(isPromptShown);
    chat.type("half a sentence");
    chat.press("ctrl+r");
    await chat.waitFor("was taken back (lint.md");
    // The notice is drawn before the editor below it.
    await chat.waitFor("half a sentence");
  });
});
