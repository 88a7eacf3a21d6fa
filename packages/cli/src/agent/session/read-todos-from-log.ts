import type { BlobsDep } from "palimpsest/internal/ports/blobs";
import type { Block } from "palimpsest/internal/schema/block";
import type { ToolUseId } from "palimpsest/internal/schema/brand";
import { checkpointShape } from "palimpsest/internal/schema/checkpoint";
import type { Entry } from "palimpsest/internal/schema/entry";
import { field, isArray, isObject } from "palimpsest/internal/schema/json";
import { workingStateAttachmentType } from "palimpsest/internal/schema/restored-part";
import { readTodos, type Todo } from "../../tool/todo-tool.ts";
import type { Fold } from "palimpsest/internal/transcript/fold";
import { parseCheckpointJson } from "palimpsest/internal/session/checkpoint";

/** The names that common agents give the tool, in lower case. */
export const todoTools: ReadonlySet<string> = new Set(["todo", "todowrite"]);

/**
 * The task list according to the session's entries: from the newest call that was answered without an error, or as it
 * was restored behind a boundary. If the log was read from a boundary on and nothing behind it holds the list (it was
 * not restored, or the process was killed first), the open tasks are in the boundary's checkpoint.
 */
export async function readTodosFromLog(deps: BlobsDep, { path }: Pick<Fold, "path">): Promise<readonly Todo[]> {
  const recorded = newestTodoList(path.entries);
  if (recorded !== undefined) return recorded;
  const [first] = path.entries;
  const isBoundary = first?.kind === "edit" && first.edit.type === "boundary";
  const checkpoint = isBoundary ? first.edit.metadata.checkpoint : undefined;
  const blob = checkpoint === undefined ? undefined : await deps.blobs.get(checkpoint);
  const facts = blob === undefined ? undefined : factsShape.safeParse(parseCheckpointJson(blob)).data?.facts;
  return (facts?.openTodos ?? []).flatMap(({ text, status, task }) =>
    // Tasks with an id belong to another tool.
    task === undefined ? [{ content: text, status: status === "in_progress" ? status : "pending" } as const] : [],
  );
}

const factsShape = checkpointShape.pick({ facts: true });

function newestTodoList(path: readonly Entry[]): readonly Todo[] | undefined {
  const answered = new Set<ToolUseId>();
  for (const entry of path.toReversed()) {
    if (entry.kind === "user") for (const id of successfulCalls(entry.blocks)) answered.add(id);
    const list = entry.kind === "assistant" ? todosInCalls(entry.blocks, answered) : todosInAttachment(entry);
    if (list !== undefined) return list;
  }
  return undefined;
}

const successfulCalls = (blocks: readonly Block[]): readonly ToolUseId[] =>
  blocks.flatMap((block) => (block.type === "tool_result" && block.is_error !== true ? [block.tool_use_id] : []));

function todosInCalls(blocks: readonly Block[], answered: ReadonlySet<ToolUseId>): readonly Todo[] | undefined {
  for (const block of blocks.toReversed()) {
    if (block.type !== "tool_use" || !todoTools.has(block.name.toLowerCase()) || !answered.has(block.id)) continue;
    const list = readTodos(block.input);
    if (list !== undefined) return list;
  }
  return undefined;
}

function todosInAttachment(entry: Entry): readonly Todo[] | undefined {
  if (entry.kind !== "attachment" || entry.attachment["type"] !== workingStateAttachmentType) return undefined;
  const named = field(entry.attachment, "named");
  for (const data of [field(entry.attachment, "data"), ...(isArray(named) ? named : [])]) {
    const list = isObject(data) ? readTodos(data) : undefined;
    if (list !== undefined) return list;
  }
  return undefined;
}
