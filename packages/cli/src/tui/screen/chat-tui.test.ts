import { describe, expect, onTestFinished, test } from "vitest";
import { cpuMillis } from "../../../../../test/fixture/cpu-millis.ts";
import { CURSOR_MARKER } from "@earendil-works/pi-tui";
import { DrawnTerminal } from "../../../../../test/terminal/drawn-terminal.ts";
import { millis, tokens, toolUseId } from "palimpsest/internal/schema/brand";
import type { CallState, ChatItem } from "../state/chat-item.ts";
import { type ChatState, AppendOnlyList } from "../state/chat-state.ts";
import { createChat } from "../state/update-chat.ts";
import { ChatTui } from "./chat-tui.ts";
import type { DrawFunctions } from "../draw/draw-functions.ts";
import { GuardedTerminal } from "./guarded-terminal.ts";
import { resumedItemsShown } from "../limits.ts";
import { ChatTail } from "./chat-tail.ts";

const wrapped = (text: string, width: number): readonly string[] =>
  text.split("\n").flatMap((line) => line.match(new RegExp(`.{1,${width}}`, "gu")) ?? [""]);

const none = (): readonly string[] => [];

/** Of every item its text, wrapped. */
const drawing: DrawFunctions = {
  item: (item, { width, fold }) => {
    if (item.kind === "call") {
      const lines = [`call ${item.title} ${item.state}`, ...item.summary.split("\n").filter((line) => line !== "")];
      return fold === "folded" ? lines.slice(0, 2) : lines;
    }
    if (item.kind === "output") return item.lines;
    if (item.kind === "notice") return ["=".repeat(width), ...wrapped(item.text, width)];
    return "text" in item ? wrapped(item.text, width) : [item.kind];
  },
  growing: () => ({ state: "whole", lines: wrapped }),
  warning: none,
  phase: none,
  queue: none,
  status: none,
  hint: (text) => [text],
  styled: (line) => line,
};

const begun = createChat({
  model: "m",
  autoCompact: "on",
  thresholds: {
    window: tokens(200_000),
    outputReserve: tokens(20_000),
    effective: tokens(180_000),
    compact: tokens(160_000),
    limit: tokens(180_000),
    warning: tokens(150_000),
    error: tokens(150_000),
    blocking: tokens(177_000),
  },
});

const said = (id: number, text: string, state: "streaming" | "whole" = "whole"): ChatItem => ({
  kind: "text",
  id,
  text,
  state,
});

const call = (id: number, state: CallState, summary: string): ChatItem => ({
  kind: "call",
  id,
  call: toolUseId(`toolu_${id}`),
  tool: "read",
  title: String(id),
  state,
  summary,
});

interface Stage {
  readonly terminal: DrawnTerminal;
  readonly tui: ChatTui;
  readonly tail: ChatTail;
  readonly show: (state: Partial<ChatState>) => Promise<void>;
  readonly foot: string[];
}

async function stage(columns = 40, rows = 10): Promise<Stage> {
  const terminal = new DrawnTerminal(columns, rows);
  for (let line = 1; line <= 6; line += 1) terminal.write(`before ${line}\r\n`);
  const guarded = new GuardedTerminal(terminal, "ansi");
  const tail = new ChatTail({ drawing, now: () => millis(0) });
  const tui = new ChatTui({ terminal: guarded, tail, narrowing: "wraps" });
  const foot = [`> ${CURSOR_MARKER}`, "status"];
  tui.addChild(tail);
  tui.addChild({ render: (width) => ["─".repeat(width), ...foot], invalidate: () => {} });
  tui.start();
  onTestFinished(() => tui.stop({ preserveScreen: true }));
  const show = async (state: Partial<ChatState>): Promise<void> => {
    tail.show({ ...begun, ...state });
    tui.requestRender();
    await terminal.settled();
  };
  return { terminal, tui, tail, show, foot };
}

const before = Array.from({ length: 6 }, (_, index) => `before ${index + 1}`);
const rule = (columns: number): string => "─".repeat(columns);
/** What is in the terminal from its first line on, without the blank rows at the end. */
const all = ({ terminal }: Stage): readonly string[] => {
  const lines = terminal.everything();
  return lines.slice(0, lines.findLastIndex((line) => line !== "") + 1);
};

