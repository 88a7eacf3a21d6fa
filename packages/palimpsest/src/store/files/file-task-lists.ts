import { rm, rmdir } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import type { WriteFailure } from "../../ports/blobs.ts";
import type { ClockDep, IdsDep } from "../../ports/clock-dep.ts";
import type {
  ChangeTaskOutcome,
  CreateTaskOutcome,
  TaskCompletion,
  TaskDraft,
  TaskList,
  TaskLists,
  TeamTask,
} from "../../ports/task-list.ts";
import type { Durability } from "../../ports/transcripts.ts";
import { addressShape, isTeamName } from "../../schema/agent-address.ts";
import { type MailboxAddress, millis, type TaskId, taskId } from "../../schema/brand.ts";
import { wellFormedJson } from "../../schema/json.ts";
import { taskLinesMin, taskLinesPerTaskMax } from "../limits.ts";
import { planNewTask, planTaskChange, type TaskMap, type TaskPlan } from "../plan-task-change.ts";
import { errorCode, makeFolder, writeFailure } from "./disk.ts";
import { createLogLockDeps, LineLog, type LogLockDeps, toSync, waitForLock } from "./line-log.ts";

interface FileTaskListsOptions {
  readonly deps: ClockDep & IdsDep;
  /** `<home>/mail`, beside the teams' mailboxes. */
  readonly folder: string;
  readonly durability: Durability;
}

/** A file for each team: `<folder>/teams/<team>/tasks.jsonl`. The team's folder goes with its last mailbox and task list. */
export function fileTaskLists({ deps, folder, durability }: FileTaskListsOptions): TaskLists {
  const lockDeps = createLogLockDeps(deps);
  return {
    open: (team) => {
      if (!isTeamName(team)) throw new TypeError(`not a team: ${team.slice(0, 80)}`);
      return new FileTaskList({ deps: lockDeps, folder: join(folder, "teams", team), durability });
    },
    remove: async (team) => {
      if (!isTeamName(team)) return undefined;
      const teamFolder = join(folder, "teams", team);
      try {
        await rm(join(teamFolder, tasksName), { force: true });
        // Other files keep it.
        await rmdir(teamFolder).catch(() => undefined);
        return undefined;
      } catch (error) {
        return writeFailure(error, teamFolder);
      }
    },
  };
}

/**
 * Each line is a whole task as it is from then on. A process that changes one holds `.tasks-lock`, so two agents can't both
 * claim it. A list with many old lines is written again.
 */
class FileTaskList implements TaskList {
  readonly #deps: LogLockDeps;
  readonly #folder: string;
  readonly #sync: "synced" | "unsynced";
  readonly #log: LineLog;
  readonly #tasks = new Map<TaskId, TeamTask>();
  #lines = 0;
  #last: Promise<unknown> = Promise.resolve();

  constructor(options: Omit<FileTaskListsOptions, "deps"> & { readonly deps: LogLockDeps }) {
    this.#deps = options.deps;
    this.#folder = options.folder;
    this.#sync = toSync(options.durability);
    this.#log = new LineLog({
      path: join(options.folder, tasksName),
      onReset: () => {
        this.#tasks.clear();
        this.#lines = 0;
      },
      onLine: (line) => {
        this.#lines += 1;
        const task = taskShape.safeParse(line).data;
        if (task !== undefined) this.#tasks.set(task.id, task);
      },
    });
  }

  async list(): Promise<readonly TeamTask[]> {
    try {
      return this.#log.look(() => [...this.#tasks.values()]);
    } catch (error) {
      if (errorCode(error) === undefined) throw error;
      // A list that can't be read has no tasks to claim; a write says why.
      return [];
    }
  }

  create(draft: TaskDraft): Promise<CreateTaskOutcome> {
    return this.#change<CreateTaskOutcome>(
      (tasks) => planNewTask(tasks, draft, this.#deps.now()),
      (task) => ({ kind: "created", task }),
    );
  }

  assign(id: TaskId, to: MailboxAddress): Promise<ChangeTaskOutcome> {
    return this.#changeTask(id, { kind: "assign", to });
  }

  claim(id: TaskId, by: MailboxAddress): Promise<ChangeTaskOutcome> {
    return this.#changeTask(id, { kind: "claim", by });
  }

  release(id: TaskId, by: MailboxAddress): Promise<ChangeTaskOutcome> {
    return this.#changeTask(id, { kind: "release", by });
  }

  complete(id: TaskId, completion: TaskCompletion): Promise<ChangeTaskOutcome> {
    return this.#changeTask(id, { kind: "complete", ...completion });
  }

  #changeTask(id: TaskId, change: Parameters<typeof planTaskChange>[1]["change"]): Promise<ChangeTaskOutcome> {
    return this.#change<ChangeTaskOutcome>(
      (tasks) => planTaskChange(tasks, { id, change, now: this.#deps.now() }),
      (task) => ({ kind: "changed", task }),
    );
  }

  #change<Outcome>(
    plan: (tasks: TaskMap) => TaskPlan<Outcome>,
    toOutcome: (task: TeamTask) => Outcome,
  ): Promise<Outcome | WriteFailure> {
    const turn = this.#last.then(() => this.#changeLocked(plan, toOutcome));
    this.#last = turn.catch(() => undefined);
    return turn;
  }

  async #changeLocked<Outcome>(
    plan: (tasks: TaskMap) => TaskPlan<Outcome>,
    toOutcome: (task: TeamTask) => Outcome,
  ): Promise<Outcome | WriteFailure> {
    try {
      await makeFolder(this.#folder);
      const lock = await waitForLock(this.#deps, join(this.#folder, ".tasks-lock"));
      if (lock.kind === "failed") return lock;
      try {
        const planned = this.#log.look(() => plan(this.#tasks));
        if (planned.kind === "answer") return planned.outcome;
        await this.#log.append([wellFormedJson(planned.task)], this.#sync);
        this.#log.look(() => undefined);
        if (this.#lines > Math.max(taskLinesMin, taskLinesPerTaskMax * this.#tasks.size))
          await this.#log.rewrite([...this.#tasks.values()].map(wellFormedJson), this.#sync);
        return toOutcome(planned.task);
      } finally {
        await lock.lease.release();
      }
    } catch (error) {
      return writeFailure(error, this.#log.path);
    }
  }
}

const tasksName = "tasks.jsonl";

const time = z.number().transform(millis);
const taskShape = z.object({
  id: z.string().min(1).transform(taskId),
  subject: z.string(),
  description: z.string().optional(),
  createdBy: addressShape,
  createdAt: time,
  state: z.enum(["open", "assigned", "claimed", "done"]),
  owner: addressShape.optional(),
  changedAt: time,
  result: z.string().optional(),
});
