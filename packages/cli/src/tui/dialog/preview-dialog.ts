import type { PreviewAnswer, PreviewPrompt } from "../chat-ui.ts";
import type { Theme } from "../theme.ts";
import type { Dialog, DialogDeps, DialogScript } from "./dialog.ts";
import { type RenderLines, markdownLines, readyLines, stackLines, singleLine } from "./render-lines.ts";
import { createDialog } from "./create-dialog.ts";

/** Shows a text for approval. */
export const previewDialog = (ask: PreviewPrompt, deps: DialogDeps): Dialog<PreviewAnswer> =>
  createDialog(previewScript(ask, deps.theme), deps);

type PreviewState = "counted" | "listed";

function previewScript(
  { title, facts, details, text }: PreviewPrompt,
  theme: Theme,
): DialogScript<PreviewState, PreviewAnswer> {
  const gap = facts.length > 0 ? [() => [""]] : [];
  const summary = markdownLines(text, theme);
  const bodyWith = (sections: readonly (readonly string[])[]): RenderLines =>
    stackLines([...sections.map((lines) => readyLines(lines)), ...gap, summary]);
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
      title: singleLine(title),
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
