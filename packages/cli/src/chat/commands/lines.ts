import { randomUUID } from "node:crypto";
import { visibleWidth, wrapTextWithAnsi } from "@earendil-works/pi-tui";
import { printable } from "palimpsest/internal/schema/printable";
import { markedStyle, plain, type Style, wantsColour } from "../../style.ts";
import type { ChatCommandContext } from "../chat-command.ts";

export interface ChatLines {
  readonly style: Style;
  /** Whatever the text quotes, only what `style` made of it is more than characters. What is too long goes on below. */
  readonly of: (text: string) => readonly string[];
}

/** What a command lays out, as lines for the chat. */
export function chatLines({ context: { out, env }, ui }: Pick<ChatCommandContext, "context" | "ui">): ChatLines {
  const marked = markedStyle(randomUUID());
  const { columns } = ui;
  return {
    style: wantsColour({ isTTY: out.isTerminal }, env) ? marked.style : plain,
    of: (text) => {
      const shown = printable(text.replace(/\n$/, "").replaceAll("\t", "  "));
      return marked
        .sequences(shown)
        .split("\n")
        .flatMap((line) => wrapped(line, columns));
    },
  };
}

/** Lays a text out and shows it. */
export function print(chat: Pick<ChatCommandContext, "context" | "ui" | "act">, text: (style: Style) => string): void {
  const { style, of } = chatLines(chat);
  chat.act({ kind: "print", lines: of(text(style)) });
}

/** Behind its own indentation, or below what its label stands before. */
function wrapped(line: string, columns: number): readonly string[] {
  if (visibleWidth(line) <= columns) return [line];
  const [head = ""] = /^ *(?:[a-z]+ {2,})?/.exec(line) ?? [];
  const indent = head.length > columns / 2 ? 0 : head.length;
  const [first = "", ...others] = wrapTextWithAnsi(line.slice(indent), columns - indent);
  return [`${line.slice(0, indent)}${first}`, ...others.map((one) => `${" ".repeat(indent)}${one}`)];
}
