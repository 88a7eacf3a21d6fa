import { stripVTControlCharacters } from "node:util";
import { setTimeout as wait } from "node:timers/promises";
import { PassThrough } from "node:stream";
import { expect, onTestFinished, test } from "vitest";
import { millis, sessionId, tokens, toolUseId } from "palimpsest/internal/schema/brand";
import { computeThresholds } from "palimpsest/internal/tokens/thresholds";
import { type ChatAction, updateChat, createChat } from "../../tui/state/update-chat.ts";
import { createOutput } from "../../program/output.ts";
import type { TerminalUiHandlers } from "../terminal-ui.ts";
import { answerGuardMillis } from "../limits.ts";
import { createPlainUi } from "./create-plain-ui.ts";

function front(inputFrom: "terminal" | "pipe", columns?: number) {
  const stdin = new PassThrough();
  const did: string[] = [];
  const clock = { now: 1_000 };
  const handlers: TerminalUiHandlers = {
    submit: (text) => void did.push(`submit ${text}`),
    interrupt: () => void did.push("interrupt"),
    takeBack: () => undefined,
    undoMemories: () => {},
    nextMode: () => {},
    quit: () => void did.push("quit"),
    complete: () => Promise.resolve([]),
    rest: () => Promise.resolve(),
    session: sessionId("s"),
  };
  const stdout = Object.assign(new PassThrough(), columns === undefined ? {} : { isTTY: true, columns });
  const out = createOutput(stdout, {});
  const made = createPlainUi({ context: { stdin, out }, handlers, now: () => millis(clock.now), inputFrom });
  made.start();
  onTestFinished(() => made.stop());
  const type = async (line: string): Promise<void> => {
    stdin.write(`${line}\n`);
    await wait(5);
  };
  return { made, did, clock, type, stdin, printed: () => String(stdout.read() ?? "") };
}

const ask = { toolUse: toolUseId("t"), tool: "bash", input: { command: "ls" }, acts: [], reason: "Why." };
const thresholds = computeThresholds({
  rule: { outputReserveTokensMax: 20_000, compactBufferTokens: 13_000, inputLimit: "ignored" },
  window: tokens(200_000),
  outputTokensMax: tokens(20_000),
  autoCompact: "on",
});
const never = new AbortController().signal;

test("a line that was typed before the question was there is no answer to it", async () => {
  const { made, did, clock, type } = front("terminal");
  const answer = made.permission(ask, never);
  await wait(5);
  await type("y");
  expect(did).toEqual(["submit y"]);
  clock.now += answerGuardMillis;
  await type("n");
  expect(await answer).toEqual({ kind: "denied" });
});

test("questions come one after the other", async () => {
  const { made, clock, type, printed } = front("terminal");
  const answers = [made.permission(ask, never), made.permission({ ...ask, tool: "edit" }, never)];
  await wait(5);
  expect(printed()).not.toContain("edit");
  for (const line of ["y", "n"]) {
    clock.now += answerGuardMillis;
    await type(line);
  }
  expect(await Promise.all(answers)).toEqual([{ kind: "once" }, { kind: "denied" }]);
});

test("a question that is taken away is answered by nobody, and the next line is a message", async () => {
  const { made, did, clock, type } = front("terminal");
  const abort = new AbortController();
  const answer = made.permission(ask, abort.signal);
  await wait(5);
  abort.abort();
  expect(await answer).toEqual({ kind: "nobody" });
  clock.now += answerGuardMillis;
  await type("y");
  expect(did).toEqual(["submit y"]);
});

test("a new text is typed as a line; a text that is there needs an editor", async () => {
  const { made, clock, type, printed } = front("terminal");
  for (const [line, expected] of [
    ["look at b.ts too ", "look at b.ts too"],
    [" ", undefined],
  ] as const) {
    const answer = made.edit({ title: "Your message to explore", text: "" }, never);
    await wait(5);
    expect(printed()).toBe("Your message to explore: ");
    clock.now += answerGuardMillis;
    await type(line);
    expect(await answer).toBe(expected);
  }
  expect(await made.edit({ title: "a.md", text: "something" }, never)).toBeUndefined();
});

test("through a pipe nobody is asked, and the chat ends with the last line", async () => {
  const { made, did, stdin } = front("pipe");
  expect(await made.permission(ask, never)).toEqual({ kind: "nobody" });
  expect(await made.question({ toolUse: ask.toolUse, questions: [] }, never)).toMatchObject({ kind: "answered" });
  expect(await made.preview({ title: "", facts: [], details: [], text: "" }, never)).toBe("cancel");
  stdin.end("one\ntwo\n");
  await expect.poll(() => did).toEqual(["submit one", "submit two", "quit"]);
});

const chat = createChat({ model: "m", thresholds, autoCompact: "on" });

test("what the user has typed at a terminal is not printed once more, neither a message nor a command", async () => {
  const { made, type, printed } = front("terminal");
  await type("/export md ");
  await type("Hello.");
  const acts: readonly ChatAction[] = [
    { kind: "print", lines: ["> /export md"] },
    { kind: "tell", tone: "plain", text: "Written." },
    { kind: "say", text: "Hello." },
    { kind: "print", lines: ["> not typed here"] },
  ];
  made.show(acts.reduce(updateChat, chat));
  await wait(5);
  expect(printed()).toBe("Written.\n> not typed here\n");
});

test("a terminal gets its lines broken between words, anything else as they are", async () => {
  const long: ChatAction = { kind: "tell", tone: "plain", text: "one two three four five" };
  for (const [columns, shown] of [
    [10, "one two\nthree four\nfive\n"],
    [undefined, "one two three four five\n"],
  ] as const) {
    const { made, printed } = front("pipe", columns);
    made.show(updateChat(chat, long));
    await wait(5);
    expect(printed()).toBe(shown);
  }
});

test("memories that are saved while the user is prompted get a line, with how to take them back, and a prompt below", async () => {
  const { made, type, printed } = front("terminal", 100);
  await type("Hello.");
  expect(printed()).toContain("> ");
  made.show(updateChat(chat, savedAction));
  await wait(5);
  expect(stripVTControlCharacters(printed())).toBe("\nSaved 1 memory: Linter. /memory undo takes this back.\n> ");
});

const savedAction: ChatAction = {
  kind: "event",
  at: millis(1),
  event: {
    kind: "memories-saved",
    by: "extraction",
    revision: "r5",
    memories: [{ path: "lint.md", name: "Linter", description: "Run it.", change: "saved" }],
  },
};
