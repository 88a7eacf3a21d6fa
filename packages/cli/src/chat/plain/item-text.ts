import type { Millis } from "palimpsest/internal/schema/brand";
import { joinLines, wrapLines } from "../../text/format.ts";
import type { Format, Style } from "../../text/style.ts";
import type { CallItem, CallState, ChatItem, Tone } from "../../tui/state/chat-item.ts";
import { undoMemoriesHint } from "../../tui/text/event-lines.ts";
import { retryText } from "../../tui/text/status-figures.ts";

interface PlainLook {
  readonly style: Style;
  readonly now: Millis;
  /** The terminal's width; undefined if the lines go to a file or a program. */
  readonly columns: number | undefined;
}

/** An item line by line, without the final line end; undefined for items that a plain chat does not show. */
export function itemText(item: ChatItem, { style, now, columns }: PlainLook): string | undefined {
  const wrap = (text: string): string => wrapLines(text, columns);
  switch (item.kind) {
    case "user":
      return style("cyan", wrap(`> ${item.text.replaceAll("\n", "\n  ")}`));
    case "text":
      return wrap(item.state === "cut" ? `${item.text} …` : item.text);
    case "thinking":
      return undefined;
    case "call":
      return callText(item, { style, now, columns });
    case "edit":
    case "compacted":
      return style("dim", wrap(item.line));
    case "memories":
      return style("dim", wrap(`${item.line} ${undoMemoriesHint("line")}`));
    case "retry":
      return style("dim", wrap(retryText(item, now)));
    case "notice":
      return item.tone === "plain" ? wrap(item.text) : style(colourByTone[item.tone], wrap(item.text));
    case "output":
      return item.lines.join("\n");
  }
}

/** Wrapped as a whole, then coloured in parts: colours must not change the wrapping. */
function callText({ tool, title, state, summary }: CallItem, { style, columns }: PlainLook): string {
  const head = `[${joinLines(tool)}]`;
  const heading = `${head}${title === "" ? "" : ` ${joinLines(title)}`}${endText(state)}`;
  const whole = wrapLines(summary === "" ? heading : `${heading}: ${joinLines(summary)}`, columns);
  const result = whole.slice(heading.length);
  return `${style("yellow", whole.slice(0, head.length))}${whole.slice(head.length, heading.length)}${result === "" ? "" : style("dim", result)}`;
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
