import { expect, test } from "vitest";
import { imagePart, pngData } from "../../../../../test/fixture/image.ts";
import { append, call, cleared, openedForTest, reply, testDeps, user } from "../../../../../test/fixture/session.ts";
import { playing, says } from "../../../../../test/scenario/support/simulated.ts";
import { testAgent } from "../../../../../test/fixture/agent.ts";
import { defaultOffloadLimits } from "palimpsest/internal/layers/1-offload/plan";
import { offload } from "palimpsest/internal/layers/1-offload/run";
import type { ResultContent } from "palimpsest/internal/schema/block";
import { type EntryId, entryId, sessionId, toolUseId } from "palimpsest/internal/schema/brand";
import type { JsonObject } from "palimpsest/internal/schema/json";
import type { MessagesRequest } from "palimpsest/internal/schema/wire/messages-request";
import type { Responder } from "@palimpsest/simulator/internal/responder/responder";
import { Simulator } from "@palimpsest/simulator/internal/simulator";
import type { ProjectRecall } from "../../host/project-recall.ts";
import { recallTool } from "../../tool/recall-tool.ts";
import { type Draft, resultDraft } from "palimpsest/internal/transcript/draft";
import { recallById } from "./recall-by-id.ts";

async function holding(content: ResultContent) {
  const deps = testDeps();
  const session = await openedForTest(deps);
  await append(session, user("Look."), reply("msg_1", call("toolu_1")));
  const [entry = entryId("")] = await append(session, resultDraft({ toolUse: toolUseId("toolu_1"), content }));
  await append(session, cleared("toolu_1"));
  return { deps, session, entry, recalled: (id: string) => recallById({ deps, session, id }) };
}

const text = (words: string): JsonObject => ({ type: "text", text: words });
const pdf: JsonObject = {
  type: "document",
  source: { type: "base64", media_type: "application/pdf", data: Buffer.from("%PDF-1.7").toString("base64") },
};

test("an image behind a marker comes back as an image, in its place among what was said beside it", async () => {
  const blocks = [text("before"), imagePart(), text("after"), pdf];
  const { entry, recalled } = await holding(blocks);
  for (const id of ["toolu_1", entry]) {
    const found = await recalled(id);
    if (found.kind !== "found") expect.unreachable(found.why);
    expect(found.media.map(({ block }) => block)).toEqual([imagePart(), pdf]);
    expect(found.text).not.toContain(pngData());
    const [image = -1, document = -1] = found.media.map(({ at }) => at);
    expect(found.text.slice(image).startsWith("[image 1, shown below]")).toBe(true);
    expect(found.text.slice(document).startsWith("[document 2, shown below]")).toBe(true);
    expect(found.text.indexOf("before")).toBeLessThan(image);
    expect(found.text.indexOf("after")).toBeGreaterThan(image);
  }
});

test("the path of a memory gives it back, in a folder or not, and other ids do not ask for one", async () => {
  const { deps, session } = await holding("zoo");
  const asked: string[] = [];
  const recall: Pick<ProjectRecall, "expand"> = {
    expand: async (place, id) => {
      asked.push(place);
      return place === id ? { kind: "blob", bytes: new TextEncoder().encode(`memory ${id}`) } : undefined;
    },
  };
  for (const id of ["tabs.md", "logs/2026/tabs.md"])
    expect(await recallById({ deps, session, id, recall })).toMatchObject({ kind: "found", text: `memory ${id}` });
  expect(await recallById({ deps, session, id: "toolu_9", recall })).toMatchObject({ kind: "missing" });
  expect(asked).toEqual(["tabs.md", "logs/2026", "logs/2026/tabs.md"]);
});

test("an image stands in its own place, also behind a text that quotes an earlier recall", async () => {
  const quote = text("\uE000 I saw [image 1, shown below] before.");
  const { recalled } = await holding([text("[image 1, shown below]"), quote, imagePart(), text("after")]);
  const found = await recalled("toolu_1");
  if (found.kind !== "found") expect.unreachable(found.why);
  expect(found.media).toEqual([{ block: imagePart(), at: found.text.lastIndexOf("[image 1, shown below]") }]);
  expect(JSON.parse(found.text)).toEqual([
    text("[image 1, shown below]"),
    quote,
    "[image 1, shown below]",
    text("after"),
  ]);
});

