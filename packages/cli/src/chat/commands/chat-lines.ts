import { randomUUID } from "node:crypto";
import { visibleWidth, wrapTextWithAnsi } from "@earendil-works/pi-tui";
import { toPrintable } from "palimpsest/internal/text/to-printable";
import { createMarkedStyle, plain, type Style, wantsColour } from "../../text/style.ts";
import type { ChatCommandContext } from "../chat-command.ts";
import type { Failure } from "../../program/failure.ts";

interface ChatLines {
  readonly style: Style;
  /** Only what `style` added has a meaning to the terminal, whatever the text quotes. Long lines are wrapped. */
  readonly toLines: (text: string) => readonly string[];
}

/** Turns the text of a command into lines for the chat. */
export function chatLines({ context: { out, env }, ui }: Pick<ChatCommandContext, "context" | "ui">): ChatLines {
  const marked = createMarkedStyle(randomUUID());
  const { columns } = ui;
  return {
    style: wantsColour({ isTTY: out.isTerminal }, env) ? marked.style : plain,
    toLines: (text) => {
      const printable = toPrintable(text.replace(/\n$/, "").replaceAll("\t", "  "));
      return marked
        .sequences(printable)
        .split("\n")
        .flatMap((line) => wrapLine(line, columns));
    },
  };
}

/** Lays a text out and shows it. */
export function print(chat: Pick<ChatCommandContext, "context" | "ui" | "act">, text: (style: Style) => string): void {
  const { style, toLines } = chatLines(chat);
  chat.act({ kind: "print", lines: toLines(text(style)) });
}

/** Continuation lines are indented like the line, or like the text behind its label. */
function wrapLine(line: string, columns: number): readonly string[] {
  if (visibleWidth(line) <= columns) return [line];
  const [head = ""] = /^ *(?:[a-z]+ {2,})?/.exec(line) ?? [];
  const indent = head.length > columns / 2 ? 0 : head.length;
  const [first = "", ...others] = wrapTextWithAnsi(line.slice(indent), columns - indent);
  return [`${line.slice(0, indent)}${first}`, ...others.map((rest) => `${" ".repeat(indent)}${rest}`)];
}

type NoticeTarget = Pick<ChatCommandContext, "act">;

export const tell = ({ act }: NoticeTarget, text: string): void => act({ kind: "tell", tone: "plain", text });

export const warn = ({ act }: NoticeTarget, text: string): void => act({ kind: "tell", tone: "warning", text });

/** What went wrong, and in a second sentence what to do about it here. */
export const refuse = (target: NoticeTarget, { message, hint }: Pick<Failure, "message" | "hint">): void =>
  warn(target, `${asSentence(message)}${hint === undefined ? "" : ` ${hint}`}`);

/** The log could not be written: what was said before stays. */
export const tellWriteFailure = ({ act }: NoticeTarget, { message }: { readonly message: string }): void =>
  act({ kind: "tell", tone: "error", text: `It could not be written: ${message}` });

/** Capitalises the first letter, unless the message begins with a name: names of files and entries keep their case. */
const asSentence = (message: string): string => {
  const text = message.trim();
  const first = /^[a-z]+[\s,:]/.test(text) ? text.slice(0, 1).toUpperCase() : text.slice(0, 1);
  return `${first}${text.slice(1)}${/[.!?]$/.test(text) ? "" : "."}`;
};
