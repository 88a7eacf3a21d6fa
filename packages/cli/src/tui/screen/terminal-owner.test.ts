import { EventEmitter } from "node:events";
import { expect, test, describe, onTestFinished, vi } from "vitest";
import { toolUseId } from "palimpsest/internal/schema/brand";
import { type ProcessEvent, createScreenProcess } from "./terminal-owner.ts";
import { begun, call, said, stage, text, working } from "../../../../../test/terminal/screen-stage.ts";
import { AppendOnlyList } from "../state/chat-state.ts";
import type { ChatItem } from "../state/chat-item.ts";

const fake = (): NodeJS.Process & { readonly stdin: EventEmitter; readonly stdout: EventEmitter } =>
  Object.assign(new EventEmitter(), {
    stdin: new EventEmitter(),
    stdout: new EventEmitter(),
    kill: () => true,
  }) as never;

test.each<[ProcessEvent, "process" | "stdin" | "stdout", string]>([
  ["continue", "process", "SIGCONT"],
  ["hangup", "process", "SIGHUP"],
  ["interrupt", "process", "SIGINT"],
  ["terminate", "process", "SIGTERM"],
  ["crash", "process", "uncaughtExceptionMonitor"],
  ["exit", "process", "exit"],
  ["gone", "stdin", "end"],
  ["gone", "stdin", "error"],
  ["gone", "stdout", "error"],
])("%s is heard of, until nobody listens", (event, source, name) => {
  const process = fake();
  const emitter: EventEmitter = source === "process" ? process : process[source];
  let heard = 0;
  const unlisten = createScreenProcess(process).on(event, () => (heard += 1));
  emitter.emit(name);
  expect(heard).toBe(1);
  unlisten();
  expect(emitter.listenerCount(name)).toBe(0);
});