test("an image that was offloaded with a long text comes back too", async () => {
  const { deps, session, recalled } = await holding("nothing");
  await append(session, user("Again."), reply("msg_2", call("toolu_2")));
  const content = [text("long ".repeat(50_000)), imagePart()];
  const result = { toolUse: toolUseId("toolu_2"), tool: "Read", content, state: "arrived" } as const;
  const round = await offload(deps, { session: sessionId("s"), results: [result], limits: defaultOffloadLimits() });
  await append(session, ...round.drafts);
  expect(await recalled("toolu_2")).toMatchObject({ kind: "found", media: [{ block: imagePart() }] });
});

test("an image that was declared to be of another type comes back under its own", async () => {
  const { deps, recalled } = await holding("nothing");
  const put = await deps.blobs.put(Buffer.from(pngData(), "base64"));
  if (put.kind !== "stored") throw new Error(put.message);
  expect(await recalled(put.id)).toMatchObject({ media: [{ block: imagePart(), at: 0 }] });
});

test("a text that only looks like blocks stays the text that it is", async () => {
  const content = JSON.stringify([imagePart()]);
  const { recalled } = await holding(content);
  expect(await recalled("toolu_1")).toEqual({ kind: "found", text: content, media: [] });
});

test("the model that recalls an image is shown it", async () => {
  const { deps, session } = await holding([imagePart()]);
  const requests: MessagesRequest[] = [];
  const playingBoth = playing([{ type: "tool_use", name: "recall", input: { id: "toolu_1" } }], says("I see."));
  const actor: Responder = {
    name: "watching",
    respond: (scene) => {
      requests.push(scene.request);
      return playingBoth.respond(scene);
    },
  };
  const tool = recallTool({ expand: (id) => recallById({ deps, session, id }), search: async () => undefined });
  const agent = testAgent({ deps, session, simulator: new Simulator({ responder: actor }), tools: [tool] });
  const end = (await agent.turn("What was on it?")).at(-1);
  expect(end).toMatchObject({ kind: "turn-end", reason: "answered" });
  const [before, after] = requests.map((request) => JSON.stringify(request.messages).split(pngData()).length - 1);
  expect([before, after]).toEqual([0, 1]);
});

test("an image that was refused when it was recalled is described in words, by whatever id, until the edit is undone", async () => {
  const { deps, session, entry, recalled } = await holding([imagePart(), pdf]);
  const put = await deps.blobs.put(Buffer.from(pngData(), "base64"));
  if (put.kind !== "stored") throw new Error(put.message);
  const leftOut = (name: EntryId): Draft => ({
    type: "leave-out",
    part: "media",
    entries: [{ entry: name }],
    because: "refused",
  });
  await append(session, leftOut(entry));
  expect(await recalled("toolu_1")).toMatchObject({ media: [{ block: imagePart() }, { block: pdf }] });

  await append(session, reply("msg_2", call("toolu_2", "recall")));
  const [again = entry] = await append(session, resultDraft({ toolUse: toolUseId("toolu_2"), content: [imagePart()] }));
  const [edit = entry] = await append(session, leftOut(again));
  const words = "PNG, 100 × 100 pixels, 64 B, not shown: the provider refused it when it was recalled before]";
  for (const id of ["toolu_1", entry, again]) {
    const found = await recalled(id);
    if (found.kind !== "found") expect.unreachable(found.why);
    expect(found.text).toContain(`[image 1, ${words}`);
    expect(found.media.map(({ block }) => block)).toEqual(id === again ? [] : [pdf]);
  }
  expect(await recalled(put.id)).toEqual({ kind: "found", text: `[${words}`, media: [] });

  await append(session, { type: "undo", edit });
  expect(await recalled("toolu_1")).toMatchObject({ media: [{ block: imagePart() }, { block: pdf }] });
});
