import { describe, expect, it } from "vitest";
import type { TaskList, TaskLists } from "../../packages/palimpsest/src/ports/task-list.ts";
import { teammateAddress } from "../../packages/palimpsest/src/schema/agent-address.ts";
import { type MailboxAddress, taskId } from "../../packages/palimpsest/src/schema/brand.ts";

export interface TaskListsUnderTest {
  readonly name: string;
  readonly make: () => Promise<TaskLists>;
}

const lead = teammateAddress("lead", "docs");
const ann = teammateAddress("ann", "docs");
const bob = teammateAddress("bob", "docs");
const one = taskId("1");

export const createTask = (list: TaskList, id: string, subject = `Task ${id}`) =>
  list.create({ id: taskId(id), subject, createdBy: lead });

const states = async (list: TaskList): Promise<readonly string[]> =>
  (await list.list()).map(({ id, state, owner }) => `${id} ${state}${owner === undefined ? "" : ` ${owner}`}`);

/** The rules of the port, for every implementation alike. */
export function taskListsContract({ name, make }: TaskListsUnderTest): void {
  describe(`task lists in ${name}`, () => {
    const open = async () => (await make()).open("docs");

    it("keep tasks in the order in which they were created, each once", async () => {
      const list = await open();
      expect(await list.list()).toEqual([]);
      const description = "all of it\n";
      const created = await list.create({ id: one, subject: "Read", description, createdBy: lead });
      expect(created).toMatchObject({
        kind: "created",
        task: { id: "1", subject: "Read", description, state: "open" },
      });
      await createTask(list, "2");
      expect(await createTask(list, "1", "Another")).toEqual(created);
      expect((await list.list()).map(({ subject }) => subject)).toEqual(["Read", "Task 2"]);
    });

    it.each<readonly [string, readonly (readonly [string, MailboxAddress, string?])[], string]>([
      ["an open task is claimed by anyone", [["claim", ann]], "changed: 1 claimed ann@docs"],
      [
        "a claimed one by nobody else",
        [
          ["claim", ann],
          ["claim", bob],
        ],
        "taken: 1 claimed ann@docs",
      ],
      [
        "the owner claims it again",
        [
          ["claim", ann],
          ["claim", ann],
        ],
        "changed: 1 claimed ann@docs",
      ],
      [
        "an assigned one is claimed by its agent",
        [
          ["assign", ann],
          ["claim", ann],
        ],
        "changed: 1 claimed ann@docs",
      ],
      [
        "an assigned one by nobody else",
        [
          ["assign", ann],
          ["claim", bob],
        ],
        "taken: 1 assigned ann@docs",
      ],
      [
        "it is assigned anew",
        [
          ["claim", ann],
          ["assign", bob],
        ],
        "changed: 1 assigned bob@docs",
      ],
      [
        "it stays claimed if it is assigned to its owner",
        [
          ["claim", ann],
          ["assign", ann],
        ],
        "changed: 1 claimed ann@docs",
      ],
      [
        "it is given back",
        [
          ["claim", ann],
          ["release", ann],
        ],
        "changed: 1 open",
      ],
      [
        "by its owner only",
        [
          ["claim", ann],
          ["release", bob],
        ],
        "taken: 1 claimed ann@docs",
      ],
      ["giving back what is open changes nothing", [["release", bob]], "changed: 1 open"],
      [
        "its owner completes it",
        [
          ["claim", ann],
          ["complete", ann],
        ],
        "changed: 1 done ann@docs",
      ],
      [
        "and completes it again",
        [
          ["claim", ann],
          ["complete", ann],
          ["complete", ann],
        ],
        "changed: 1 done ann@docs",
      ],
      [
        "nobody else completes it",
        [
          ["claim", ann],
          ["complete", bob],
        ],
        "taken: 1 claimed ann@docs",
      ],
      [
        "nobody completes what is not claimed",
        [
          ["assign", ann],
          ["complete", ann],
        ],
        "taken: 1 assigned ann@docs",
      ],
      [
        "what is done is not claimed",
        [
          ["claim", ann],
          ["complete", ann],
          ["claim", ann],
        ],
        "taken: 1 done ann@docs",
      ],
      [
        "nor assigned",
        [
          ["claim", ann],
          ["complete", ann],
          ["assign", bob],
        ],
        "taken: 1 done ann@docs",
      ],
      [
        "nor given back",
        [
          ["claim", ann],
          ["complete", ann],
          ["release", ann],
        ],
        "taken: 1 done ann@docs",
      ],
    ])("%s", async (_, moves, expected) => {
      const list = await open();
      await createTask(list, "1");
      let outcome = "";
      for (const [move, who] of moves) {
        const answer =
          move === "complete"
            ? await list.complete(one, { by: who })
            : await list[move as "assign" | "claim" | "release"](one, who);
        outcome = answer.kind;
        if (answer.kind === "taken") expect(answer.message).toContain("1");
      }
      expect(`${outcome}: ${(await states(list)).join()}`).toBe(expected);
    });

    it("keep what came of a task", async () => {
      const list = await open();
      await createTask(list, "1");
      await list.claim(one, ann);
      await list.complete(one, { by: ann, result: "see notes.md" });
      expect(await list.list()).toMatchObject([{ result: "see notes.md", owner: ann }]);
    });

    it("give a task to exactly one of many who claim it at once", async () => {
      const list = await open();
      await createTask(list, "1");
      const claims = Array.from({ length: 12 }, (_, n) => list.claim(one, teammateAddress(`a${n}`, "docs")));
      const outcomes = await Promise.all(claims);
      const winners = outcomes.flatMap((outcome) => (outcome.kind === "changed" ? [outcome.task.owner] : []));
      expect(winners).toHaveLength(1);
      for (const outcome of outcomes) if (outcome.kind === "taken") expect(outcome.task.owner).toBe(winners[0]);
    });

    it("refuse a task that they don't know, one that is too long, and one too many", async () => {
      const list = await open();
      expect(await list.claim(taskId("9"), ann)).toMatchObject({ kind: "unknown-task" });
      expect(await createTask(list, "1", "x".repeat(301))).toMatchObject({ kind: "too-large" });
      expect(await createTask(list, "1", "x".repeat(300))).toMatchObject({ kind: "created" });
      await list.claim(one, ann);
      const result = "x".repeat(50_001);
      expect(await list.complete(one, { by: ann, result })).toMatchObject({ kind: "too-large" });
      expect(await states(list)).toEqual(["1 claimed ann@docs"]);
      for (let n = 2; n <= 1_000; n += 1) await createTask(list, String(n));
      expect(await createTask(list, "1001")).toMatchObject({ kind: "full" });
      expect(await createTask(list, "7")).toMatchObject({ kind: "created" });
      expect(await list.list()).toHaveLength(1_000);
    });

    it("belong to their team, and go with it", async () => {
      const lists = await make();
      await createTask(lists.open("docs"), "1");
      await createTask(lists.open("other"), "2");
      expect(await states(lists.open("docs"))).toEqual(["1 open"]);
      expect(await lists.remove("docs")).toBeUndefined();
      expect(await lists.remove("docs")).toBeUndefined();
      expect([await states(lists.open("docs")), await states(lists.open("other"))]).toEqual([[], ["2 open"]]);
    });
  });
}