describe("the scrollback", () => {
  test("keeps what stood there, and every streamed line once", async () => {
    const on = await stage();
    let text = "line 0";
    await on.show({ open: [said(0, text, "streaming")] });
    for (let line = 1; line < 500; line += 1) {
      text += `\nline ${line}`;
      on.tail.show({ ...begun, open: [said(0, text, "streaming")] });
      on.tui.renderNow();
    }
    await on.show({ done: AppendOnlyList.of(said(0, text)) });
    expect(all(on)).toEqual([...before, ...text.split("\n"), rule(40), ">", "status"]);
    expect(on.terminal.raw).not.toContain("\u001B[3J");
    expect(on.terminal.raw).not.toContain("\u001B[2J");
  });

  test.each([
    ["narrower", [30, 10]],
    ["wider", [60, 10]],
    ["lower", [40, 6]],
    ["higher", [40, 16]],
    ["narrower and lower", [25, 7]],
  ] as const)("keeps every line of done items once when it becomes %s", async (_, [columns, rows]) => {
    const on = await stage();
    const items = Array.from({ length: 30 }, (_, id) => said(id, `item ${id} of a line that has its length`));
    let done = AppendOnlyList.of<ChatItem>();
    for (const item of items) {
      done = done.with(item);
      on.tail.show({ ...begun, done });
      on.tui.renderNow();
    }
    await on.terminal.resize(columns, rows);
    const lines = all(on).join("").replaceAll(/\s/g, "");
    for (const line of before) expect(lines.split(line.replaceAll(" ", "")).length, line).toBe(2);
    for (const { id } of items) expect(lines.split(`item${id}of`).length, `item ${id}`).toBe(2);
    expect(lines.split("status").length).toBe(2);
    expect(on.terminal.screen().includes(rule(columns))).toBe(true);
  });

  test("keeps an item that is done and half off the screen as the terminal has wrapped it", async () => {
    const on = await stage();
    const lines = Array.from({ length: 14 }, (_, index) => `l${index}`);
    await on.show({
      done: AppendOnlyList.of<ChatItem>({ kind: "notice", id: 0, tone: "plain", text: lines.join("\n") }),
    });
    await on.terminal.resize(25, 10);
    for (const line of lines)
      expect(
        all(on).filter((each) => each === line),
        line,
      ).toHaveLength(1);
  });

  test("is not touched for a size that does not hold", async () => {
    const on = await stage();
    const items = Array.from({ length: 12 }, (_, id) => said(id, `item ${id}`));
    await on.show({ done: AppendOnlyList.of(...items) });
    const { length } = on.terminal.raw;
    for (const columns of [39, 30, 25, 45]) on.terminal.resizeAtOnce(columns, 10);
    on.tui.renderNow();
    expect(on.terminal.raw).toHaveLength(length);
    await on.terminal.resize(50, 10);
    for (const { id } of items)
      expect(
        all(on).filter((line) => line === `item ${id}`),
        `item ${id}`,
      ).toHaveLength(1);
    expect(on.terminal.screen()).toContain(rule(50));
  });

  test("goes on where it was when it becomes narrower and wider while an answer streams", async () => {
    const on = await stage();
    const words = Array.from({ length: 400 }, (_, index) => `w${String(index).padStart(3, "0")}`);
    for (let count = 1; count <= words.length; count += 1) {
      on.tail.show({ ...begun, open: [said(0, words.slice(0, count).join(" "), "streaming")] });
      on.tui.renderNow();
      if (count === 100) await on.terminal.resize(25, 10);
      if (count === 200) await on.terminal.resize(60, 12);
      if (count === 300) await on.terminal.resize(40, 8);
    }
    await on.terminal.settled();
    const lines = all(on).join("\n");
    const found = words.filter((word) => new RegExp(`${word.split("").join("\\n?")}(?!\\d)`).test(lines));
    expect(found).toEqual(words);
    for (const line of before) expect(lines).toContain(line);
    const doubled = words.filter((word) => lines.split(new RegExp(`(?<![w\\d])${word}(?!\\d)`)).length > 2);
    // Of each of the three, a line at most.
    expect(doubled.length).toBeLessThanOrEqual(3 * 12);
  });

  test("stays through a dialog that is taller than what stood there, and through folding", async () => {
    const on = await stage();
    const items = [said(0, "one"), call(1, "done", "a\nb\nc\nd"), said(2, "two")];
    await on.show({ done: AppendOnlyList.of(...items) });
    const lines = on.foot.splice(0, 2, ...Array.from({ length: 7 }, (_, index) => `dialog ${index}`));
    await on.show({ done: AppendOnlyList.of(...items) });
    on.foot.splice(0, 7, ...lines);
    await on.show({ done: AppendOnlyList.of(...items), folds: { rest: "unfolded", others: new Set() } });
    await on.show({ done: AppendOnlyList.of(...items) });
    const text = all(on);
    for (const line of [...before, "one", "call 1 done", "two", "status"])
      expect(
        text.filter((each) => each === line),
        line,
      ).toHaveLength(1);
    expect(text.filter((each) => each.startsWith("dialog"))).toEqual([]);
  });

  test("gets a call that has left the screen again when it ends otherwise than it stood there", async () => {
    const on = await stage();
    const filler = said(1, Array.from({ length: 20 }, (_, index) => `f${index}`).join("\n"));
    await on.show({ open: [call(0, "running", ""), filler] });
    await on.show({ open: [call(0, "asking", ""), filler] });
    expect(all(on).filter((line) => line.startsWith("call"))).toEqual(["call 0 running"]);
    await on.show({ done: AppendOnlyList.of(call(0, "done", "result"), filler) });
    expect(all(on).filter((line) => line.startsWith("call"))).toEqual(["call 0 running", "call 0 done"]);
    expect(all(on).filter((line) => line === "f0")).toHaveLength(1);
  });

  test("shows the end of a long session that is gone on with, and where the rest is", async () => {
    const on = await stage();
    await on.show({ done: AppendOnlyList.of(...Array.from({ length: 100 }, (_, id) => said(id, `item ${id}`))) });
    const lines = all(on).filter((line) => line !== "");
    expect(lines.slice(6, 8)).toEqual([
      `… ${100 - resumedItemsShown} earlier items: Ctrl-O shows them`,
      `item ${100 - resumedItemsShown}`,
    ]);
    expect(lines).toContain("item 99");
  });

  test("keeps the old chat above another one", async () => {
    const on = await stage();
    await on.show({
      done: AppendOnlyList.of(said(0, "old"), said(1, "older")),
      open: [said(2, "cut off", "streaming")],
    });
    await on.show({ done: AppendOnlyList.of(said(0, "new")), open: [said(1, "and", "streaming")] });
    const lines = all(on).filter((line) => line !== "");
    expect(lines.slice(6, 11)).toEqual(["old", "older", "cut off", "new", "and"]);
  });
});

describe("a frame", () => {
  test("costs by what is visible: a key in a session of 50,000 lines takes less than 16 ms", async () => {
    const on = await stage(80, 40);
    let done = AppendOnlyList.of<ChatItem>();
    await on.show({ done });
    for (let id = 0; id < 2_000; id += 1) {
      done = done.with(said(id, Array.from({ length: 25 }, (_, line) => `item ${id} line ${line}`).join("\n")));
      if (id % 20 === 19) {
        on.tail.show({ ...begun, done });
        on.tui.renderNow();
      }
    }
    await on.terminal.settled();
    expect(on.terminal.everything()).toContain("item 0 line 0");
    const took = Array.from({ length: 101 }, (_, index) => {
      on.foot[0] = `> ${"x".repeat(index % 30)}${CURSOR_MARKER}`;
      const from = cpuMillis();
      on.tui.renderNow();
      return cpuMillis() - from;
    }).toSorted((one, other) => one - other);
    expect(took[50]).toBeLessThan(16);
  });
});
