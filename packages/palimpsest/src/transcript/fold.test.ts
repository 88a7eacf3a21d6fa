import { describe, expect, it } from "vitest";
import {
  boundary,
  call,
  clear,
  folded,
  loggedRaws,
  look,
  type Raw,
  result,
  says,
  summary,
  text,
  undo,
  user,
} from "../../../../test/fixture/raw.ts";
import { blobId, entryId } from "../schema/brand.ts";
import { Fold } from "./fold.ts";
import { firstUserLine, interruptedText } from "./repair.ts";
import type { ViewWatch } from "./view-watch.ts";

const turn = (n: number): Raw[] => [user(`u${n}`), says(`a${n}`, `m${n}`, call(`x${n}`)), result(`r${n}`, `x${n}`)];
const turn1 = ["u: u1", "a: call(x1)", "u: x1=output of x1"];
const both = ["u: u1", "a: call(x1)", "u: x1=output of x1 u2", "a: call(x2)", "u: x2=output of x2"];

describe("what the user brought back", () => {
  const edits: readonly Raw[] = [
    clear("e", "x1"),
    { type: "offload", uuid: "e", results: [{ toolUse: "x1", shown: "short" }] },
    { type: "server-edits", uuid: "e", deleted: ["x1"] },
    { type: "snip", uuid: "e", entries: ["a1", "r1"] },
    { type: "collapse", uuid: "e", span: { from: "a1", to: "r1" }, shown: "One round." },
  ];
  it.each(edits.map((edit) => [edit.type, edit] as const))("by undoing a %s is remembered", (type, edit) => {
    const took = folded([...turn(1), edit]).projection;
    expect([...took.broughtBack, ...took.entriesBroughtBack]).toEqual([]);
    const { broughtBack, entriesBroughtBack } = folded([...turn(1), edit, undo("z", "e")]).projection;
    const isOfEntries = type === "snip" || type === "collapse";
    expect([...broughtBack]).toEqual(isOfEntries ? [] : ["x1"]);
    expect([...entriesBroughtBack]).toEqual(isOfEntries ? ["a1", "r1"] : []);
  });
});

describe("results that are deleted in the provider's cache", () => {
  const deletion = { type: "server-edits", uuid: "d", deleted: ["x1", "x2"] } as const;
  const deletedBehind = (...edits: readonly Raw[]): readonly string[] => [
    ...folded([...turn(1), ...turn(2), deletion, ...edits]).projection.withheld,
  ];

  it.each<[string, readonly Raw[], readonly string[]]>([
    ["stay so", [], ["x1", "x2"]],
    ["are forgotten with the round that was snipped", [{ type: "snip", uuid: "e", entries: ["a1", "r1"] }], ["x2"]],
    [
      "are forgotten with the rounds that collapsed",
      [{ type: "collapse", uuid: "e", span: { from: "a1", to: "r1" }, shown: "One round." }],
      ["x2"],
    ],
    [
      "are deleted again when the round comes back",
      [{ type: "snip", uuid: "e", entries: ["a1", "r1"] }, undo("z", "e")],
      ["x1", "x2"],
    ],
    ["are forgotten where their markers are shown", [clear("e", "x2")], ["x1"]],
  ])("%s", (_, edits, expected) => {
    expect(deletedBehind(...edits)).toEqual(expected);
  });
});

describe("a result that is sent under another id than the log's, and is deleted in the provider's cache", () => {
  const round = [user("u1"), says("a1", "m1", call("x|1")), result("r1", "x|1"), says("a2", "m2", text("Seen."))];
  const deletion = { type: "server-edits", uuid: "d", deleted: ["x|1"] } as const;

  it("is named by the id sent to the provider in every request", () => {
    const fold = folded([...round, deletion, user("u2")]);
    expect(fold.view().withheld).toEqual(["call_x_1"]);
    expect(fold.next()).toMatchObject({ withheld: new Set(["call_x_1"]) });
    expect([...fold.projection.withheld]).toEqual(["x|1"]);
  });

  it("is reported to the watch: when it begins, when the view is reported again, and when it is hidden", () => {
    const told: string[] = [];
    const watch: ViewWatch = {
      reset: () => undefined,
      item: () => undefined,
      shown: () => undefined,
      hidden: () => undefined,
      withheld: (_, since) => told.push(`deleted at ${since}`),
      released: () => told.push("undeleted"),
    };
    const fold = folded([...round, deletion], { watch });
    expect(told).toEqual(["deleted at 4"]);
    fold.refold();
    expect(told).toEqual(["deleted at 4", "deleted at 4"]);
    folded([...round, deletion, clear("e", "x|1")], { watch });
    expect(told.slice(2)).toEqual(["deleted at 4", "undeleted"]);
  });
});

