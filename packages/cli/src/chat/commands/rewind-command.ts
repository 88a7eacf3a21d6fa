import { type RewindPoint, listRewindPoints } from "palimpsest/internal/session/undo";
import type { Choice } from "../../tui/chat-ui.ts";
import { clip, formatNumber } from "../../text/format.ts";
import { type ChatCommandContext, type ChatCommand, stay } from "../chat-command.ts";
import { compactPart } from "./compact-command.ts";
import { messageCharsMax } from "../limits.ts";
import { messageChoices, findMessage } from "./message-choices.ts";
import { refuse, tell, tellWriteFailure, warn } from "./chat-lines.ts";

/** Picks a message, and what happens to it and to everything after it. */
export const rewindCommand: ChatCommand = async ({ rest }, chat) => {
  const message = await chooseMessage(chat, rest);
  if (message !== undefined) await chooseAction(chat, message);
  return stay;
};

async function chooseMessage(chat: ChatCommandContext, named: string): Promise<RewindPoint | undefined> {
  const { ui, agent, signal } = chat;
  const messages = listRewindPoints(agent.session);
  if (named !== "") {
    const found = findMessage(messages, named);
    if (found === undefined)
      refuse(chat, { message: `no message of yours is called ${named}`, hint: "/rewind without a name lists them." });
    return found;
  }
  if (messages.length === 0) {
    tell(chat, "Nothing was said yet.");
    return undefined;
  }
  const ask = { title: "Back to which message?", choices: messageChoices(agent.session), search: "typed" } as const;
  const chosen = await ui.choose(ask, signal);
  return signal.aborted ? undefined : messages.find(({ id }) => id === chosen);
}

const restore: Choice = {
  value: "restore",
  label: "Go on from before it",
  description:
    "it goes back to where you type; what was said since stays on a branch of its own; files are not changed",
};
const summariseFrom: Choice = {
  value: "from",
  label: "Summarise from here",
  description: "it and all behind it; what stands before it stays",
};
const summariseUpTo: Choice = {
  value: "up_to",
  label: "Summarise up to here",
  description: "what stands before it; the rest stays",
};
const neverMind: Choice = { value: "nothing", label: "Never mind" };

/** What a boundary covers can't be summarised again by itself. */
const choicesFor = ({ state }: RewindPoint): readonly Choice[] =>
  state === "in-view" ? [restore, summariseFrom, summariseUpTo, neverMind] : [restore, neverMind];

async function chooseAction(chat: ChatCommandContext, message: RewindPoint): Promise<void> {
  const { ui, signal } = chat;
  const title = clip(message.text, messageCharsMax);
  const answer = await ui.choose({ title, choices: choicesFor(message), search: "none" }, signal);
  if (signal.aborted) return;
  if (answer === "restore") return rewindTo(chat, message);
  if (answer === "from" || answer === "up_to")
    await compactPart(chat, { part: { kind: answer, entry: message.id }, decision: "ask" });
}

async function rewindTo(chat: ChatCommandContext, message: RewindPoint): Promise<void> {
  const { agent, ui } = chat;
  const { session } = agent;
  const rewound = await agent.context.view.rewind(message.id);
  if (rewound.kind === "not-said")
    return refuse(chat, { message: "that message is not on the session's path any more" });
  if (rewound.kind === "failed") return tellWriteFailure(chat, rewound);
  const ended = await session.endTurn();
  if (ended.kind === "failed") return tellWriteFailure(chat, ended);
  const size = session.ledger.size.tokens;
  tell(
    chat,
    `The conversation goes on from before that message, with about ${formatNumber(size)} tokens. What was said since stays on the branch that was left: /recall finds it, /undo leads back. Files were not changed.`,
  );
  if (size > agent.settings().thresholds.blocking)
    warn(chat, "No request of this size can be sent: the next one is compacted first, or /compact does it.");
  ui.refill(rewound.text);
}
