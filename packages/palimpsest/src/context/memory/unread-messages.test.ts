import { describe, expect, it } from "vitest";
import { entryId } from "../../schema/brand.ts";
import type { Entry } from "../../schema/entry.ts";
import { parseDraft } from "../../transcript/draft.ts";
import { UnreadMessages } from "./unread-messages.ts";

/** A path of messages of the user, by their ids. */
const path = (...ids: readonly string[]): readonly Entry[] =>
  ids.map((id, at) =>
    parseDraft(
      JSON.stringify({
        type: "user",
        uuid: id,
        parentUuid: at === 0 ? null : ids[at - 1],
        message: { role: "user", content: `said ${id}` },
      }),
    ),
  );

/** The same after the session has dropped what a boundary covers: the first entry has a parent that is not there. */
const shed = (entries: readonly Entry[], from: number): readonly Entry[] => entries.slice(from);

const ids = ({ messages }: UnreadMessages): readonly string[] => messages.map(({ id }) => id);
const none = new Map();

describe("unread messages", () => {
  it("are all of a new session, until they are read", () => {
    const unread = new UnreadMessages(path("a"), none);
    unread.follow(path("a", "b"));
    expect(ids(unread)).toEqual(["a", "b"]);
    const draft = unread.read(unread.messages, entryId("b"));
    expect(ids(unread)).toEqual([]);
    unread.follow(path("a", "b", "c"));
    expect(ids(unread)).toEqual(["c"]);
    expect(draft).toMatchObject({ type: "setting", value: { entries: ["b"] } });
  });

  it("that were rewound are forgotten, and what was read before is not read again", () => {
    const unread = new UnreadMessages(path("a", "b"), none);
    unread.read(unread.messages, entryId("b"));
    unread.follow(path("a", "b", "c", "d"));
    unread.follow(path("a", "b", "e"));
    expect(ids(unread)).toEqual(["e"]);
    unread.follow(path("a", "f"));
    expect(ids(unread)).toEqual(["f"]);
  });

  it("outlive what the session drops from memory", () => {
    const unread = new UnreadMessages(path("a"), none);
    unread.follow(path("a", "b", "c"));
    unread.follow(shed(path("a", "b", "c", "d"), 3));
    expect(ids(unread)).toEqual(["a", "b", "c", "d"]);
    unread.follow(shed(path("a", "b", "c", "d", "e"), 3));
    unread.follow(shed(path("a", "b", "c", "d", "f"), 3));
    expect(ids(unread)).toEqual(["a", "b", "c", "d", "f"]);
  });

  it("of a resumed session begin behind the newest entry that was read and is still on its path", () => {
    const settings = new Map([["extraction.read", { entries: ["gone", "b"] }]]);
    expect(ids(new UnreadMessages(path("a", "b", "c"), settings))).toEqual(["c"]);
    expect(ids(new UnreadMessages(shed(path("a", "b", "c", "d"), 2), settings))).toEqual(["c", "d"]);
  });
});