describe("the effect of an edit on the view", () => {
  it.each<[string, Raw[], string[]]>([
    ["none: turns as they came", [...turn(1), ...turn(2)], both],
    [
      "clear: a result's content becomes its marker",
      [...turn(1), clear("c", "x1")],
      ["u: u1", "a: call(x1)", "u: x1=[cleared x1]"],
    ],
    [
      "clear of an attachment: it vanishes",
      [
        user("1"),
        { type: "attachment", uuid: "f", attachment: { type: "t", content: "z" } },
        { type: "clear", uuid: "c", cause: "size", results: [], attachments: ["f"] },
      ],
      ["u: 1"],
    ],
    [
      "offload: a result's content becomes the preview",
      [...turn(1), { type: "offload", uuid: "o", results: [{ toolUse: "x1", shown: "[preview]" }] }],
      ["u: u1", "a: call(x1)", "u: x1=[preview]"],
    ],
    [
      "the last decision counts",
      [...turn(1), clear("c", "x1"), { type: "offload", uuid: "o", results: [{ toolUse: "x1", shown: "[later]" }] }],
      ["u: u1", "a: call(x1)", "u: x1=[later]"],
    ],
    [
      "snip: rounds vanish, pairs together",
      [...turn(1), ...turn(2), { type: "snip", uuid: "s", entries: ["u1", "r1"] }],
      ["u: u2", "a: call(x2)", "u: x2=output of x2"],
    ],
    [
      "collapse: the range shows as its stand-in",
      [...turn(1), ...turn(2), { type: "collapse", uuid: "s", span: { from: "u1", to: "r1" }, shown: "one turn" }],
      ["u: one turn u2", "a: call(x2)", "u: x2=output of x2"],
    ],
    [
      "collapse of what is not there: nothing",
      [...turn(1), { type: "collapse", uuid: "s", span: { from: "u1", to: "gone" }, shown: "x" }],
      turn1,
    ],
    ["boundary without its summary: nothing yet", [...turn(1), boundary("b")], turn1],
    [
      "boundary: the summary stands for everything",
      [...turn(1), boundary("b"), summary("s"), user("u2")],
      ["u: summary s u2"],
    ],
    [
      "boundary: an edit may stand before its summary",
      [...turn(1), boundary("b"), { type: "setting", uuid: "t", name: "n", value: 1 }, summary("s")],
      ["u: summary s"],
    ],
    [
      "boundary: a kept segment stays behind the summary, pairs whole",
      [...turn(1), ...turn(2), boundary("b", { preservedSegment: { headUuid: "a2", tailUuid: "a2" } }), summary("s")],
      ["u: summary s", "a: call(x2)", "u: x2=output of x2"],
    ],
    [
      "boundary: kept messages stay",
      [...turn(1), ...turn(2), boundary("b", { preservedMessages: { uuids: ["u1"] } }), summary("s")],
      ["u: summary s u1"],
    ],
    [
      "boundary `from`: what stands before the pivot stays in front, pairs whole",
      [...turn(1), ...turn(2), boundary("b", { direction: "from", pivot: "r1" }), summary("s")],
      ["u: u1", "a: call(x1)", "u: x1=output of x1 summary s"],
    ],
    [
      "pin: carried verbatim through a boundary",
      [...turn(1), { type: "pin", uuid: "p", entry: "u1" }, boundary("b"), summary("s")],
      ["u: summary s u1"],
    ],
    [
      "unpin: no longer",
      [
        ...turn(1),
        { type: "pin", uuid: "p", entry: "u1" },
        { type: "unpin", uuid: "q", entry: "u1" },
        boundary("b"),
        summary("s"),
      ],
      ["u: summary s"],
    ],
    [
      "pin: through two boundaries, once",
      [...turn(1), { type: "pin", uuid: "p", entry: "u1" }, boundary("b"), summary("s"), boundary("c"), summary("t")],
      ["u: summary t u1"],
    ],
    ["undo: a clear stops counting", [...turn(1), clear("c", "x1"), undo("d", "c")], turn1],
    [
      "undo: of an undo is a redo",
      [...turn(1), clear("c", "x1"), undo("d", "c"), undo("e", "d")],
      ["u: u1", "a: call(x1)", "u: x1=[cleared x1]"],
    ],
    [
      "undo: a boundary and its summary go, later turns stay",
      [...turn(1), boundary("b"), summary("s"), ...turn(2), undo("d", "b")],
      both,
    ],
    [
      "undo: a clear inside a span takes effect again once the boundary is undone",
      [...turn(1), clear("c", "x1"), boundary("b"), summary("s"), undo("d", "b")],
      ["u: u1", "a: call(x1)", "u: x1=[cleared x1]"],
    ],
    ["server-edits: nothing local changes", [...turn(1), { type: "server-edits", uuid: "s", deleted: ["x1"] }], turn1],
    [
      "repair: the call is answered by it",
      [
        user("1"),
        says("a", "m", call("x")),
        { type: "repair", uuid: "p", results: [{ toolUse: "x", shown: "[gone]" }] },
        user("2"),
      ],
      ["u: 1", "a: call(x)", "u: x=[gone] 2"],
    ],
    [
      "an error placeholder is never sent",
      [
        user("1"),
        { type: "assistant", uuid: "e", isApiErrorMessage: true, message: { content: [text("529")] } },
        user("2"),
      ],
      ["u: 1 2"],
    ],
  ])("%s", (_, raws, expected) => {
    expect(look(folded(raws))).toEqual(expected);
    const once = new Fold();
    once.appendAll(loggedRaws(raws));
    expect(look(once)).toEqual(expected);
  });

  it("an undone offload shows the stored original again", () => {
    const blob = blobId("0".repeat(64));
    const raws = [
      user("1"),
      says("a", "m", call("x")),
      result("r", "x", "[preview]"),
      { type: "offload", uuid: "o", results: [{ toolUse: "x", blob, shown: "[preview]" }] },
      undo("d", "o"),
    ];
    expect(look(folded(raws, { originals: new Map([[blob, "the whole"]]) }))).toEqual([
      "u: 1",
      "a: call(x)",
      "u: x=the whole",
    ]);
  });

  it("an undo that drops thinking leaves out the thinking after the edit", () => {
    const thinks = (uuid: string, reply: string): Raw =>
      says(uuid, reply, { type: "thinking", thinking: "hm", signature: "s" }, text(uuid));
    const raws = [
      user("1"),
      thinks("a", "m"),
      user("2"),
      clear("c", "x"),
      thinks("b", "n"),
      user("3"),
      { ...undo("d", "c"), dropsThinking: true },
    ];
    expect(look(folded(raws))).toEqual(["u: 1", "a: thinking a", "u: 2", "a: b", "u: 3"]);
  });
});

