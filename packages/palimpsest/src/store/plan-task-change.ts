import type { ChangeTaskOutcome, CreateTaskOutcome, TaskCompletion, TaskDraft, TeamTask } from "../ports/task-list.ts";
import type { MailboxAddress, Millis, TaskId } from "../schema/brand.ts";
import { formatCount } from "../text/format-count.ts";
import { taskSubjectCharsMax, taskTextCharsMax, teamTasksMax } from "./limits.ts";

export type TaskMap = ReadonlyMap<TaskId, TeamTask>;

/** A task as it is to be stored, or an answer that changes nothing. */
export type TaskPlan<Outcome> =
  | { readonly kind: "write"; readonly task: TeamTask }
  | { readonly kind: "answer"; readonly outcome: Outcome };

type TaskChange =
  | { readonly kind: "assign"; readonly to: MailboxAddress }
  | { readonly kind: "claim" | "release"; readonly by: MailboxAddress }
  | ({ readonly kind: "complete" } & TaskCompletion);

export function planNewTask(tasks: TaskMap, draft: TaskDraft, now: Millis): TaskPlan<CreateTaskOutcome> {
  const known = tasks.get(draft.id);
  if (known !== undefined) return { kind: "answer", outcome: { kind: "created", task: known } };
  const { id, subject, description, createdBy } = draft;
  const long = findLong({ subject, description });
  if (long !== undefined) return { kind: "answer", outcome: { kind: "too-large", message: long } };
  if (tasks.size >= teamTasksMax) {
    const message = `The list has ${formatCount(tasks.size)} tasks, and no more are taken: complete some, or start another team.`;
    return { kind: "answer", outcome: { kind: "full", message } };
  }
  const text = description === undefined ? {} : { description };
  return {
    kind: "write",
    task: { id, subject, ...text, createdBy, createdAt: now, state: "open", changedAt: now },
  };
}

export function planTaskChange(
  tasks: TaskMap,
  { id, change, now }: { readonly id: TaskId; readonly change: TaskChange; readonly now: Millis },
): TaskPlan<ChangeTaskOutcome> {
  const task = tasks.get(id);
  if (task === undefined)
    return { kind: "answer", outcome: { kind: "unknown-task", message: `There is no task ${id}.` } };
  const changed: TaskPlan<ChangeTaskOutcome> = { kind: "answer", outcome: { kind: "changed", task } };
  const taken = { kind: "answer", outcome: { kind: "taken", task, message: describeTaken(task) } } as const;
  switch (change.kind) {
    case "assign":
      if (task.state === "done") return taken;
      if (task.owner === change.to) return changed;
      return { kind: "write", task: { ...task, state: "assigned", owner: change.to, changedAt: now } };
    case "claim":
      if (task.state === "claimed" && task.owner === change.by) return changed;
      if (task.state === "done" || (task.state !== "open" && task.owner !== change.by)) return taken;
      return { kind: "write", task: { ...task, state: "claimed", owner: change.by, changedAt: now } };
    case "release": {
      if (task.state === "open") return changed;
      if (task.state === "done" || task.owner !== change.by) return taken;
      const { owner: _, ...free } = task;
      return { kind: "write", task: { ...free, state: "open", changedAt: now } };
    }
    case "complete": {
      const { by, result } = change;
      if (task.state === "done" && task.owner === by) return changed;
      if (task.state !== "claimed" || task.owner !== by) return taken;
      const long = findLong({ result });
      if (long !== undefined) return { kind: "answer", outcome: { kind: "too-large", message: long } };
      const text = result === undefined ? {} : { result };
      return { kind: "write", task: { ...task, state: "done", owner: by, changedAt: now, ...text } };
    }
  }
}

function describeTaken({ id, state, owner }: TeamTask): string {
  switch (state) {
    case "open":
      return `Nobody has claimed the task ${id}: claim it first.`;
    case "assigned":
      return `The task ${id} is assigned to ${owner}.`;
    case "claimed":
      return `${owner} has claimed the task ${id}.`;
    case "done":
      return `The task ${id} is done, by ${owner}.`;
  }
}

function findLong(
  texts: Partial<Record<"subject" | "description" | "result", string | undefined>>,
): string | undefined {
  for (const [name, text] of Object.entries(texts)) {
    const max = name === "subject" ? taskSubjectCharsMax : taskTextCharsMax;
    if (text !== undefined && text.length > max)
      return `The ${name} has ${formatCount(text.length)} characters, and at most ${formatCount(max)} are allowed: write it to a file and name that.`;
  }
  return undefined;
}
