import { describe, expect, it } from "vitest";
import { blobsWith } from "../../../../test/fixture/log.ts";
import {
  boundary,
  call,
  clear,
  loggedRaws,
  type Raw,
  result,
  says,
  summary,
  text,
  undo,
  user,
} from "../../../../test/fixture/raw.ts";
import { memoryBlobs } from "palimpsest/internal/store/memory/memory-blobs";
import { uncutPath } from "./uncut-path.ts";

const attachment = (uuid: string): Raw => ({ type: "attachment", uuid, attachment: { type: "file", content: uuid } });
const start = [user("u1"), says("a1", "m1", call("t1")), result("r1", "t1")];
const end = [says("a9", "m9", text("done")), user("u9")];

const path = async (...raws: readonly Raw[]): Promise<string[]> =>
  (await uncutPath(undefined, loggedRaws(raws))).map(({ entry, follows }) =>
    follows === "cut" ? `| ${entry.id}` : `${entry.id}`,
  );

describe("uncutPath", () => {
  it.each<[string, readonly Raw[]]>([
    ["a boundary, its summary and the attachments made for it", [boundary("b"), summary("s"), attachment("x")]],
    [
      "a boundary that hangs by its logical parent",
      [{ ...boundary("b"), parentUuid: null, logicalParentUuid: "r1" }, summary("s")],
    ],
    ["a boundary that names nothing before it", [{ ...boundary("b"), parentUuid: null }, summary("s")]],
    ["a clear", [clear("c", "t1")]],
    ["a clear and its undo", [clear("c", "t1"), undo("n", "c")]],
    ["a snip", [{ type: "snip", uuid: "s", entries: ["r1"] }]],
    ["a collapse", [{ type: "collapse", uuid: "c", span: { from: "a1", to: "r1" }, shown: "short" }]],
  ])("goes on behind %s as if nothing had left the view, and marks the place", async (_, cut) => {
    expect(await path(...start, ...cut, ...end)).toEqual(["u1", "a1", "r1", "| a9", "u9"]);
  });

  it("keeps attachments that no boundary brought", async () => {
    const said = await path(...start, boundary("b"), summary("s"), user("u2"), attachment("x"), ...end);
    expect(said).toEqual(["u1", "a1", "r1", "| u2", "x", "a9", "u9"]);
  });

  it("keeps what the user said right behind a boundary", async () => {
    const queued = { type: "attachment", uuid: "q", attachment: { type: "queued_command", prompt: "and the docs" } };
    const said = await path(...start, boundary("b"), summary("s"), attachment("x"), queued, ...end);
    expect(said).toEqual(["u1", "a1", "r1", "| q", "a9", "u9"]);
  });

  it("keeps a summary that nothing in the log stands before, as something that was said", async () => {
    const [first] = await uncutPath(undefined, loggedRaws([boundary("b"), summary("s"), ...end]));
    expect(first?.entry).toMatchObject({ id: "s", summary: false, meta: true });
  });

  it("leaves out what sub-agents said, other branches and replies that a client made up", async () => {
    const said = await path(
      ...start,
      { ...says("x1", "x", text("aside")), isSidechain: true, parentUuid: "r1" },
      { ...says("x2", "y", text("another branch")), parentUuid: "r1" },
      { ...user("u2"), parentUuid: "r1" },
      { ...says("e1", "e", text("overloaded")), isApiErrorMessage: true },
      ...end,
    );
    expect(said).toEqual(["u1", "a1", "r1", "u2", "a9", "u9"]);
  });

  it("reads a log of nothing but a sub-agent's entries as that conversation", async () => {
    const side = start.map((raw) => ({ ...raw, isSidechain: true }));
    expect(await path(...side)).toEqual(["u1", "a1", "r1"]);
  });

  it("keeps repairs: they are what calls were answered with", async () => {
    const repair = { type: "repair", uuid: "f", results: [{ toolUse: "t1", shown: "[interrupted]" }] };
    expect(await path(user("u1"), says("a1", "m1", call("t1")), repair, ...end)).toEqual(["u1", "a1", "f", "a9", "u9"]);
  });

  it.each([
    ["whole where its blob can be had", "kept", "all of it"],
    ["as it is logged where it can't", "gone", "output of t1"],
  ])("shows an offloaded result %s", async (_, state, content) => {
    const bytes = new TextEncoder().encode("all of it");
    const put = await memoryBlobs().put(bytes);
    const blob = put.kind === "stored" ? put.id : "";
    const offload = { type: "offload", uuid: "o", results: [{ toolUse: "t1", blob, media: "text", shown: "preview" }] };
    const blobs = state === "kept" ? await blobsWith([bytes]) : memoryBlobs();
    const uncut = await uncutPath({ blobs }, loggedRaws([...start, offload, ...end]));
    const shown = uncut.flatMap(({ entry }) => (entry.kind === "user" ? entry.blocks : []));
    expect(shown).toContainEqual({ type: "tool_result", tool_use_id: "t1", content });
  });
});
