import type { Memories, Memory, MemoryRevision } from "palimpsest/internal/ports/memories";
import { millis } from "palimpsest/internal/schema/brand";
import { checkInstructions, checkMemories, memoryCheckText } from "../../memory/check-memory.ts";
import { commitAsUser, writeRefusal } from "../../memory/change-memory.ts";
import { findMemory, shortPath } from "../../memory/find-memory.ts";
import { describeForget, forgetMemory } from "../../memory/forget-memory.ts";
import { authorText, formatDay, memoryFacts, memoryListText } from "../../memory/memory-text.ts";
import { noMemories, openMemories } from "../../memory/open-memories.ts";
import { revertMemory } from "../../memory/revert-memory.ts";
import { formatInstructionReport } from "../../text/instruction-report.ts";
import { type ChatCommand, type ChatCommandContext, stay } from "../chat-command.ts";
import { print, refuse, tell } from "./chat-lines.ts";

/** Lists the memories, and shows, edits, reverts or forgets one; `undo` takes back what was saved in the background. */
export const memoryCommand: ChatCommand = async ({ rest }, chat) => {
  const opened = await openMemories(chat.context);
  if (opened.kind === "failure") {
    refuse(chat, opened);
    return stay;
  }
  const { memories } = opened;
  if (rest === "undo") {
    await undoSaved(chat, memories);
    return stay;
  }
  if (rest === "") await showLoaded(chat);
  const memory = rest === "" ? await pickMemory(chat, memories) : await findNamed(chat, { memories, name: rest });
  if (memory === undefined) return stay;
  await show(chat, { memories, memory });
  const action = await pickAction(chat, memory);
  if (action !== undefined) await runByAction[action](chat, { memories, memory });
  return stay;
};

/** Takes back the newest revision that an extraction or a dream of this session made. */
async function undoSaved(chat: ChatCommandContext, memories: Memories): Promise<void> {
  const { agent } = chat;
  const history = await memories.history();
  // A dream belongs to no session: once the chat has ended, only the log names it.
  const newest =
    agent.lastSaved()?.revision ??
    history.find(({ author, provenance }) => author === "extraction" && provenance.session === agent.session.id)?.id;
  if (newest === undefined) return tell(chat, "Nothing was saved in the background in this session.");
  const outcome = await revertMemory(memories, { revision: newest, at: millis(Date.now()) });
  if (outcome.kind !== "failure") return tell(chat, outcome.message);
  const undone = history.find(({ message }) => message.startsWith(`revert ${newest}:`));
  if (undone === undefined) return refuse(chat, outcome);
  tell(chat, `Revision ${newest} was taken back already. \`palimpsest memory revert ${undone.id}\` brings it back.`);
}

/** The instruction files, what they cost a session, and what is wrong with memories. */
async function showLoaded(chat: ChatCommandContext): Promise<void> {
  const report = await checkInstructions(chat.context, { model: chat.agent.model });
  const check = await checkMemories(chat.context);
  print(chat, () => `${formatInstructionReport(report)}\n${memoryCheckText(check)}`);
}

interface ChosenMemory {
  readonly memories: Memories;
  readonly memory: Memory;
}

async function pickMemory(chat: ChatCommandContext, memories: Memories): Promise<Memory | undefined> {
  const { ui, signal } = chat;
  const all = (await memories.list()).filter(({ role }) => role === "memory");
  if (all.length === 0) {
    tell(chat, noMemories.trim());
    return undefined;
  }
  if (ui.answeredBy === "nobody") {
    print(chat, () => memoryListText(all, { nowMs: Date.now(), columns: ui.columns }));
    return undefined;
  }
  const choices = all.map((memory) => ({
    value: memory.path,
    label: shortPath(memory.path),
    description: `${memory.trust === "untrusted" ? "(untrusted) " : ""}${memory.description}`,
  }));
  const chosen = await ui.choose({ title: "Which memory?", choices, search: "typed", verb: "show" }, signal);
  return signal.aborted ? undefined : all.find(({ path }) => path === chosen);
}

