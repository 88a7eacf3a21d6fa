import type { Millis } from "palimpsest/internal/schema/brand";
import type { CallItem, CallState, ChatItem, Tone } from "../../tui/state/chat-item.ts";
import { retryText } from "../../tui/text/status-words.ts";
import { filledLines, oneLine } from "../../human.ts";
import type { Format, Style } from "../../style.ts";

export interface PlainLook {
  readonly style: Style;
  readonly now: Millis;
  /** Of the terminal; undefined where the lines go to a file or a program. */
  readonly columns: number | undefined;
}

/** An item line by line, without its line end; undefined for what a plain chat does not show. */
export function itemText(item: ChatItem, { style, now, columns }: PlainLook): string | undefined {
  const wrapped = (text: string): string => filledLines(text, columns);
  switch (item.kind) {
    case "person":
      return style("cyan", wrapped(`> ${item.text.replaceAll("\n", "\n  ")}`));
    case "text":
      return wrapped(item.state === "cut" ? `${item.text} …` : item.text);
    case "thinking":
      return undefined;
    case "call":
      return callText(item, { style, now, columns });
    case "edit":
    case "compacted":
      return style("dim", wrapped(item.line));
    case "retry":
      return style("dim", wrapped(retryText(item, now)));
    case "notice":
      return item.tone === "plain" ? wrapped(item.text) : style(colourByTone[item.tone], wrapped(item.text));
    case "output":
      return item.lines.join("\n");
  }
}

/** Wrapped as one, then painted part by part: wrapping moves nothing. */
function callText({ tool, title, state, summary }: CallItem, { style, columns }: PlainLook): string {
  const head = `[${oneLine(tool)}]`;
  const called = `${head}${title === "" ? "" : ` ${oneLine(title)}`}${endText(state)}`;
  const whole = filledLines(summary === "" ? called : `${called}: ${oneLine(summary)}`, columns);
  const result = whole.slice(called.length);
  return `${style("yellow", whole.slice(0, head.length))}${whole.slice(head.length, called.length)}${result === "" ? "" : style("dim", result)}`;
}

const colourByTone: Readonly<Record<Exclude<Tone, "plain">, Format>> = { warning: "yellow", error: "red" };

function endText(state: CallState): string {
  switch (state) {
    case "done":
    case "running":
    case "asking":
      return "";
    case "failed":
    case "denied":
    case "interrupted":
      return ` (${state})`;
  }
}
