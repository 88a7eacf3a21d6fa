import { beforeAll, describe, expect, it } from "vitest";
import { appendBoundary } from "../../packages/palimpsest/src/session/append-boundary.ts";
import { messageId } from "../../packages/palimpsest/src/schema/brand.ts";
import type { JsonObject } from "../../packages/palimpsest/src/schema/json.ts";
import { type Draft, replyDraft } from "../../packages/palimpsest/src/transcript/draft.ts";
import { append, call, cleared, reply, result, text, user } from "../fixture/session.ts";
import { json, newWorld, type World } from "./support/cli-world.ts";
import { openedSession } from "./support/project.ts";

let world: World;
beforeAll(async () => {
  world = await newWorld();
});

const usage = (input: number): JsonObject => ({ input_tokens: input, output_tokens: 20 });

/** Replies that the provider counted, a compaction, an edit behind it: every way in which one view could be counted twice. */
async function counted(id: string, behind: "counted" | "not-counted"): Promise<void> {
  const session = await openedSession(world.deps, id, "create");
  for (const round of [1, 2, 3]) {
    await append(session, user(`${round} words `.repeat(800)), replied(`m${round}`, usage(9_000 + round * 3_000)));
  }
  await appendBoundary(world.deps, session, { summary: "In short.", trigger: "manual" });
  if (behind === "counted") await append(session, user("Go on."), replied("m8", usage(7_000)));
  await append(session, user("And on."), reply("m9", call("t1")), result("t1", "the original ".repeat(300)));
  await session.edit({ drafts: [cleared("t1")], cause: "asked", nature: "reduced" });
  await session.close();
}

const replied = (id: string, counts: JsonObject): Draft =>
  replyDraft({ id: messageId(id), model: "test-model", content: [text("Yes, of course. ".repeat(90))], usage: counts });

interface Figures {
  readonly tokens: number;
  readonly used: number;
}

const said = async (...args: readonly string[]): Promise<Figures> => json(await world.call(...args, "--json"));

/** The size of the context, by every command that names it. */
const figuresOf = async (id: string): Promise<readonly number[]> => [
  (await said("context", id)).used,
  (await said("sessions", "show", id)).tokens,
  (await said("view", id)).tokens,
];

describe("the size of one context", () => {
  it.each(["counted", "not-counted"] as const)("is the same whichever command names it: replies %s", async (behind) => {
    await counted(behind, behind);
    expect(new Set(await figuresOf(behind)).size).toBe(1);
    const undone = await said("undo", behind);
    const [now, ...others] = await figuresOf(behind);
    expect(others).toEqual([now, now]);
    expect(undone.tokens).toBe(now);
  });

  it("stands in the text of each of them", async () => {
    await counted("text", "counted");
    const undone = await world.call("undo", "text");
    const { used } = await said("context", "text");
    const figure = used.toLocaleString("en-US");
    expect(undone.out).toContain(`context   now about ${figure} tokens\n`);
    expect((await world.call("sessions", "show", "text")).out).toContain(`about ${figure} tokens`);
    expect((await world.call("context", "text")).out).toContain(figure);
  });
});
