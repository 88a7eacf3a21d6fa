import { readMemories } from "palimpsest/internal/memory/directory/read-memories";
import { planSave } from "palimpsest/internal/memory/directory/memory-history";
import { memoryTypes } from "palimpsest/internal/memory/directory/memory-text";
import type { MemoryType } from "palimpsest/internal/ports/memories";
import { millis } from "palimpsest/internal/schema/brand";
import { commitAsUser, writeRefusal } from "../../memory/change-memory.ts";
import { openMemories } from "../../memory/open-memories.ts";
import { guessMemoryType, userMemory } from "../../memory/user-memory.ts";
import { type ChatCommand, type ChatCommandContext, stay } from "../chat-command.ts";
import { refuse, tell } from "./chat-lines.ts";

/** Saves what the user typed as a memory, after they chose what kind it is; if nobody can be asked, of the likeliest kind. */
export const rememberCommand: ChatCommand = async ({ rest }, chat) => {
  const type = await chooseType(chat, rest);
  if (type === undefined) {
    chat.ui.refill(`# ${rest}`);
    tell(chat, "Not saved.");
    return stay;
  }
  const opened = await openMemories(chat.context);
  if (opened.kind === "failure") {
    refuse(chat, opened);
    return stay;
  }
  const { memories } = opened;
  const plan = planSave(userMemory(rest, type), await readMemories(memories));
  if (plan.kind === "duplicate") {
    tell(chat, `That is remembered already, in ${plan.path}.`);
    return stay;
  }
  const { path } = plan.change;
  const outcome = await commitAsUser(memories, {
    changes: [plan.change],
    message: "saved at the prompt",
    at: millis(Date.now()),
    session: chat.agent.session.id,
  });
  if (outcome.kind === "committed")
    tell(
      chat,
      `Saved as ${path}. Later sessions know it, and this one when a message has to do with it; /memory shows, edits and forgets it.`,
    );
  else if (outcome.kind === "unchanged") tell(chat, "That is remembered already.");
  else {
    chat.ui.refill(`# ${rest}`);
    refuse(chat, writeRefusal(outcome));
  }
  return stay;
};

async function chooseType({ ui, signal }: ChatCommandContext, said: string): Promise<MemoryType | undefined> {
  const at = guessMemoryType(said);
  if (ui.answeredBy === "nobody") return at;
  const chosen = await ui.choose(
    {
      title: "What kind of memory is it?",
      choices: memoryTypes.map((type) => ({ value: type, label: type, description: descriptionByType[type] })),
      search: "none",
      at,
      verb: "save",
    },
    signal,
  );
  return signal.aborted ? undefined : memoryTypes.find((type) => type === chosen);
}

const descriptionByType: { readonly [Type in MemoryType]: string } = {
  user: "about you: role, knowledge, preferences",
  feedback: "how you want work done",
  project: "what goes on that the code does not tell",
  reference: "where something is outside the project",
};
