import type { PreviewAnswer, PreviewAsk } from "../chat-ui.ts";
import type { Theme } from "../theme/theme.ts";
import type { Dialog, DialogDeps } from "./dialog.ts";
import { markdown, readyLines, stacked, titleLine } from "./lines.ts";
import type { Script } from "./script.ts";
import { dialogOf } from "./scripted.ts";

/** A text to look at and decide about. */
export const previewDialog = (ask: PreviewAsk, deps: DialogDeps): Dialog<PreviewAnswer> =>
  dialogOf(previewScript(ask, deps.theme), deps);

function previewScript({ title, facts, text }: PreviewAsk, theme: Theme): Script<"looking", PreviewAnswer> {
  const gap = facts.length > 0 ? [() => [""]] : [];
  const body = stacked([readyLines(facts), ...gap, markdown(text, theme)]);
  return {
    first: "looking",
    harmless: "cancel",
    guard: "first",
    press: (_, { key }) => {
      const answer = answerByKey[key];
      return answer === undefined ? { kind: "pass" } : { kind: "answer", answer };
    },
    look: () => ({
      id: "preview",
      title: titleLine(title),
      body,
      hints: ["enter commits", "e edits", "esc cancels", "↑↓ pgup/pgdn scroll"],
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
