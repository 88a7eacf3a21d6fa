import { describe, expect, it } from "vitest";
import {
  append,
  call,
  cleared,
  offloaded,
  openedForTest,
  reply,
  testDeps,
  text,
  user,
} from "../../../test/fixture/session.ts";
import type { FrozenParts } from "../../cache/baseline.ts";
import { type EntryId, entryId } from "../../schema/brand.ts";
import type { Draft } from "../../transcript/draft.ts";
import type { Session } from "../session.ts";
import { frozenBaseline } from "./frozen.ts";

const parts = (model: string, rules: string): FrozenParts => ({
  model,
  betas: [],
  tools: [{ name: "read" }],
  system: [{ name: "RULES.md", text: rules }],
});

async function started() {
  const deps = testDeps();
  const session = await openedForTest(deps);
  const freeze = async (now: FrozenParts) => {
    const frozen = await frozenBaseline(deps, { session, now });
    if (frozen.kind === "failed") throw new Error(frozen.message);
    return { text: frozen.baseline.systemBlocks[0]?.text, moved: frozen.moved?.kind };
  };
  return { deps, session, freeze };
}

const told = (session: Session, words: string): number =>
  session.fold.projection.items.filter(({ blocks }) => JSON.stringify(blocks).includes(words)).length;

describe("the frozen prefix", () => {
  it("stays what it was when files changed since", async () => {
    const { freeze } = await started();
    await freeze(parts("a", "old"));
    expect(await freeze(parts("a", "new"))).toEqual({ text: "old", moved: undefined });
  });

  it("tells a change once, and the next one again", async () => {
    const { freeze, session } = await started();
    await freeze(parts("a", "old"));
    await freeze(parts("a", "newer words"));
    await freeze(parts("a", "newer words"));
    expect(told(session, "newer words")).toBe(1);
    await freeze(parts("a", "newest words"));
    await freeze(parts("a", "newest words"));
    expect(told(session, "newest words")).toBe(1);
  });

  it("is each model's own: who comes back sends what he sent before", async () => {
    const { freeze, session } = await started();
    await freeze(parts("a", "old"));
    expect(await freeze(parts("b", "new"))).toEqual({ text: "new", moved: "model" });
    expect(await freeze(parts("a", "new"))).toEqual({ text: "old", moved: "model" });
    expect(await freeze(parts("a", "new"))).toEqual({ text: "old", moved: undefined });
    expect(told(session, "From here on the model is a")).toBe(1);
  });

  it.each<[string, (id: EntryId) => readonly Draft[], string | undefined]>([
    ["nothing", () => [], undefined],
    ["a clear", () => [cleared("toolu_1")], "edit"],
    ["an undo of an offload", (id) => [{ type: "undo", edit: id }], "edit"],
    ["a setting", () => [{ type: "setting", name: "x", value: 1 }], undefined],
    ["a clear that a reply has seen", () => [cleared("toolu_1"), reply("msg_2", text("Done."))], undefined],
  ])("tells of an edit since the last reply: %s", async (_, drafts, moved) => {
    const { deps, freeze, session } = await started();
    await freeze(parts("a", "old"));
    await append(session, user("Go."), reply("msg_0", call("toolu_1")));
    const ids = await append(session, ...(await offloaded(deps, "toolu_1", "output")));
    await append(session, reply("msg_1", text("Seen.")));
    await append(session, ...drafts(ids.at(-1) ?? entryId("")));
    expect((await freeze(parts("a", "old"))).moved).toBe(moved);
  });

  it("tells nothing of an undo that changes no message", async () => {
    const { freeze, session } = await started();
    await freeze(parts("a", "old"));
    const [setting] = await append(session, { type: "setting", name: "x", value: 1 });
    await append(session, user("Go."), reply("msg_1", text("Done.")), { type: "undo", edit: setting });
    expect((await freeze(parts("a", "old"))).moved).toBeUndefined();
  });
});
