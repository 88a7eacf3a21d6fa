import { describe, expect, it } from "vitest";
import { messageId, millis, toolUseId } from "../../schema/brand.ts";
import type { LoopEvent } from "../../schema/loop-event.ts";
import { addDreamEvent, type DreamTask, endDreamTask, startDreamTask, updateDreamTask } from "./dream-task.ts";

const reply: LoopEvent = { kind: "reply-start", id: messageId("m") };
const say = (text: string): LoopEvent => ({ kind: "text-delta", text });
const call: LoopEvent = { kind: "call-start", id: toolUseId("t"), tool: "memory", input: {} };
const retry: LoopEvent = { kind: "retry-start", attempt: 2, afterMs: millis(1), message: "" };
const play = (events: readonly LoopEvent[]): DreamTask => events.reduce(addDreamEvent, startDreamTask(millis(1)));

describe("the task of a dream", () => {
  it("counts replies and calls, with a line of each reply", () => {
    const task = play([reply, say("I look\n"), say("around."), call, call, reply, call]);
    expect(task).toMatchObject({ status: "running", phase: "starting", turnsTotal: 2, calls: 3 });
    expect(task.turns).toEqual([
      { text: "I look around.", calls: 2 },
      { text: "", calls: 1 },
    ]);
  });

  it("keeps the last 30 replies and counts all", () => {
    const task = play(Array.from({ length: 40 }, (_, at) => [reply, say(`reply ${at}`)]).flat());
    expect(task).toMatchObject({ turnsTotal: 40 });
    expect([task.turns.length, task.turns[0]?.text]).toEqual([30, "reply 10"]);
  });

  it("forgets a reply that broke off", () => {
    expect(play([reply, say("Half"), retry, reply, say("Whole.")]).turns).toEqual([{ text: "Whole.", calls: 0 }]);
  });

  it("is updating from the first write on, even if that is taken back", () => {
    const written = updateDreamTask(startDreamTask(millis(1)), ["a.md"]);
    expect(written).toMatchObject({ phase: "updating", files: ["a.md"] });
    expect(updateDreamTask(written, [])).toMatchObject({ phase: "updating", files: [] });
    expect(updateDreamTask(startDreamTask(millis(1)), [])).toMatchObject({ phase: "starting" });
  });

  it("ends with a status, a time and a message", () => {
    const end = { status: "killed", endedAt: millis(9), message: "It was stopped.", files: [] } as const;
    expect(endDreamTask(startDreamTask(millis(1)), end)).toMatchObject({ ...end, startedAt: 1 });
  });
});
