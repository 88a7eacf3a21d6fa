import Anthropic from "@anthropic-ai/sdk";
import { describe, expect, it } from "vitest";
import { type ContextEvent, memoryStore, openContext } from "../../packages/palimpsest/src/index.ts";
import { millis } from "../../packages/palimpsest/src/schema/brand.ts";
import { type SavingLevel, savingLevels } from "../../packages/palimpsest/src/schema/policy-names.ts";
import { simulatorFetch } from "../../packages/simulator/src/http/simulator-fetch.ts";
import { virtualClock } from "../../packages/simulator/src/simulator-clock.ts";
import { Simulator } from "../../packages/simulator/src/simulator.ts";
import { playing } from "./support/simulated.ts";

const hour = 3_600_000;

interface Step {
  readonly tool: "Read" | "Bash";
  readonly path?: string;
  readonly chars: number;
  readonly failed?: boolean;
}

const read = (name: string, chars = 12_000): Step => ({ tool: "Read", path: `/gauge/src/${name}.ts`, chars });
const small: Step = { tool: "Bash", chars: 400 };
const failedTest: Step = { tool: "Bash", chars: 9_000, failed: true };
const files = ["scale", "needle", "dial", "spring", "case", "glass", "screw", "plate"] as const;

interface Session {
  readonly saving: SavingLevel;
  readonly contextTokens: number;
}

/** A conversation that reads, runs and waits as it is told; the model only calls the tools. */
async function startSession({ saving, contextTokens }: Session, steps: readonly Step[]) {
  const clock = virtualClock(millis(Date.parse("2026-05-01T08:00:00Z")));
  const calls = steps.map(({ tool, path = "npm test" }) => [
    { type: "tool_use", name: tool, input: tool === "Read" ? { file_path: path } : { command: path } } as const,
  ]);
  const client = new Anthropic({
    apiKey: "none",
    maxRetries: 0,
    fetch: simulatorFetch(new Simulator({ responder: playing(...calls), clock })),
  });
  const events: ContextEvent[] = [];
  const context = await openContext({
    model: "claude-opus-5",
    saving,
    contextTokens,
    store: memoryStore(),
    tools: ["Read", "Bash"].map((name) => ({ name, description: `${name}s.`, input_schema: { type: "object" } })),
    clock: () => clock.now(),
    onEvent: (event) => void events.push(event),
  });
  let done = 0;
  return {
    context,
    wait: (time: number) => clock.advance(time),
    edits: () =>
      events.flatMap((event) => (event.kind === "cleared" || event.kind === "compacted" ? [event.kind] : [])),
    reasons: () => events.flatMap((event) => (event.kind === "cleared" ? [event.because] : [])),
    /** The newest request shows the result of this step whole. */
    shows: async (step: number): Promise<boolean> =>
      JSON.stringify((await context.next()).params.messages).includes(`result ${step} `),
    run: async (count = steps.length): Promise<void> => {
      for (const { chars, failed = false } of steps.slice(done, done + count)) {
        clock.advance(10_000);
        const { params } = await context.next();
        for (const { id } of await context.assistant(await client.messages.create(params)))
          await context.toolResult(id, `result ${done} ${"a line of a gauge\n".repeat(chars / 18)}`, {
            isError: failed,
          });
        done += 1;
      }
    },
  };
}

/** Eight files, a test that fails, and twelve small steps. */
const repair: readonly Step[] = [
  ...files.map((name) => read(name)),
  failedTest,
  ...Array.from({ length: 12 }, () => small),
];

describe("a window of a million that is 3 % full", () => {
  it.each(savingLevels)("is left alone: %s", async (saving) => {
    const session = await startSession({ saving, contextTokens: 1_000_000 }, repair);
    await session.context.user("Find out why the test fails.");
    await session.run();
    expect(session.edits()).toEqual([]);
  });
});

describe("the same in a window that it half fills", () => {
  const tight = 100_000;

  it.each(["careful", "balanced"] as const)("is left alone while the cache is warm: %s", async (saving) => {
    const session = await startSession({ saving, contextTokens: tight }, repair);
    await session.context.user("Find out why the test fails.");
    await session.run();
    expect(session.edits()).toEqual([]);
  });

  it("thrifty clears what has been read, in few steps, and says what that saves; what the user names and what failed stay", async () => {
    const session = await startSession({ saving: "thrifty", contextTokens: tight }, repair);
    await session.context.user("Find out why the test fails. It is about needle.ts.");
    await session.run();
    expect(session.edits().length).toBeGreaterThan(0);
    expect(session.edits().length).toBeLessThanOrEqual(3);
    for (const reason of session.reasons())
      expect(reason).toMatch(/^keeps [\d,]+ tokens of \d results out of each request, about \$/);
    expect(await session.shows(1)).toBe(true);
    expect(await session.shows(8)).toBe(true);
    expect(await session.shows(2)).toBe(false);
  });
});

describe("a session that is resumed with 42 % of its window left", () => {
  const long: readonly Step[] = [...Array.from({ length: 24 }, (_, at) => read(`part-${at}`, 14_000)), small, small];

  it.each(["careful", "balanced"] as const)("is not compacted by the first “go on”: %s", async (saving) => {
    const session = await startSession({ saving, contextTokens: 200_000 }, long);
    await session.context.user("Read all parts.");
    await session.run(24);
    const before = session.edits().filter((kind) => kind === "compacted").length;
    session.wait(3 * hour);
    await session.context.user("Go on.");
    await session.run(2);
    expect(session.edits().filter((kind) => kind === "compacted")).toHaveLength(before);
  });
});