describe("whether the view can be sent", () => {
  it.each<[string, Raw[], string | undefined]>([
    ["not without a user message", [says("a", "m", text("hi"))], "no-user-message"],
    ["not while calls are open", [user("1"), says("a", "m", call("x"))], "open-calls"],
    ["not when the assistant spoke last", [user("1"), says("a", "m", text("hi"))], "assistant-spoke-last"],
    ["after the user spoke", [user("1")], undefined],
    ["after the last result", turn(1), undefined],
  ])("%s", (_, raws, code) => {
    const view = folded(raws).view();
    expect(view.why?.code).toBe(code);
    expect(view.sendable).toBe(code === undefined);
  });

  it("not while the log holds more of the last reply", () => {
    expect(folded(turn(1)).view({ continues: (reply) => reply === "m1" }).why?.code).toBe("reply-goes-on");
    expect(folded(turn(1)).view({ continues: () => false }).sendable).toBe(true);
  });

  it("a view without a user message shows nothing; one that begins with a reply gets a first line", () => {
    expect(folded([says("a", "m", text("hi"))]).view().messages).toEqual([]);
    expect(look(folded([says("a", "m", text("hi")), user("1")]))).toEqual([`u: ${firstUserLine}`, "a: hi", "u: 1"]);
  });

  it("open calls are shown as interrupted, and named as repairs", () => {
    const fold = folded([user("1"), says("a", "m", call("x"))]);
    expect(look(fold)).toEqual(["u: 1", "a: call(x)", `u: x=${interruptedText}`]);
    expect(fold.view().repairs).toEqual([{ kind: "synthetic-result", toolUse: "x", detail: "the call has no result" }]);
  });
});

