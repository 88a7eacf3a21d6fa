import type { PreviewAnswer, PreviewAsk } from "../chat-ui.ts";
import type { Theme } from "../theme/theme.ts";
import type { Dialog, DialogDeps } from "./dialog.ts";
import { type Lines, markdown, readyLines, stacked, titleLine } from "./lines.ts";
import type { Script } from "./script.ts";
import { dialogOf } from "./scripted.ts";

/** A text to look at and decide about. */
export const previewDialog = (ask: PreviewAsk, deps: DialogDeps): Dialog<PreviewAnswer> =>
  dialogOf(previewScript(ask, deps.theme), deps);

type PreviewState = "counted" | "listed";

function previewScript({ title, facts, details, text }: PreviewAsk, theme: Theme): Script<PreviewState, PreviewAnswer> {
  const gap = facts.length > 0 ? [() => [""]] : [];
  const summary = markdown(text, theme);
  const bodyWith = (shown: readonly (readonly string[])[]): Lines =>
    stacked([...shown.map((lines) => readyLines(lines)), ...gap, summary]);
  const bodies = { counted: bodyWith([facts]), listed: bodyWith([facts, details]) };
  const hint = { counted: "d lists details", listed: "d counts details" };
  return {
    first: "counted",
    harmless: "cancel",
    guard: "first",
    press: (state, { key }) => {
      if (key === "d" && details.length > 0) return { kind: "to", state: state === "counted" ? "listed" : "counted" };
      const answer = answerByKey[key];
      return answer === undefined ? { kind: "pass" } : { kind: "answer", answer };
    },
    look: (state) => ({
      id: `preview-${state}`,
      title: titleLine(title),
      body: bodies[state],
      hints: [
        "enter commits",
        "e edits",
        "esc cancels",
        ...(details.length === 0 ? [] : [hint[state]]),
        "↑↓ pgup/pgdn scroll",
      ],
    }),
  };
}

const answerByKey: Readonly<Record<string, PreviewAnswer | undefined>> = {
  enter: "commit",
  y: "commit",
  e: "edit",
  n: "cancel",
  escape: "cancel",
};
