import type { EntryId } from "palimpsest/internal/schema/brand";
import { findEntry, findPin, pinsReport, pinsText, type PinVerb } from "../../session/find-pin.ts";
import { joinLines } from "../../text/format.ts";
import { type ChatCommandContext, type ChatCommand, stay } from "../chat-command.ts";
import { pinChoices } from "./message-choices.ts";
import { refuse, tell, tellWriteFailure, warn } from "./chat-lines.ts";

/** Pins a message, or unpins a pinned one. */
export const pinCommand: ChatCommand = async ({ rest }, chat) => {
  const named = rest === "" ? await pickPin(chat) : rest;
  if (named !== undefined) await togglePin(chat, named);
  return stay;
};

async function pickPin(chat: ChatCommandContext): Promise<string | undefined> {
  const { ui, agent, signal } = chat;
  const choices = pinChoices(agent.session);
  const [only, ...others] = choices;
  if (only === undefined) tell(chat, "Nothing was said yet that could be pinned.");
  if (only === undefined || others.length === 0) return only?.value;
  const title = "Which message is carried through every compaction, or no longer?";
  const chosen = await ui.choose({ title, choices, search: "typed", verb: "pin or unpin" }, signal);
  return signal.aborted ? undefined : chosen;
}

async function togglePin(chat: ChatCommandContext, named: string): Promise<void> {
  const { session, context, settings } = chat.agent;
  const verb = verbFor(chat, named);
  const found = findPin(session.fold, { verb, named });
  if (found.kind === "reduced")
    return refuse(chat, { message: found.message, hint: "/undo takes that back, where it is the newest edit." });
  if (found.kind !== "found")
    return refuse(chat, { message: found.message, hint: "/pin without a name lists what can be pinned." });
  const edited = await context.view.pin(found.entry, verb);
  if (edited.kind === "failed") return tellWriteFailure(chat, edited);
  const ended = await session.endTurn();
  if (ended.kind === "failed") return tellWriteFailure(chat, ended);
  const report = pinsReport(session.fold, settings().window.tokens);
  const what = verb === "pin" ? "Pinned" : "No longer pinned";
  tell(chat, `${what}: ${pinLabel(chat, found.entry)}\n${pinsText(report)}`);
  if (report.warning !== undefined) warn(chat, report.warning);
}

function verbFor({ agent: { session } }: ChatCommandContext, named: string): PinVerb {
  const { pins } = session.fold.projection;
  return findEntry(session.fold, { named, among: [...pins] }) === undefined ? "pin" : "unpin";
}

const pinLabel = ({ agent: { session } }: ChatCommandContext, entry: EntryId): string =>
  pinChoices(session).find(({ value }) => value === entry)?.label ?? joinLines(entry);
