import Anthropic from "@anthropic-ai/sdk";
import { describe, expect, it } from "vitest";
import {
  type ContextEvent,
  type EditApproval,
  openContext,
  type PlannedEdit,
} from "../../packages/palimpsest/src/index.ts";
import { Simulator, simulatorFetch } from "../../packages/simulator/src/index.ts";
import { playing } from "./support/simulated.ts";

const rounds = 40;

/** Reads large files, one a round, so that clearing the old ones pays. */
async function readFiles(answer?: EditApproval): Promise<{
  readonly asked: readonly PlannedEdit[];
  readonly events: readonly ContextEvent[];
}> {
  const read = { type: "tool_use", name: "read", input: { path: "a.ts" } } as const;
  const responder = playing(...Array.from({ length: rounds }, () => [read]));
  const client = new Anthropic({ apiKey: "none", maxRetries: 0, fetch: simulatorFetch(new Simulator({ responder })) });
  const asked: PlannedEdit[] = [];
  const events: ContextEvent[] = [];
  const approveEdit = async (edit: PlannedEdit): Promise<EditApproval> => {
    asked.push(edit);
    return answer ?? "yes";
  };
  const context = await openContext({
    model: "claude-opus-5",
    saving: "thrifty",
    // A tenth of it is soon stale, and nothing has to be removed for room.
    contextTokens: 120_000,
    tools: [{ name: "read", description: "Reads a file.", input_schema: { type: "object" } }],
    onEvent: (event) => void events.push(event),
    ...(answer === undefined ? {} : { approveEdit }),
  });
  await context.user("Read all files.");
  for (let round = 0; round < rounds; round += 1) {
    const { params } = await context.next();
    for (const call of await context.assistant(await client.messages.create(params)))
      await context.toolResult(
        call.id,
        `round ${round}: ${"some line of a file; ".repeat(round % 2 === 0 ? 400 : 20)}`,
      );
  }
  await context.close();
  return { asked, events };
}

const clearedIn = (events: readonly ContextEvent[]): readonly ContextEvent[] =>
  events.filter(({ kind }) => kind === "cleared");

describe("approveEdit", () => {
  it("is asked before each edit that pays, with its reason and its cost", async () => {
    const { asked, events } = await readFiles("yes");
    expect(asked.length).toBeGreaterThan(0);
    expect(clearedIn(events)).toHaveLength(asked.length);
    for (const edit of asked)
      expect(edit).toMatchObject({
        trigger: "clear.price",
        because: expect.stringMatching(/^keeps [\d,]+ tokens of \d+ results? out of each request, about \$/) as string,
        tokensSaved: expect.any(Number) as number,
        costNanos: expect.any(Number) as number,
      });
    expect(events.filter(({ kind }) => kind === "edit-planned").length).toBe(
      asked.filter(({ costNanos = 0 }) => costNanos >= 50_000_000).length,
    );
  });

  it("that says “not now” leaves the view as it is, and is asked again after 20 rounds at the earliest", async () => {
    const { asked, events } = await readFiles("not-now");
    expect(clearedIn(events)).toEqual([]);
    expect(asked.length).toBeGreaterThan(0);
    expect(asked.length).toBeLessThanOrEqual(rounds / 20);
  });

  it("is optional: without it nothing is asked, and the same edits are made", async () => {
    const [asking, silent] = [await readFiles("yes"), await readFiles()];
    const reasons = (events: readonly ContextEvent[]): readonly string[] =>
      events.flatMap((event) => (event.kind === "cleared" ? [event.because] : []));
    expect(reasons(silent.events)).toEqual(reasons(asking.events));
  });
});