async function findNamed(
  chat: ChatCommandContext,
  { memories, name }: { readonly memories: Memories; readonly name: string },
): Promise<Memory | undefined> {
  const found = await findMemory(memories, name);
  if (found.kind === "found") return found.memory;
  refuse(chat, { message: found.message, hint: "/memory without a name lists them." });
  return undefined;
}

async function show(chat: ChatCommandContext, { memories, memory }: ChosenMemory): Promise<void> {
  const text = (await memories.read(memory.path))?.text ?? "";
  const facts = memoryFacts(memory, { nowMs: Date.now() });
  print(chat, (style) =>
    [
      style("bold", memory.path),
      text.trimEnd(),
      ...facts.map(([label, value]) => style("dim", `${label.padEnd(8)} ${value}`)),
    ].join("\n"),
  );
}

type Action = "edit" | "revert" | "forget";

async function pickAction({ ui, signal }: ChatCommandContext, { path }: Memory): Promise<Action | undefined> {
  const choices = [
    { value: "done", label: "Nothing more" },
    { value: "edit", label: "Edit it" },
    { value: "revert", label: "Revert it", description: "to what it was before a revision" },
    { value: "forget", label: "Forget it", description: "with its history" },
  ];
  const chosen = await ui.choose({ title: `What with ${shortPath(path)}?`, choices, search: "none" }, signal);
  return signal.aborted || (chosen !== "edit" && chosen !== "revert" && chosen !== "forget") ? undefined : chosen;
}

const runByAction: { readonly [Name in Action]: (chat: ChatCommandContext, chosen: ChosenMemory) => Promise<void> } = {
  edit,
  revert,
  forget,
};

async function edit(chat: ChatCommandContext, { memories, memory }: ChosenMemory): Promise<void> {
  const current = await memories.read(memory.path);
  const text = await chat.ui.edit({ title: memory.path, text: current?.text ?? "" }, chat.signal);
  if (text === undefined || chat.signal.aborted) return tell(chat, "Nothing was changed.");
  const outcome = await commitAsUser(memories, {
    changes: [{ path: memory.path, expected: current?.hash ?? "absent", text: `${text.trimEnd()}\n` }],
    message: "edited by the user",
    at: millis(Date.now()),
    session: chat.agent.session.id,
  });
  if (outcome.kind === "committed") tell(chat, `Saved as revision ${outcome.revision.id}.`);
  else if (outcome.kind === "unchanged") tell(chat, "Nothing was changed.");
  else refuse(chat, writeRefusal(outcome));
}

async function revert(chat: ChatCommandContext, { memories, memory }: ChosenMemory): Promise<void> {
  const revisions = await memories.history(memory.path);
  const choices = revisions.map(({ id, at, author, message }: MemoryRevision) => ({
    value: id as string,
    label: `${id}, ${formatDay(at)}, ${authorText(author)}`,
    description: message,
  }));
  const title = "Take back which revision? A later one has to go first.";
  const chosen = await chat.ui.choose({ title, choices, search: "none", verb: "take it back" }, chat.signal);
  if (chosen === undefined || chat.signal.aborted) return;
  const outcome = await revertMemory(memories, { revision: chosen, path: memory.path, at: millis(Date.now()) });
  if (outcome.kind === "failure") refuse(chat, outcome);
  else tell(chat, outcome.message);
}

async function forget(chat: ChatCommandContext, { memories, memory }: ChosenMemory): Promise<void> {
  const choices = [
    { value: "no", label: "Keep it" },
    { value: "yes", label: "Forget it for good" },
  ];
  const title = await describeForget(memories, [memory.path]);
  const chosen = await chat.ui.choose({ title, choices, search: "none" }, chat.signal);
  if (chosen !== "yes" || chat.signal.aborted) return tell(chat, "Kept.");
  const outcome = await forgetMemory(memories, [memory.path]);
  if (outcome.kind === "failure") refuse(chat, outcome);
  else tell(chat, outcome.message);
}
