import { describe, expect, it } from "vitest";
import type { AskModel } from "../../context/summarizer.ts";
import { openThreadsMax } from "./limits.ts";
import { ThreadContexts } from "./thread-contexts.ts";

const request = { model: "claude-sonnet-5-5", system: "", tools: [] };

describe("ThreadContexts", () => {
  it("closes the thread that was used longest ago when there are too many, and opens it again when it is asked for", async () => {
    const threads = new ThreadContexts("anthropic", {});
    const first = await threads.open("t0");
    await first.sync({ ...request, messages: [{ role: "user", content: "hello" }] });
    const context = await first.context;
    for (let at = 1; at < openThreadsMax; at += 1) await threads.open(`t${at}`);
    expect(await threads.open("t0")).toBe(first);
    await threads.open("one more");
    expect(threads.contextFor("t1")).toBeUndefined();
    expect(threads.contextFor("t0")).toBeDefined();
    for (let at = 2; at <= openThreadsMax; at += 1) await threads.open(`t${at}`);
    expect(threads.contextFor("t0")).toBeUndefined();
    expect(await threads.open("t0")).not.toBe(first);
    await expect(context.user("late")).rejects.toThrow(/closed/);
    await threads.close();
  });

  it("closes one thread", async () => {
    const threads = new ThreadContexts("anthropic", {});
    const [one, other] = [await threads.open("one"), await threads.open("other")];
    await threads.closeThread("one");
    expect(await threads.open("one")).not.toBe(one);
    expect(await threads.open("other")).toBe(other);
    await threads.close();
  });

  it("each thread is summarised by its own model", async () => {
    const asked: string[] = [];
    const threads = new ThreadContexts("anthropic", { summarizer: "own" });
    const askModel =
      (name: string): AskModel<"anthropic"> =>
      () => {
        asked.push(name);
        const text = `<summary>${"What was said. ".repeat(40)}</summary>`;
        const usage = { input_tokens: 1, output_tokens: 1 };
        const content = [{ type: "text", text }];
        return Promise.resolve({ id: name, model: request.model, content, stop_reason: "end_turn", usage });
      };
    const messages = Array.from({ length: 9 }, (_, at) => ({
      role: at % 2 === 0 ? "user" : "assistant",
      content: `${at}: ${"What there is to say. ".repeat(500)}`,
    }));
    const one = await threads.open("one");
    await one.sync({ ...request, messages, askModel: askModel("one") });
    const other = await threads.open("other");
    await other.sync({ ...request, messages, askModel: askModel("other") });
    expect(await (await one.context).compact()).toMatchObject({ kind: "compacted" });
    expect(new Set(asked)).toEqual(new Set(["one"]));
    await threads.close();
  });
});
