import { globSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { shownBeforeAnswerMs } from "../../packages/cli/src/tui/limits.ts";
import { chatProgram, isPromptShown } from "./chat-program.ts";
import { testTerminal } from "./in-test.ts";
import type { Key } from "./keys.ts";
import { openTerminal, type Terminal, type TerminalOptions } from "./terminal.ts";

export interface ChatOptions extends Pick<TerminalOptions, "columns" | "rows" | "keyboard" | "clusters"> {
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** A shell script that runs the chat as `"$@"`. */
  readonly script?: string;
  /** `none`: as somebody starts it for the first time, who has no key. */
  readonly model?: "simulator" | "none";
}

/** A home and a project in which chats are opened, with a scenario that answers. All of it goes with the test run. */
export interface ChatWorld {
  readonly home: string;
  readonly cwd: string;
  /** At its first prompt. */
  open(options?: ChatOptions): Promise<Terminal>;
  /** Not waited for. */
  start(options?: ChatOptions): Terminal;
  /** What every log of this home holds, as text. */
  logs(): string;
  /** Of the user, oldest first, as the logs hold it. */
  said(): readonly string[];
}

/** Compiled once for the whole test run. */
const cache = join(resolve(tmpdir(), "../.."), "compiled");

export function newChatWorld(moves: string, files: Readonly<Record<string, string>> = {}): ChatWorld {
  const base = realpathSync(mkdtempSync(join(tmpdir(), "chat-")));
  const [home, cwd] = [join(base, "home"), join(base, "project")];
  const scenario = join(base, "scenario.yaml");
  mkdirSync(cwd);
  writeFileSync(scenario, scenarioOf(moves));
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(cwd, name)), { recursive: true });
    writeFileSync(join(cwd, name), text);
  }
  const logs = (): string =>
    globSync("projects/*/*.jsonl", { cwd: home })
      .map((file) => readFileSync(join(home, file), "utf8"))
      .join("");
  const start = ({ args = [], env = {}, script, model = "simulator", ...rest }: ChatOptions = {}): Terminal => {
    const given = model === "none" ? args : ["--scenario", scenario, ...args];
    const program = chatProgram({ home, cwd, cache, env, model, args: given });
    return testTerminal({ ...(script === undefined ? program : inShell(program, script)), ...rest });
  };
  return {
    home,
    cwd,
    start,
    open: async (options) => {
      const terminal = start(options);
      await terminal.waitFor(isPromptShown);
      return terminal;
    },
    logs,
    said: () => logs().split("\n").flatMap(saidIn),
  };
}

/** Compiled code is kept by a process that ends by itself, and most of these do not. */
export async function compileOnce(): Promise<void> {
  const base = realpathSync(mkdtempSync(join(tmpdir(), "chat-")));
  const chat = openTerminal(chatProgram({ home: join(base, "home"), cwd: base, cache }));
  try {
    await chat.waitFor(isPromptShown, { withinMillis: 50_000 });
    chat.press("ctrl+d");
    await chat.exited;
  } finally {
    await chat.close();
  }
}

const inShell = (program: TerminalOptions, script: string): TerminalOptions => ({
  ...program,
  command: "bash",
  args: ["-c", script, "bash", program.command, ...(program.args ?? [])],
});

const scenarioOf = (moves: string): string => `name: a chat
lanes:
  - name: summaries and notes
    when: { any: [{ lastUser: <summary> }, { lastUser: '/\\bnotes file\\b/i' }] }
    responder: extract
${moves}
after: echo
`;

/** A message of the user's: an entry of its own, or handed over while the agent worked. */
function saidIn(line: string): readonly string[] {
  if (line === "") return [];
  const entry = JSON.parse(line) as {
    readonly type: string;
    readonly message?: { readonly content: string | readonly { readonly type: string; readonly text?: string }[] };
    readonly attachment?: { readonly type: string; readonly prompt?: string };
  };
  if (entry.attachment?.type === "queued_command") return [entry.attachment.prompt ?? ""];
  const content = entry.type === "user" ? (entry.message?.content ?? []) : [];
  if (typeof content === "string") return [content];
  return content.flatMap(({ type, text }) => (type === "text" && text !== undefined ? [text] : []));
}

export function send(chat: Terminal, text: string): void {
  chat.type(text);
  chat.press("enter");
}

/**
 * Answers a dialog that is shown. What is typed ahead of it does not count, and neither does a key before it has been quiet
 * for a moment: that this is over can't be seen, so it is waited for by the clock.
 */
export async function answer(chat: Terminal, ...keys: readonly Key[]): Promise<void> {
  await pause(1.5 * shownBeforeAnswerMs);
  chat.press(...keys);
}

/** A reply that comes slowly: `- item 1` and so on. */
export const slowItems = (count: number, pauseMs = 10): string =>
  `moves:\n  - pauseMs: ${pauseMs}\n    text: ${JSON.stringify(itemLines(count).join("\n"))}`;

export const itemLines = (count: number): readonly string[] =>
  Array.from({ length: count }, (_, at) => `- item ${at + 1}`);

/** A move, a colour, a style: nothing of the kind belongs to a terminal without colour. Modes of the keyboard end in m too. */
// oxlint-disable-next-line no-control-regex
export const styleSequence = /\u001B\[[\d;:]*m/;