describe("the terminal", () => {
  test("is left as it was found, with what was said", async () => {
    const on = await stage();
    on.screen.show({ ...begun, done: AppendOnlyList.of(said(0, "an answer")) });
    await on.terminal.settled();
    await on.screen.stop();
    await on.terminal.settled();
    expect(on.terminal.everything().filter((line) => line !== "")).toEqual(["$ palimpsest", "an answer"]);
    expect(on.terminal.isStarted).toBe(false);
    expect(on.terminal.raw.lastIndexOf("\u001B[?25h")).toBeGreaterThan(on.terminal.raw.lastIndexOf("\u001B[?25l"));
  });

  test.each<[ProcessEvent, readonly string[]]>([
    ["terminate", ["quit"]],
    ["interrupt", ["quit"]],
    ["crash", []],
    ["exit", []],
  ])("is restored at once on %s", async (event, did) => {
    const on = await stage();
    on.raise(event);
    expect(on.terminal.isStarted).toBe(false);
    expect(on.did).toEqual(did);
  });

  test.each<ProcessEvent>(["terminate", "interrupt"])("is nobody's when %s comes a second time", async (event) => {
    const on = await stage();
    on.raise(event);
    on.raise(event);
    expect(on.did).toEqual(["quit"]);
  });

  test.each<ProcessEvent>(["hangup", "gone"])("that is gone ends the chat: %s", async (event) => {
    const on = await stage();
    on.raise(event);
    expect(on.did).toEqual(["quit"]);
  });

  test("is given back on Ctrl-Z, and drawn again below when the process goes on", async () => {
    const on = await stage();
    on.screen.show({ ...begun, done: AppendOnlyList.of(said(0, "an answer")) });
    on.terminal.type("draft");
    await on.terminal.settled();
    on.terminal.press("\u001A");
    expect(on.did).toEqual(["suspend"]);
    expect(on.terminal.isStarted).toBe(false);
    on.terminal.write("[1]+ Stopped\r\n");
    on.raise("continue");
    await on.terminal.settled();
    const lines = on.terminal.everything().filter((line) => line !== "");
    expect(lines.slice(0, 3)).toEqual(["$ palimpsest", "an answer", "[1]+ Stopped"]);
    expect(lines.filter((line) => line === "draft")).toHaveLength(1);
  });

  test("gets not a single style without colours", async () => {
    const on = await stage({ colours: "none" });
    on.screen.show({
      ...working,
      done: AppendOnlyList.of(said(0, "# Title\n\n**bold** `code`\n\n```ts\nlet a\n```"), call(1)),
      queue: ["q"],
    });
    on.terminal.type("/co");
    await on.terminal.settled();
    on.terminal.press("\u001B", "\u000F");
    await on.terminal.settled();
    on.terminal.press("\r");
    await on.terminal.settled();
    // oxlint-disable-next-line no-control-regex
    expect(on.terminal.raw).not.toMatch(/\u001B\[[\d;:]*m/);
    expect(text(on)).toContain("Title");
  });

  test.each([80, 40, 12, 3])("of %i columns shows wide characters whole, and the end of a chat", async (columns) => {
    const on = await stage({ columns });
    const words = "漢字とかな 👩‍👩‍👧 and words of some length. ".repeat(6);
    on.screen.show({ ...working, done: AppendOnlyList.of(said(0, words), call(1), said(2, "fin")), queue: [words] });
    on.terminal.type("漢字");
    await on.terminal.settled();
    const shown = on.terminal.everything().join("").replaceAll(/\s/g, "");
    expect(shown).toContain("fin");
    if (columns >= 40) expect(shown).toContain(words.replaceAll(/\s/g, "").slice(0, 100));
    expect(on.screen.typed).toBe("漢字");
  });

  test("draws nothing at rest", async () => {
    const on = await stage();
    const { length } = on.terminal.raw;
    await on.terminal.settled();
    await on.terminal.settled();
    expect(on.terminal.raw).toHaveLength(length);
    on.screen.show(working);
    await new Promise((resolve) => void setTimeout(resolve, 300));
    expect(on.terminal.raw.length).toBeGreaterThan(length);
  });
});

describe("a transcript", () => {
  const items = Array.from({ length: 600 }, (_, id) => (id === 300 ? call(id) : said(id, `answer ${id}.`)));
  const detail = async () => ({ kind: "call", input: {}, result: "the result\nof then" }) as const;
  const opened = async (at: number) => {
    const on = await stage({ rows: 12 });
    const stop = new AbortController();
    const shown = on.screen.openTranscript({ items, at, detail }, stop.signal);
    for (let frame = 0; frame < 20; frame += 1) await on.terminal.settled();
    return { on, stop, shown };
  };
  const marked = (on: Awaited<ReturnType<typeof stage>>): readonly string[] =>
    on.terminal.screen().filter((line) => line.startsWith("▌"));

  test.each([0, 7, 250, 598, 599])("opens at item %d, wherever it stands, and marks it alone", async (at) => {
    const { on, shown } = await opened(at);
    expect(on.terminal.buffer).toBe("alternate");
    expect(marked(on)).toEqual([expect.stringContaining(`answer ${at}.`)]);
    on.terminal.press("q");
    expect(await shown).toBe("shown");
    await on.terminal.settled();
    expect(on.terminal.buffer).toBe("normal");
  });

  test("opens at a call that is unfolded, as its own session has it", async () => {
    const { on } = await opened(300);
    expect(marked(on).join("\n")).toContain("of then");
  });

  test("gets nothing of the chat that goes on behind it", async () => {
    const { on } = await opened(599);
    on.screen.show({ ...begun, done: AppendOnlyList.of(said(0, "meanwhile")) });
    await on.terminal.settled();
    expect(text(on)).not.toContain("meanwhile");
    expect(marked(on)).toHaveLength(1);
    on.terminal.press("\u001B");
    await on.terminal.settled();
    expect(text(on)).toContain("meanwhile");
  });

  test("without a place opens at its end, says whose it is, and shows what is added until it is closed", async () => {
    vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
    onTestFinished(() => void vi.useRealTimers());
    const on = await stage({ rows: 12 });
    const grep = { kind: "call", id: 600, call: toolUseId("toolu_600"), tool: "grep", title: "x" } as const;
    const running: ChatItem = { ...grep, state: "running", summary: "" };
    const answers = [[...items, { ...running, state: "done", summary: "2 lines" } as const, said(601, "the end.")]];
    let asked = 0;
    const refresh = async () => {
      asked += 1;
      return answers.shift();
    };
    const ask = { title: "Agent explore", items: [...items, running], refresh, detail };
    const shown = on.screen.openTranscript(ask, new AbortController().signal);
    await on.terminal.settled();
    expect(text(on)).toContain("Agent explore · ↑↓ select");
    expect(text(on)).toContain("answer 599.");
    expect(text(on)).not.toContain("2 lines");
    await vi.advanceTimersByTimeAsync(2_000);
    await on.terminal.settled();
    expect(asked).toBe(2);
    expect(text(on)).toMatch(/2 lines[^]*the end\./);
    on.terminal.press("q");
    expect(await shown).toBe("shown");
    await vi.advanceTimersByTimeAsync(2_000);
    expect(asked).toBe(2);
  });

  test("closes when its signal is raised, and is not shown where something else is", async () => {
    const { on, stop, shown } = await opened(7);
    expect(await on.screen.openTranscript({ items, at: 1, detail }, new AbortController().signal)).toBe("not-shown");
    stop.abort();
    expect(await shown).toBe("shown");
    await on.terminal.settled();
    expect(on.terminal.buffer).toBe("normal");
    expect(await on.screen.openTranscript({ items, at: 1, detail }, stop.signal)).toBe("not-shown");
  });
});

describe("the viewer", () => {
  test("shows every item in the alternate screen, unfolds one, and goes back to a screen that has caught up", async () => {
    const on = await stage({ rows: 12 });
    const items = [
      said(0, "beginning"),
      call(1),
      ...Array.from({ length: 20 }, (_, id) => said(id + 2, `answer ${id}`)),
      call(22),
    ];
    on.screen.show({ ...begun, done: AppendOnlyList.of(...items) });
    await on.terminal.settled();
    on.terminal.press("\u000F");
    await on.terminal.settled();
    expect(on.terminal.buffer).toBe("alternate");
    on.terminal.press("\u001B[A", "\r");
    await on.terminal.settled();
    await on.terminal.settled();
    expect(text(on)).toContain("beginning");
    expect(text(on)).toContain("the whole");
    on.screen.show({ ...begun, done: AppendOnlyList.of(...items, said(23, "meanwhile")) });
    on.terminal.press("\u001B[F");
    await on.terminal.settled();
    expect(text(on)).toContain("meanwhile");
    on.terminal.press("q");
    await on.terminal.settled();
    expect(on.terminal.buffer).toBe("normal");
    expect(text(on)).toContain("meanwhile");
    expect(on.terminal.everything().filter((line) => line === "answer 19")).toHaveLength(1);
    on.terminal.type("typed");
    expect(on.screen.typed).toBe("typed");
  });

  test("unfolds a boundary into its summary, then what it stands for", async () => {
    const on = await stage({ rows: 24 });
    const boundary: ChatItem = {
      kind: "compacted",
      id: 2,
      line: "Compacted: 9 → 1 tokens.",
      covers: { from: 1, to: 2 },
      entries: [],
    };
    on.screen.show({
      ...begun,
      done: AppendOnlyList.of(said(0, "before"), said(1, "covered"), boundary, said(3, "after")),
    });
    on.terminal.press("\u000F", "\r");
    await on.terminal.settled();
    await on.terminal.settled();
    const lines = on.terminal.screen().map((line) => line.slice(2));
    const [summary, original, behind] = ["the summary", "│ covered", "after"].map((line) => lines.indexOf(line));
    expect(summary).toBeGreaterThan(lines.indexOf("◆ Compacted: 9 → 1 tokens."));
    expect(original).toBeGreaterThan(summary ?? 0);
    expect(behind).toBeGreaterThan(original ?? 0);
    expect(lines).not.toContain("│ before");
  });

  test("gives way to the screen when others have stopped the process and it goes on", async () => {
    const on = await stage({ rows: 12 });
    on.screen.show({ ...begun, done: AppendOnlyList.of(said(0, "an answer")) });
    on.terminal.press("\u000F");
    await on.terminal.settled();
    expect(on.terminal.buffer).toBe("alternate");
    on.terminal.write("[1]+ Stopped\r\n");
    on.raise("continue");
    await on.terminal.settled();
    expect(on.terminal.buffer).toBe("normal");
    expect(text(on)).toContain("an answer");
    expect(text(on)).not.toContain("Stopped");
    on.terminal.type("typed");
    expect(on.screen.typed).toBe("typed");
  });

  test("draws a long session from its end back, and holds still what is looked at", async () => {
    const on = await stage({ rows: 12 });
    const items = Array.from({ length: 1_500 }, (_, id) => said(id, `answer ${id}`));
    on.screen.show({ ...begun, done: AppendOnlyList.of(...items) });
    await on.terminal.settled();
    on.terminal.press("\u000F");
    on.terminal.press("\u001B[5~");
    await on.terminal.settled();
    const seen = text(on);
    expect(seen).toContain("answer 149");
    for (let turn = 0; turn < 20; turn += 1) await on.terminal.settled();
    expect(text(on)).toBe(seen);
    on.terminal.press("\u001B[H");
    await on.terminal.settled();
    expect(text(on)).toMatch(/^ {2}answer 0$/m);
  });

  test("finds what is searched for", async () => {
    const on = await stage({ rows: 12 });
    const items = Array.from({ length: 60 }, (_, id) => said(id, `answer ${id}`));
    on.screen.show({ ...begun, done: AppendOnlyList.of(...items) });
    on.terminal.press("\u000F");
    await on.terminal.settled();
    on.terminal.press("/");
    await on.terminal.settled();
    on.terminal.type("answer 7");
    await on.terminal.settled();
    expect(text(on)).toMatch(/^ {2}answer 7$/m);
    expect(text(on)).toContain("a and q too · Enter next");
    expect(text(on)).not.toContain("Esc back");
    on.terminal.press("\u001B");
    await on.terminal.settled();
    expect(on.terminal.buffer).toBe("alternate");
    on.terminal.press("\u001B");
    await on.terminal.settled();
    expect(on.terminal.buffer).toBe("normal");
  });
});
