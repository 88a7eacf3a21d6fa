import { describe, expect, it, onTestFinished } from "vitest";
import { extractWorld, lastText } from "./support/extract-world.ts";

const foreign = ["search_docs", "run_query"].map((name) => ({
  name,
  description: `A tool of the caller: ${name}`,
  input_schema: { type: "object" as const },
}));
const system = "You answer questions about a large product. ".repeat(200);

/** Two memories that say the same, of which a dream makes one. */
async function createWorld(dream: "on" | "off" = "on") {
  const asked: string[] = [];
  const merged = { path: "deploys.md", delete: true };
  const world = await extractWorld({
    system,
    tools: foreign,
    background: { dream },
    reply: (said) => {
      if (!said.includes("Tools are refused here")) return "Done.";
      asked.push(said);
      return said.includes("First say what you want to know")
        ? JSON.stringify({ queries: ["deploys Tuesday"] })
        : JSON.stringify({ changes: [merged], removed: [] });
    },
  });
  const { memory } = world.context;
  const body = "Deploys to production happen on Tuesdays from main.";
  await memory.save({ name: "Deploy", description: "When deploys happen", type: "project", body });
  await memory.save({ name: "Deploys", description: "The day of deploys", type: "project", body: `${body} ` });
  await memory.save({ name: "Deploys", description: "The day of deploys", type: "project", body: `Note: ${body}` });
  onTestFinished(() => world.context.close());
  return { ...world, memory, asked };
}

describe("a dream of a library's context", () => {
  it("with foreign tools asks in text, shares the caller's header and nothing of the conversation, and is one revision", async () => {
    const { memory, turn, main, forks } = await createWorld();
    await turn("We talk about something private.");
    const outcome = await memory.dream();
    expect(outcome).toMatchObject({ kind: "dreamt", receipt: { made: [{ path: "deploys.md" }], queries: 1 } });
    expect((await memory.list()).map(({ path }) => path)).toEqual(["deploy.md"]);
    expect(forks).toHaveLength(2);
    for (const { params, usage } of forks) {
      expect(params.tools).toMatchObject(foreign);
      expect(JSON.stringify(params.messages)).not.toContain("something private");
      expect(lastText(params)).toContain("deploys.md");
      expect(usage.cache_read_input_tokens).toBeGreaterThan(0);
    }
    expect(main).toHaveLength(1);
    const [newest] = await memory.log();
    expect(newest).toMatchObject({ author: "dream" });
    expect(await memory.revert(newest?.id ?? "")).toMatchObject({ kind: "committed" });
    expect((await memory.list()).map(({ path }) => path)).toEqual(["deploy.md", "deploys.md"]);
  });

  it("as a dry run changes nothing, and says what it would change", async () => {
    const { memory } = await createWorld();
    expect(await memory.dream("dry-run")).toMatchObject({
      kind: "dreamt",
      revision: undefined,
      receipt: { made: [{ path: "deploys.md", after: undefined }] },
    });
    expect((await memory.list()).map(({ path }) => path)).toEqual(["deploy.md", "deploys.md"]);
  });

  it("does not begin by itself before its gates are open, and not at all if it is off", async () => {
    const { turn, forks, context } = await createWorld();
    await turn("Hello.");
    await context.close();
    expect(forks).toEqual([]);
    expect((await createWorld("off")).memory.dream()).toBeUndefined();
  });

  it("is booked by its source", async () => {
    const { memory, context } = await createWorld();
    await memory.dream();
    expect(context.costs().bySource.dream).toMatchObject({ requests: 2 });
  });
});
