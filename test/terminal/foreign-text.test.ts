import { appendFileSync, globSync, mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { isPromptShown } from "./chat-program.ts";
import { compileOnce, newChatWorld, send } from "./chat-world.ts";
import type { Terminal } from "./terminal.ts";

const talk = "moves: [{ text: Good. }]";

beforeAll(compileOnce);

const attacks = [
  ["a title", "\u001B]0;PWNED\u0007"],
  ["the clipboard", "\u001B]52;c;UFdORUQ=\u0007"],
  ["the whole screen", "\u001B[2J"],
] as const;

const editor = (chat: Terminal): string => {
  const screen = chat.screen();
  const rules = screen.flatMap((line, row) => (/^─{10,}/.test(line) ? [row] : []));
  return screen.slice((rules.at(-2) ?? 0) + 1, rules.at(-1)).join("\n");
};

describe.skipIf(process.platform === "win32")("what others wrote drives nothing where the user types", () => {
  it("a file whose name would is not offered", async () => {
    const [[, attack]] = attacks;
    const chat = await newChatWorld(talk, { [`zz${attack}.txt`]: "x", "zzz-plain.txt": "y" }).open();
    for (const letter of "@zz") chat.type(letter);
    await chat.waitFor("zzz-plain.txt");
    chat.press("tab");
    await chat.waitFor(() => editor(chat).includes("@zzz-plain.txt"));
    expect(chat.raw()).not.toContain(attack);
    expect(chat.raw()).not.toContain("PWNED");
  });

  it.each(attacks)("history that drives %s is spelled out", async (_, attack) => {
    const world = newChatWorld(talk);
    const first = await world.open();
    send(first, "Hello.");
    await first.waitFor("Good.");
    await first.close();
    const [history] = globSync("projects/*/input-history.ndjson", { cwd: world.home });
    appendFileSync(join(world.home, history ?? "none"), `${JSON.stringify({ text: `before ${attack} after` })}\n`);
    const chat = await world.open();
    await chat.waitFor("% left");
    chat.press("up");
    await chat.waitFor(String.raw`before \x1b`);
    expect(editor(chat)).toContain("after");
    expect(chat.raw()).not.toContain(attack);
  });

  it.each(attacks)("what comes back to the editor and drives %s is spelled out", async (_, attack) => {
    const world = newChatWorld(talk);
    const first = await world.open();
    send(first, "Hello.");
    await first.waitFor("Good.");
    first.press("ctrl+d");
    await first.exited;
    const [log = ""] = globSync("projects/*/*.jsonl", { cwd: world.home });
    const kept = join(world.home, log.replace(/\.jsonl$/, ""), "input.json");
    mkdirSync(dirname(kept), { recursive: true });
    writeFileSync(kept, JSON.stringify({ messages: [], draft: `before ${attack} after` }));
    const chat = world.start({ args: ["--continue"] });
    await chat.waitFor((screen) => isPromptShown(screen) && editor(chat).includes(String.raw`before \x1b`));
    expect(editor(chat)).toContain("after");
    expect(chat.raw()).not.toContain(attack);
  });
});