describe("the next request", () => {
  it("is the view's messages, as they are", () => {
    const fold = folded([...turn(1), ...turn(2)]);
    const next = fold.next();
    expect(next).toMatchObject({ kind: "sendable", messages: fold.view().messages });
    expect(next.kind === "sendable" && next.messages).toBe(fold.messages);
  });

  it("begins with the same first line each time if the log begins with a reply", () => {
    const fold = folded([says("a", "m", text("Hi")), user("1")]);
    const [one, other] = [fold.next(), fold.next()].map((next) => (next.kind === "sendable" ? next.messages : []));
    expect(one).toEqual(fold.view().messages);
    expect(one?.[0]).toBe(other?.[0]);
  });

  it("keeps every message that did not change, and leaves the changed one as it was sent", () => {
    const raws = [...turn(1), ...turn(2)];
    const logged = loggedRaws([...raws, clear("c", "x1"), user("u3")]);
    const fold = new Fold();
    for (const one of logged.slice(0, raws.length)) fold.append(one);
    const before = [...fold.messages];
    const bytes = JSON.stringify(before);
    for (const one of logged.slice(raws.length)) fold.append(one);
    expect(fold.messages.map((message, at) => message === before[at])).toEqual([true, true, false, true, false]);
    expect(JSON.stringify(before)).toBe(bytes);
  });

  it("is not sendable if the view can't be sent", () => {
    expect(folded([user("1"), says("a", "m", call("x"))]).next()).toMatchObject({
      kind: "not-sendable",
      why: { code: "open-calls" },
    });
  });
});

describe("thinking of another tool", () => {
  const raws = [user("1"), says("a", "m", { type: "thinking", thinking: "hm", signature: "s" }, text("hi")), user("2")];

  it("is left out and counted", () => {
    const fold = folded(raws, { origin: "foreign" });
    expect(look(fold)).toEqual(["u: 1", "a: hi", "u: 2"]);
    expect(fold.view().path.thinkingLeftOut).toBe(1);
  });

  it("is kept if it is our own", () => {
    expect(look(folded(raws))).toEqual(["u: 1", "a: thinking hi", "u: 2"]);
  });

  it("is recognised by the origin line: the bytes after it, up to its length, are another program's", () => {
    const origin = {
      type: "origin",
      uuid: "o",
      format: "claude-code",
      path: "/x",
      length: 200,
      sha256: "0".repeat(64),
    };
    const fold = folded([
      origin,
      ...raws,
      says("b", "n", { type: "thinking", thinking: "hm", signature: "s" }, text("ours")),
      user("3"),
    ]);
    expect(look(fold)).toEqual(["u: 1", "a: hi", "u: 2", "a: thinking ours", "u: 3"]);
  });
});

describe("the fold", () => {
  it("previews what entries would do, and changes nothing", () => {
    const fold = folded(turn(1));
    const [edit] = loggedRaws([clear("c", "x1")]);
    const preview = fold.preview(edit === undefined ? [] : [edit.entry]);
    expect(JSON.stringify(preview.get(entryId("r1")))).toContain("[cleared x1]");
    expect(look(fold)).toEqual(turn1);
  });

  it("knows the byte range of each entry and whether the log holds an item as it is shown", () => {
    const fold = folded([...turn(1), { type: "collapse", uuid: "s", span: { from: "u1", to: "u1" }, shown: "x" }]);
    expect(fold.placeOf(entryId("a1"))).toMatchObject({ start: 100, end: 199 });
    expect(fold.projection.items.map((item) => fold.isAsLogged(item))).toEqual([false, true, true]);
  });

  it("counts what it has seen", () => {
    const fold = folded([
      ...turn(1),
      { type: "user", uuid: "side", isSidechain: true, parentUuid: "u1", message: { content: "x" } },
      { type: "progress", uuid: "p" },
    ]);
    expect(fold.view().path).toMatchObject({
      entries: 5,
      onPath: 3,
      aside: 0,
      sidechain: 1,
      leaf: "r1",
      boundaries: [],
    });
  });
});
