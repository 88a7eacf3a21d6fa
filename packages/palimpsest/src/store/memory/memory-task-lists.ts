import type { ClockDep } from "../../ports/clock-dep.ts";
import type { ChangeTaskOutcome, TaskList, TaskLists, TeamTask } from "../../ports/task-list.ts";
import type { TaskId } from "../../schema/brand.ts";
import { planNewTask, planTaskChange, type TaskPlan } from "../plan-task-change.ts";

/** For the agents of one process. */
export function memoryTaskLists({ now }: ClockDep): TaskLists {
  const listByTeam = new Map<string, TaskList>();
  return {
    open: (team) => {
      const list = listByTeam.get(team) ?? createList(now);
      listByTeam.set(team, list);
      return list;
    },
    remove: async (team) => {
      listByTeam.delete(team);
      return undefined;
    },
  };
}

function createList(now: ClockDep["now"]): TaskList {
  const tasks = new Map<TaskId, TeamTask>();
  type Change = Parameters<typeof planTaskChange>[1]["change"];
  const apply = async (id: TaskId, change: Change): Promise<ChangeTaskOutcome> => {
    const plan: TaskPlan<ChangeTaskOutcome> = planTaskChange(tasks, { id, change, now: now() });
    if (plan.kind === "answer") return plan.outcome;
    tasks.set(id, plan.task);
    return { kind: "changed", task: plan.task };
  };
  return {
    list: async () => [...tasks.values()],
    create: async (draft) => {
      const plan = planNewTask(tasks, draft, now());
      if (plan.kind === "answer") return plan.outcome;
      tasks.set(draft.id, plan.task);
      return { kind: "created", task: plan.task };
    },
    assign: (id, to) => apply(id, { kind: "assign", to }),
    claim: (id, by) => apply(id, { kind: "claim", by }),
    release: (id, by) => apply(id, { kind: "release", by }),
    complete: (id, completion) => apply(id, { kind: "complete", ...completion }),
  };
}
