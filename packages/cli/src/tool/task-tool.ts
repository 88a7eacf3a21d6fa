import { createHash } from "node:crypto";
import { z } from "zod";
import type { ChangeTaskOutcome, CreateTaskOutcome, TaskList, TeamTask } from "palimpsest/internal/ports/task-list";
import type { Tool, ToolOutcome } from "palimpsest/internal/ports/tool";
import { parseAddress } from "palimpsest/internal/schema/agent-address";
import { type MailboxAddress, type TaskId, taskId } from "palimpsest/internal/schema/brand";
import { oneLine } from "palimpsest/internal/text/to-printable";
import { defineTool, toolError, wrongCall } from "./define-tool.ts";
import type { MessageOutcome } from "./send-message-tool.ts";

/** The shared tasks of a session's team. */
export interface TeamTasks extends Pick<TaskList, "list" | "create" | "claim" | "release" | "complete"> {
  /** As whom the session acts. */
  readonly self: MailboxAddress;
  /** Assigns it and tells the agent. Must not reject. */
  assign(id: TaskId, assignment: { readonly to: string; readonly messageId: string }): Promise<AssignTaskOutcome>;
}

/** `told`: whether the message to the agent was sent. */
export type AssignTaskOutcome =
  | { readonly kind: "assigned"; readonly task: TeamTask; readonly told: MessageOutcome }
  | Exclude<ChangeTaskOutcome, { kind: "changed" }>
  | { readonly kind: "refused"; readonly message: string };

export const taskToolName = "task";

const input = z.strictObject({
  do: z.enum(["list", "create", "claim", "complete", "release", "assign"]),
  id: z.string().optional().describe("Of the task; not for list and create."),
  text: z
    .string()
    .optional()
    .describe("create: the subject, and behind an empty line what is to be done. complete: the result."),
  to: z.string().optional().describe("assign: the teammate's name."),
});

type TaskInput = z.infer<typeof input>;

export const taskTool = ({ teamTasks }: { readonly teamTasks: TeamTasks }): Tool =>
  defineTool({
    name: taskToolName,
    description:
      "The tasks that your team shares. Claim a task before you begin: only one agent can have it. Complete it with its result, or release it if you can't finish it.",
    input,
    effect: "write",
    plan: async (call, { toolUse }) => {
      const missing = findMissing(call);
      if (missing !== undefined) return wrongCall(`${taskToolName}: ${missing}`);
      return {
        kind: "ready",
        acts: [{ kind: "state", what: "tasks" }],
        run: () => runTaskCall(teamTasks, { ...call, toolUse }),
      };
    },
  });

function findMissing({ do: action, id, text, to }: TaskInput): string | undefined {
  if (action === "list") return undefined;
  if (action === "create") return text === undefined || text.trim() === "" ? "create needs a text" : undefined;
  if (id === undefined) return `${action} needs an id`;
  return action === "assign" && to === undefined ? "assign needs to" : undefined;
}

async function runTaskCall(
  tasks: TeamTasks,
  { do: action, id = "", text, to = "", toolUse }: TaskInput & { readonly toolUse: string },
): Promise<ToolOutcome> {
  const [task, { self }] = [taskId(id), tasks];
  switch (action) {
    case "list":
      return listTasks(await tasks.list());
    case "create":
      return toResult(await tasks.create({ ...splitText(text ?? ""), id: shortId(self, toolUse), createdBy: self }));
    case "claim":
      return toResult(await tasks.claim(task, self));
    case "release":
      return toResult(await tasks.release(task, self));
    case "complete":
      return toResult(await tasks.complete(task, { by: self, result: text }));
    case "assign":
      return toAssignResult(await tasks.assign(task, { to, messageId: toolUse }));
  }
}

/** Derived from the call, so that a repeated try creates the same task. Short: models copy it. */
const shortId = (self: MailboxAddress, toolUse: string): TaskId =>
  taskId(`task-${createHash("sha256").update(`${self}\n${toolUse}`).digest("hex").slice(0, 8)}`);

const splitText = (text: string): { readonly subject: string; readonly description?: string } => {
  const [subject = "", ...rest] = text.trim().split("\n");
  const description = rest.join("\n").trim();
  return description === "" ? { subject } : { subject, description };
};

function toResult(outcome: CreateTaskOutcome | ChangeTaskOutcome): ToolOutcome {
  switch (outcome.kind) {
    case "created":
    case "changed": {
      const line = taskLine(outcome.task);
      return { content: line, summary: line };
    }
    case "taken":
      return toolError(`${outcome.message} Now: ${taskLine(outcome.task)}`);
    case "full":
    case "too-large":
    case "unknown-task":
    case "failed":
      return toolError(outcome.message);
  }
}

function toAssignResult(outcome: AssignTaskOutcome): ToolOutcome {
  if (outcome.kind === "refused") return toolError(outcome.message);
  if (outcome.kind !== "assigned") return toResult(outcome);
  const line = taskLine(outcome.task);
  if (outcome.told.kind === "sent") return { content: line, summary: line };
  return toolError(`${line} It was assigned, but the message did not get through: ${outcome.told.message}`);
}

function listTasks(tasks: readonly TeamTask[]): ToolOutcome {
  if (tasks.length === 0) return { content: "There are no tasks.", summary: "no tasks" };
  const open = tasks.filter(({ state }) => state !== "done").length;
  return {
    content: tasks.map((task) => [taskLine(task), ...detailLines(task)].join("\n")).join("\n"),
    summary: `${tasks.length} tasks, ${open} not done`,
  };
}

/** Texts of other agents are quoted, as in messages. */
const detailLines = ({ description, result }: TeamTask): readonly string[] => [
  ...quoteLines("to do", description),
  ...quoteLines("result", result),
];

const quoteLines = (title: string, text: string | undefined): readonly string[] =>
  text === undefined ? [] : [`  ${title}:`, ...text.split("\n").map((line) => `  > ${line}`)];

const taskLine = ({ id, subject, state, owner }: TeamTask): string =>
  `${id} [${state}${owner === undefined ? "" : `, ${agentName(owner)}`}] ${oneLine(subject)}`;

const agentName = (address: MailboxAddress): string => {
  const parsed = parseAddress(address);
  return parsed?.kind === "teammate" ? parsed.name : address;
};

/** For a session that has had the tool and is in no team now. */
export function refuseTasks(message: string, self: MailboxAddress): TeamTasks {
  const refused = async () => ({ kind: "failed", why: "io", message }) as const;
  return {
    self,
    list: async () => [],
    create: refused,
    claim: refused,
    release: refused,
    complete: refused,
    assign: async () => ({ kind: "refused", message }),
  };
}

export const forkTasksText = "A fork has no tasks: the conversation that it was made from does.";
