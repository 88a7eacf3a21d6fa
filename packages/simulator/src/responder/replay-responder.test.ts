import { describe, expect, it } from "vitest";
import { call, chained, result, says, text, user } from "../../../../test/fixture/raw.ts";
import { blocksSaid, delivered, played, requestOf, said } from "../../../../test/fixture/scene.ts";
import { sourceOf } from "../../../../test/fixture/log.ts";
import { openLog } from "palimpsest/internal/session/open-log";
import { memoryBlobs } from "palimpsest/internal/store/memory/memory-blobs";
import { collectReplies, replayResponder } from "./replay-responder.ts";

const request = requestOf("Hello there");
const thinking = (words: string): object => ({ type: "thinking", thinking: words, signature: "signed elsewhere" });

describe("replies of a recording", () => {
  it("makes one reply of entries that share a message id, though results stand between them", () => {
    const path = chained([
      user("u1"),
      says("a1", "m1", thinking("hm"), text("Two files.")),
      says("a2", "m1", call("t1")),
      result("r1", "t1"),
      says("a3", "m1", call("t2")),
      result("r2", "t2"),
      says("a4", "m2", text("Done.")),
    ]);
    expect(collectReplies(path)).toEqual([
      {
        blocks: [
          { type: "thinking", thinking: "hm" },
          { type: "text", text: "Two files." },
          { type: "tool_use", id: "t1", name: "Read", input: {} },
          { type: "tool_use", id: "t2", name: "Read", input: {} },
        ],
      },
      { blocks: [{ type: "text", text: "Done." }] },
    ]);
  });

  it.each([
    ["an API error", { isApiErrorMessage: true }, { id: "m1" }],
    ["a placeholder of the client", {}, { id: "m1", model: "<synthetic>" }],
  ])("skips %s", (_, extra, message) => {
    const entry = { type: "assistant", uuid: "a1", message: { ...message, content: [text("Overloaded")] }, ...extra };
    expect(collectReplies(chained([user("u1"), entry, says("a2", "m2", text("Yes."))]))).toEqual([
      { blocks: [{ type: "text", text: "Yes." }] },
    ]);
  });

  it("leaves out an id and a blank text that the API would refuse, a call that came twice, and replies of which nothing is left", () => {
    const path = chained([
      user("u1"),
      says("a1", "m1", call("call:1"), text("\n\n")),
      says("a2", "m2", call("call:1")),
      says("a3", "m3", { type: "server_tool_use", id: "s1", name: "web_search", input: {} }),
    ]);
    expect(collectReplies(path)).toEqual([{ blocks: [{ type: "tool_use", name: "Read", input: {} }] }]);
  });

  it("takes entries without a message id for a reply each", () => {
    const bare = (uuid: string): { type: string; uuid: string } =>
      ({ type: "assistant", uuid, message: { content: [text(uuid)] } }) as never;
    expect(collectReplies(chained([user("u1"), bare("a1"), bare("a2")]))).toHaveLength(2);
  });

  it("follows the path of an opened log, not its other branches", async () => {
    const lines = [
      { ...user("u1"), parentUuid: null },
      { ...says("a1", "m1", text("abandoned")), parentUuid: "u1" },
      { ...says("a2", "m2", text("taken")), parentUuid: "u1" },
    ];
    const bytes = Buffer.from(lines.map((line) => `${JSON.stringify(line)}\n`).join(""));
    const opened = await openLog({ blobs: memoryBlobs() }, { source: sourceOf(bytes), origin: "foreign" });
    expect(collectReplies(opened.fold.path.entries)).toEqual([{ blocks: [{ type: "text", text: "taken" }] }]);
  });
});

describe("replaying", () => {
  const replies = ["One.", "Two."].map((words) => ({ blocks: [{ type: "text", text: words } as const] }));

  it.each([
    ["end", ["One.", "Two.", "The recording is over: it has no further reply."]],
    ["echo", ["One.", "Two.", "You wrote: “Hello there”"]],
    ["repeat", ["One.", "Two.", "One."]],
  ] as const)("answers turn by turn, and past the end: %s", async (after, expected) => {
    const responder = replayResponder({ replies, after });
    const heard: string[] = [];
    for (const _ of expected) heard.push(said(await delivered(responder, request)));
    expect(heard).toEqual(expected);
  });

  it("gives a lost reply again", async () => {
    const responder = replayResponder({ replies });
    (await played(responder, request)).lost?.();
    expect(said(await delivered(responder, request))).toBe("One.");
    expect(said(await delivered(responder, request))).toBe("Two.");
  });

  it("repeats calls under other ids: a conversation has each once", async () => {
    const called = [{ blocks: [{ type: "tool_use", name: "Read", input: {}, id: "t1" } as const] }];
    const responder = replayResponder({ replies: called, after: "repeat" });
    (await played(responder, request)).lost?.();
    const moves = [
      await delivered(responder, request),
      await delivered(responder, request),
      await delivered(responder, request),
    ];
    const { id: _id, ...withoutId } = called[0]?.blocks[0] ?? {};
    expect(moves.map(blocksSaid)).toEqual([called[0]?.blocks, [withoutId], [withoutId]]);
  });

  it("says that it is over where nothing was recorded, even if asked to repeat", async () => {
    expect(said(await delivered(replayResponder({ replies: [], after: "repeat" }), request))).toMatch(/is over/);
  });
});
