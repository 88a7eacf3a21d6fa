import { describe, expect, it } from "vitest";
import { toolbox } from "../../../../test/fixture/toolbox.ts";
import { teammateAddress } from "palimpsest/internal/schema/agent-address";
import type { JsonObject } from "palimpsest/internal/schema/json";
import { memoryTaskLists } from "palimpsest/internal/store/memory/memory-task-lists";
import { millis } from "palimpsest/internal/schema/brand";
import type { OutgoingMessage } from "./send-message-tool.ts";
import type { TeamTasks } from "./task-tool.ts";

async function makeBox(mode: "default" | "plan" = "default") {
  const sent: OutgoingMessage[] = [];
  const messages = {
    send: async (message: OutgoingMessage) => {
      sent.push(message);
      return message.to === "zoe"
        ? ({ kind: "refused", message: "There is no zoe." } as const)
        : ({ kind: "sent", message: `Sent to ${message.to}.` } as const);
    },
  };
  const list = memoryTaskLists({ now: () => millis(1) }).open("docs");
  const tasksOf = (name: string): TeamTasks => ({
    self: teammateAddress(name, "docs"),
    list: () => list.list(),
    create: (draft) => list.create(draft),
    claim: (id, by) => list.claim(id, by),
    release: (id, by) => list.release(id, by),
    complete: (id, completion) => list.complete(id, completion),
    assign: async () => ({ kind: "refused", message: "There is no such teammate." }),
  });
  const boxes = await Promise.all(
    ["ann", "ben"].map((name) => toolbox({ mode, teamwork: { messages, teamTasks: tasksOf(name) } })),
  );
  const [ann, ben] = boxes;
  if (ann === undefined || ben === undefined) throw new Error("no boxes");
  return { sent, ann, ben };
}

describe("send_message", () => {
  it.each<[JsonObject, object]>([
    [
      { to: " ann ", message: "Hello.", summary: "A greeting" },
      { type: "text", text: "Hello.", summary: "A greeting" },
    ],
    [
      { to: "ann", message: "", type: "shutdown_request" },
      { type: "shutdown_request", requestId: "toolu_1" },
    ],
    [
      { to: "ann", message: "Not yet.", type: "shutdown_response", request: "r", approve: false },
      { type: "shutdown_response", requestId: "r", approve: false, reason: "Not yet." },
    ],
    [
      { to: "ann", message: "1. Look.", type: "plan_approval_request" },
      { type: "plan_approval_request", requestId: "toolu_1", plan: "1. Look." },
    ],
  ])("sends %j as the message it is", async (input, body) => {
    const { ann, sent } = await makeBox();
    expect(await ann.call("send_message", input)).toMatchObject({ kind: "ran", isError: false, text: "Sent to ann." });
    expect(sent).toEqual([{ id: "toolu_1", to: "ann", body }]);
  });

  it.each<[string, JsonObject]>([
    ["an empty message", { to: "ann", message: " " }],
    ["an empty plan", { to: "ann", message: " ", type: "plan_approval_request" }],
    ["a response without a request", { to: "ann", message: "", type: "shutdown_response", approve: true }],
    ["a response without an answer", { to: "ann", message: "", type: "shutdown_response", request: "r" }],
    ["a type of the program's own", { to: "ann", message: "x", type: "idle_notice" }],
  ])("refuses %s before anything is sent", async (_what, input) => {
    const { ann, sent } = await makeBox();
    expect((await ann.call("send_message", input)).kind).toBe("wrong");
    expect(sent).toEqual([]);
  });

  it("is asked about in no mode, and tells the model what did not work", async () => {
    const { ann } = await makeBox("plan");
    expect(await ann.call("send_message", { to: "zoe", message: "Hello." })).toMatchObject({
      kind: "ran",
      isError: true,
      text: "There is no zoe.",
    });
  });
});

describe("task", () => {
  it("lets one agent have a task: the other is told who has it", async () => {
    const { ann, ben } = await makeBox();
    const created = await ann.call("task", { do: "create", text: "Look\n\nat a.ts" }, { id: "toolu_9" });
    const id = /task-[0-9a-f]{8}/.exec(created.text)?.[0] ?? "";
    expect(created.text).toBe(`${id} [open] Look`);
    // The same call again creates nothing.
    expect((await ann.call("task", { do: "create", text: "Look\n\nat a.ts" }, { id: "toolu_9" })).text).toContain(id);
    expect((await ben.call("task", { do: "claim", id })).text).toBe(`${id} [claimed, ben] Look`);
    const taken = await ann.call("task", { do: "claim", id });
    expect(taken).toMatchObject({ isError: true });
    expect(taken.text).toContain(`${id} [claimed, ben] Look`);
    expect((await ben.call("task", { do: "complete", id, text: "fine\nreally" })).text).toContain("[done, ben]");
    expect((await ann.call("task", { do: "list" })).text).toBe(
      `${id} [done, ben] Look\n  to do:\n  > at a.ts\n  result:\n  > fine\n  > really`,
    );
  });

  it.each<[string, JsonObject]>([
    ["create needs a text", { do: "create" }],
    ["claim needs an id", { do: "claim" }],
    ["assign needs to", { do: "assign", id: "task-1" }],
  ])("says that %s", async (message, input) => {
    const { ann } = await makeBox();
    expect(await ann.call("task", input)).toEqual({ kind: "wrong", text: `task: ${message}` });
  });
});
