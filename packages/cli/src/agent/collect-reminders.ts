import { toSingleLine } from "palimpsest/internal/text/to-printable";
import { z } from "zod";
import { field, isArray, type JsonObject, textField } from "palimpsest/internal/schema/json";
import { reminderAttachmentType, escapeReminderTag } from "palimpsest/internal/transcript/attachment-text";
import type { FileState, FileWatch } from "../tool/file/file-watch.ts";
import { type Todo, hasOpenTodos, renderTodos } from "../tool/todo-tool.ts";
import type { Draft } from "palimpsest/internal/transcript/draft";
import type { Fold } from "palimpsest/internal/transcript/fold";
import { changedFilesNamedMax, todoReminderRounds } from "./limits.ts";
import { localDay, weekday } from "./system-prompt/render-system-prompt.ts";
import type { Baseline } from "palimpsest/internal/cache/baseline";
import type { Conversation } from "palimpsest/internal/context/conversation";
import type { ReadFiles } from "palimpsest/internal/ports/tool";
import type { ClockDep } from "palimpsest/internal/ports/clock-dep";
import type { SessionMemory } from "./memory/session-memory.ts";
import { todoTools } from "./session/read-todos-from-log.ts";

/** Where reminders learn what happened outside the conversation. */
interface ReminderSources {
  /** The day that the system prompt names. */
  readonly startedOn: string;
  readonly todos: () => readonly Todo[];
  readonly mayRead: (path: string) => boolean;
  readonly watch: FileWatch;
  /** What is due of instruction files. Must not reject. */
  readonly instructions: (files: ReadFiles) => Promise<readonly Draft[]>;
  /** Changes of these are announced with their text, not only named. */
  readonly isInstruction: (path: string, baseline: Baseline) => boolean;
  readonly relevantMemories: SessionMemory["remind"];
}

/**
 * What to append before the next request so that the model knows what changed outside the conversation. The view
 * decides what is news: after a resume nothing is repeated, and what a boundary covers is said again behind it.
 */
export async function collectReminders(
  { startedOn, mayRead, watch, todos, now, instructions, isInstruction, relevantMemories }: ReminderSources & ClockDep,
  { line: { editable }, files, baseline }: Pick<Conversation, "line" | "files" | "baseline">,
): Promise<readonly Draft[]> {
  if (editable === undefined) return [];
  const { fold } = editable;
  const shown = remindersInView(fold);
  const states = await watch.look({ files, mayRead });
  const reminders = [
    dateReminder({ day: localDay(now()), startedOn, shown }),
    filesReminder({ states: states.filter(({ path }) => !isInstruction(path, baseline)), shown }),
    todosReminder({ todos: todos(), fold }),
    ...(await relevantMemories(fold)),
  ].filter((draft) => draft !== undefined);
  return [...(await instructions(files)), ...reminders];
}

/** Reminders in the view, oldest first. The model no longer knows those that an undo or a boundary removed from it. */
function remindersInView({ path, projection }: Pick<Fold, "path" | "projection">): readonly JsonObject[] {
  return projection.items.flatMap(({ entry: id, attachment }) => {
    const entry = attachment === reminderAttachmentType ? path.find(id)?.entry : undefined;
    return entry?.kind === "attachment" ? [entry.attachment] : [];
  });
}

function dateReminder({
  day,
  startedOn,
  shown,
}: {
  readonly day: string;
  readonly startedOn: string;
  readonly shown: readonly JsonObject[];
}): Draft | undefined {
  const known = shown.findLast((reminder) => textField(reminder, "about") === "date");
  const knownDay = known === undefined ? startedOn : textField(known, "day");
  return day === knownDay
    ? undefined
    : reminderDraft({ about: "date", day, content: `Today is ${day}, ${weekday(day)}.` });
}

function filesReminder({
  states,
  shown,
}: {
  readonly states: readonly FileState[];
  readonly shown: readonly JsonObject[];
}): Draft | undefined {
  const remindedByPath = new Map(shown.flatMap(filesInReminders).map((file) => [file.path, file]));
  const changed = states.filter((state) => state.hash !== hashKnownToModel(state, remindedByPath.get(state.path)));
  if (changed.length === 0) return undefined;
  const named = changed
    .slice(0, changedFilesNamedMax)
    .map((state) => `- ${toSingleLine(state.path)}: ${fileStateText(state)}`);
  const others = changed.length - named.length;
  const content = [
    "These files are no longer as you last saw them. Your edit and write calls did not do that: the user, another program or a command did.",
    ...named,
    ...(others === 0 ? [] : [`- and ${others} other files that you have read`]),
    "What was shown of them above is out of date. Read a file again before you rely on it or change it, and leave these changes in place unless you are asked to undo them.",
  ];
  const files = changed.map(({ path, hash, seenHash }) => ({ path, hash, seenHash }));
  return reminderDraft({ about: "files", files, content: escapeReminderTag(content.join("\n")) });
}

const fileStateText = ({ hash, seenHash, words }: FileState): string =>
  hash === seenHash ? "again as you saw it" : words;

type ReminderFile = Pick<FileState, "path" | "hash" | "seenHash">;

/** A reminder counts until the agent reads or writes the file itself. */
const hashKnownToModel = ({ seenHash }: FileState, reminded: ReminderFile | undefined): string =>
  reminded?.seenHash === seenHash ? reminded.hash : seenHash;

function filesInReminders(reminder: JsonObject): readonly ReminderFile[] {
  const files = field(reminder, "files");
  return (isArray(files) ? files : []).flatMap((file) => reminderFileShape.safeParse(file).data ?? []);
}

const reminderFileShape = z.object({ path: z.string(), hash: z.string(), seenHash: z.string() });

/** No reminder is due if all tasks are done or the model has looked at the list lately. */
function todosReminder({
  todos,
  fold,
}: {
  readonly todos: readonly Todo[];
  readonly fold: Pick<Fold, "path">;
}): Draft | undefined {
  if (!hasOpenTodos(todos) || roundsWithoutTodos(fold) < todoReminderRounds) return undefined;
  const content = [
    "The task list has not been brought up to date for a while. If it still fits the work, mark what is done; if it does not, change it. It stands like this:",
    renderTodos(todos),
  ];
  return reminderDraft({ about: "todos", content: escapeReminderTag(content.join("\n")) });
}

/**
 * Replies since the list was last called, restored behind a boundary or mentioned in a reminder. Counting stops at the
 * limit.
 */
function roundsWithoutTodos({ path }: Pick<Fold, "path">): number {
  const replies = new Set<string>();
  path.findLastIndex(({ entry }) => {
    if (entry.kind === "edit") return entry.edit.type === "boundary";
    if (entry.kind === "attachment")
      return (
        textField(entry.attachment, "type") === reminderAttachmentType &&
        textField(entry.attachment, "about") === "todos"
      );
    if (entry.kind !== "assistant" || entry.synthetic) return false;
    if (entry.blocks.some((block) => block.type === "tool_use" && todoTools.has(block.name.toLowerCase()))) {
      replies.delete(entry.messageId ?? "");
      return true;
    }
    replies.add(entry.messageId ?? entry.id ?? "");
    return replies.size > todoReminderRounds;
  });
  return replies.size;
}

const reminderDraft = (attachment: JsonObject): Draft => ({
  type: "attachment",
  attachment: { type: reminderAttachmentType, ...attachment },
});
