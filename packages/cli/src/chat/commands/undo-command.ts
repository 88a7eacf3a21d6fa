import type { UndoOutcome } from "palimpsest/internal/session/undo";
import { formatCount } from "palimpsest/internal/text/format-count";
import type { Failure } from "../../program/failure.ts";
import { formatNumber } from "../../text/format.ts";
import { branchPointText, undoReportText } from "../../text/receipt-text.ts";
import { type ChatCommandContext, type ChatCommand, stay } from "../chat-command.ts";
import { print, refuse, tell, tellWriteFailure } from "./chat-lines.ts";

/**
 * Undoes the newest edit that counts. If the view before it can't be sent, offers to rewind to before the edit instead.
 */
export const undoCommand: ChatCommand = async (_slashed, chat) => {
  const { agent } = chat;
  const outcome = await agent.context.view.undo();
  if (outcome.kind === "refused" && outcome.why === "too-large") {
    if (await wantsBranch(chat)) await reportUndo(chat, await agent.context.view.undo({ mode: "branch" }));
  } else await reportUndo(chat, outcome);
  return stay;
};

async function wantsBranch({ ui, agent, signal }: ChatCommandContext): Promise<boolean> {
  const limit = formatCount(agent.settings().thresholds.blocking);
  const answer = await ui.choose(
    {
      title: `The view would be over ${limit} tokens, and no such request can be sent`,
      choices: [
        { value: "leave", label: "Leave it as it is" },
        {
          value: "branch",
          label: "Go on from before the edit",
          description: "what was said since stays on a branch of its own; recall finds it",
        },
      ],
      search: "none",
    },
    signal,
  );
  return answer === "branch" && !signal.aborted;
}

async function reportUndo(chat: ChatCommandContext, outcome: UndoOutcome): Promise<void> {
  const { agent } = chat;
  if (outcome.kind === "failed") return tellWriteFailure(chat, outcome);
  if (outcome.kind === "refused") return refuse(chat, refusal(agent.session.id, outcome));
  // An undo is reported only once a power cut can no longer undo it.
  const ended = await agent.session.endTurn();
  if (ended.kind === "failed") return tellWriteFailure(chat, ended);
  const size = `about ${formatNumber(agent.session.ledger.size.tokens)} tokens`;
  if (outcome.kind === "branched") {
    tell(
      chat,
      `The session goes on ${branchPointText(outcome)}, with ${size}. The branch it left stays; /undo leads back.`,
    );
    return;
  }
  print(chat, (style) => `${undoReportText(outcome, style)}context   now ${size}`);
  const back = outcome.undos.toReversed().map((id) => `palimpsest undo ${agent.session.id} ${id}`);
  tell(chat, `To redo it, when the chat is closed: ${back.join(" && ")}`);
}

/** The chat command takes no id, so edits that need one are named with their shell command. */
function refusal(
  session: string,
  { text, redo }: Extract<UndoOutcome, { kind: "refused" }>,
): Pick<Failure, "message" | "hint"> {
  if (redo === undefined) return { message: text };
  return {
    message: "nothing is left to undo",
    hint: `To redo the ${redo.type}, when the chat is closed: palimpsest undo ${session} ${redo.undo}`,
  };
}
