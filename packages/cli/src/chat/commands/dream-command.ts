import type { DreamRunOutcome } from "palimpsest/internal/context/memory/session-dream";
import { dreamObstacleText, dreamReportText, dreamTaskText, noDreamText } from "../../memory/dream-text.ts";
import { type ChatCommand, type ChatCommandContext, stay } from "../chat-command.ts";
import { print, refuse, tell } from "./chat-lines.ts";

/** Consolidates the memories in the background, and shows what came of it. */
export const dreamCommand: ChatCommand = async ({ flags }, chat) => {
  const { dream } = chat.agent;
  if (dream === undefined) {
    refuse(chat, { message: "there are no memories here" });
    return stay;
  }
  if (dream.task?.status === "running") {
    tell(chat, `A dream is ${dreamTaskText(dream.task, Date.now())}. /tasks ends it.`);
    return stay;
  }
  const obstacle = flags.includes("--force") ? undefined : await dream.findObstacle();
  if (obstacle !== undefined) {
    const { message, hint } = dreamObstacleText(obstacle);
    refuse(chat, hint === undefined ? { message } : { message, hint: `/dream ${hint}` });
    return stay;
  }
  const mode = flags.includes("--dry-run") ? "dry-run" : "commit";
  const shown = dream
    .run({ mode, force: true })
    .then((outcome) => showOutcome(chat, { outcome, mode }))
    .catch((error: unknown) => refuse(chat, { message: `the dream could not be shown: ${String(error)}` }));
  tell(chat, "Dreaming in the background: /tasks shows how far it is.");
  // Through a pipe the chat would end, and the dream with it.
  if (chat.ui.answeredBy === "nobody") await shown;
  return stay;
};

interface ShownOutcome {
  readonly outcome: DreamRunOutcome;
  readonly mode: "commit" | "dry-run";
}

function showOutcome(chat: ChatCommandContext, { outcome, mode }: ShownOutcome): void {
  if (outcome.kind !== "dreamt" && outcome.kind !== "refused") return refuse(chat, { message: noDreamText(outcome) });
  const { receipt } = outcome;
  const revision = outcome.kind === "dreamt" ? outcome.revision?.id : undefined;
  if (outcome.kind === "refused") refuse(chat, { message: "the audit refused the dream, and nothing was changed" });
  print(chat, (style) => dreamReportText({ receipt, mode, revision, style }));
}
