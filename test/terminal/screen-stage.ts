import { onTestFinished } from "vitest";
import { millis, tokens } from "../../packages/palimpsest/src/schema/brand.ts";
import type { ChatHandlers } from "../../packages/cli/src/tui/chat-ui.ts";
import type { ChatItem } from "../../packages/cli/src/tui/state/chat-item.ts";
import type { ChatState } from "../../packages/cli/src/tui/state/chat-state.ts";
import { createChat } from "../../packages/cli/src/tui/state/update-chat.ts";
import type { Colours } from "../../packages/cli/src/tui/theme.ts";
import type { ProcessEvent } from "../../packages/cli/src/tui/screen/terminal-owner.ts";
import { openScreen, type Screen } from "../../packages/cli/src/tui/screen/open-screen.ts";
import { DrawnTerminal } from "./drawn-terminal.ts";

export const begun = createChat({
  model: "some-model",
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

export interface Stage {
  readonly terminal: DrawnTerminal;
  readonly screen: Screen;
  readonly did: string[];
  readonly queue: string[];
  readonly clock: { now: number };
  readonly raise: (event: ProcessEvent) => void;
}

export interface StageOptions {
  readonly columns?: number;
  readonly rows?: number;
  readonly colours?: Colours;
  readonly history?: readonly string[];
  /** When it is there. Default: at once. */
  readonly historyRead?: Promise<void>;
}

export async function stage({
  columns = 80,
  rows = 20,
  colours = "ansi",
  history = [],
  historyRead,
}: StageOptions = {}): Promise<Stage> {
  const terminal = new DrawnTerminal(columns, rows);
  terminal.write("$ palimpsest\r\n");
  const did: string[] = [];
  const queue: string[] = [];
  const clock = { now: 1_000 };
  const listeners = new Map<ProcessEvent, () => void>();
  const handlers: ChatHandlers = {
    submit: (text) => void did.push(`submit ${JSON.stringify(text)}`),
    interrupt: () => void did.push("interrupt"),
    takeBack: () => queue.pop(),
    undoMemories: () => void did.push("undo memories"),
    nextMode: () => void did.push("next mode"),
    quit: () => void did.push("quit"),
    complete: async (of) => [{ value: `one-of-${of}`, label: `one of ${of}` }],
  };
  const screen = openScreen(
    {
      terminal,
      colours,
      cwd: "/work",
      narrowing: "wraps",
      now: () => millis(clock.now),
      history: async () => {
        await historyRead;
        return { entries: history, add: async (text) => void did.push(`remember ${text}`) };
      },
      pause: async () => {},
      listFiles: async (onFile) => {
        for (const path of ["src/main.ts", "src/other.ts", "read me.md"]) onFile(path);
      },
      detail: async (item) =>
        item.kind === "call"
          ? { kind: "call", input: { path: "a.ts" }, result: "the whole\nresult" }
          : item.kind === "compacted"
            ? { kind: "summary", text: "the summary", original: [] }
            : { kind: "nothing" },
      host: {
        on: (event, listener) => {
          listeners.set(event, listener);
          return () => void listeners.delete(event);
        },
        suspend: () => void did.push("suspend"),
      },
    },
    handlers,
  );
  screen.start();
  screen.show(begun);
  onTestFinished(() => screen.stop());
  await terminal.settled();
  return { terminal, screen, did, queue, clock, raise: (event) => listeners.get(event)?.() };
}

export const working: ChatState = { ...begun, turn: "running", phase: { kind: "responding" } };
export const said = (id: number, text: string): ChatItem => ({ kind: "text", id, text, state: "whole" });
export const call = (id: number): ChatItem => ({
  kind: "call",
  id,
  call: `toolu_${id}` as never,
  tool: "read",
  title: "a.ts",
  state: "done",
  summary: "2 lines",
});

export const text = ({ terminal }: Stage): string => terminal.screen().join("\n");
