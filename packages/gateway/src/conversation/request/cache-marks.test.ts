import { describe, expect, it } from "vitest";
import { type JsonObject, parseJson } from "palimpsest/internal/schema/json";
import { RequestBody } from "../../body/request-body.ts";
import type { FieldChanges } from "../../body/write-body.ts";
import type { WrittenMessage } from "palimpsest/internal/context/sync/write-outgoing";
import { CacheMarks, type EditedMarks } from "./cache-marks.ts";

const mark = { type: "ephemeral" };
const user = { role: "user", content: "Fix." };
const marked = { role: "user", content: [{ type: "text", text: "Fix.", cache_control: mark }] };

const tools = [{ name: "read" }];

const read = (fields: JsonObject): RequestBody =>
  RequestBody.read(Buffer.from(JSON.stringify({ messages: [user], ...fields })), { list: "messages" }) ??
  expect.unreachable();

const marksFor = (fields: JsonObject): object => toValues(new CacheMarks().missing(read({ tools, ...fields })));

/** A text that became a block is given as bytes. */
const toValues = (fields: FieldChanges | undefined): object =>
  Object.fromEntries(
    Object.entries(fields ?? {}).map(([name, value]) => [
      name,
      value instanceof Uint8Array ? parseJson(Buffer.from(value).toString()) : value,
    ]),
  );

describe("marks that a client left out", () => {
  it("are set at the end of the list and of the system prompt", () => {
    const system = [{ type: "text", text: "You fix.", cache_control: mark }];
    expect(marksFor({ system: "You fix." })).toEqual({ cache_control: mark, system });
    const blocks = [
      { type: "text", text: "You" },
      { type: "text", text: "fix." },
    ];
    expect(marksFor({ system: blocks })).toEqual({
      cache_control: mark,
      system: [blocks[0], { ...blocks[1], cache_control: mark }],
    });
    expect(marksFor({})).toEqual({ cache_control: mark });
  });

  it("are set at the system prompt alone if the client marks only its list", () => {
    const system = [{ type: "text", text: "You fix.", cache_control: mark }];
    expect(marksFor({ system: "You fix.", cache_control: mark })).toEqual({ system });
    expect(marksFor({ system: "You fix.", messages: [marked] })).toEqual({ system });
  });

  it("are none if the client marks its system prompt or tools, sets lifetimes, or has no mark to spare", () => {
    expect(marksFor({ system: [{ type: "text", text: "You fix.", cache_control: mark }] })).toEqual({});
    expect(marksFor({ system: "You fix.", tools: [{ name: "read", cache_control: mark }] })).toEqual({});
    expect(marksFor({ system: "You fix.", cache_control: { ...mark, ttl: "1h" } })).toEqual({});
    expect(marksFor({ system: "You fix.", messages: [marked, marked, marked] })).toEqual({});
    expect(marksFor({ system: [{ type: "text", text: "" }], cache_control: mark })).toEqual({});
  });
});

const encode = (value: JsonObject): Uint8Array => Buffer.from(JSON.stringify(value));
const text = (words: string, fields: JsonObject = {}): JsonObject => ({ type: "text", text: words, ...fields });
const said = (words: string, fields: JsonObject = {}): JsonObject => ({ role: "user", content: [text(words, fields)] });

/** A body with four messages, of which the context marks the second, the third and the last. `own`: the client's marks. */
function editedWith(fields: JsonObject, own: readonly JsonObject[] = [{}, {}, {}, { cache_control: mark }]) {
  const messages = own.map((ownMark, at) => said(`${at}`, ownMark));
  const body = RequestBody.read(Buffer.from(JSON.stringify({ messages, ...fields })), { list: "messages" });
  if (body === undefined) return expect.unreachable();
  const written = body.elements.map(({ value }, given): WrittenMessage => ({
    value,
    given,
    marks: given === 0 ? [] : [{ block: 0, lifetime: "5m" }],
  }));
  return { body, marks: new CacheMarks().edited(body, { written, elements: body.elements, encode }) };
}

const sent = (marks: EditedMarks | undefined): readonly string[] =>
  (marks?.list ?? []).map((one) => Buffer.from("bytes" in one ? one.bytes : one).toString());

describe("a request after which none is expected", () => {
  const added = { cache_control: mark, system: [{ type: "text", text: "Judge.", cache_control: mark }] };
  const system = "Judge.";

  it("is not marked: it has no tools and no reply, and was not asked before", () => {
    expect(new CacheMarks().missing(read({ system }))).toEqual({});
    expect(new CacheMarks().missing(read({ system, tools: [] }))).toEqual({});
  });

  it("is marked with tools, with a reply in its list, or if its conversation is asked again", () => {
    const replied = [user, { role: "assistant", content: "Fixed." }, user];
    expect(toValues(new CacheMarks().missing(read({ system, tools })))).toEqual(added);
    expect(toValues(new CacheMarks().missing(read({ system, messages: replied })))).toEqual(added);
    const marks = new CacheMarks();
    const first = read({ system });
    expect([marks.missing(first), marks.missing(first)]).toEqual([{}, {}]);
    expect(toValues(marks.missing(read({ system })))).toEqual(added);
  });
});

describe("marks of a list that was edited", () => {
  const plain = JSON.stringify(said("0"));
  const marks = ["1", "2", "3"].map((words) => JSON.stringify(said(words, { cache_control: mark })));

  it("stand where the context plans them, and every other byte is the client's", () => {
    expect(sent(editedWith({}).marks)).toEqual([plain, ...marks]);
    const { body, marks: found } = editedWith({});
    expect(found?.list[3]).toBe(body.elements[3]);
  });

  it("change with what the context plans for the same message", () => {
    const twoBlocks = (...ownMarks: readonly JsonObject[]): JsonObject => ({
      role: "user",
      content: ownMarks.map((own, at) => text(`${at}`, own)),
    });
    const body = read({ messages: [twoBlocks({}, {}), marked] });
    const conversation = new CacheMarks();
    const markBlock = (block: number): string | undefined => {
      const written = body.elements.map(({ value }, given): WrittenMessage => ({
        value,
        given,
        marks: [{ block: given === 0 ? block : 0, lifetime: "5m" }],
      }));
      return sent(conversation.edited(body, { written, elements: body.elements, encode }))[0];
    };
    const first = JSON.stringify(twoBlocks({ cache_control: mark }, {}));
    const second = JSON.stringify(twoBlocks({}, { cache_control: mark }));
    expect([markBlock(0), markBlock(1), markBlock(1), markBlock(0)]).toEqual([first, second, second, first]);
  });

  it("take the place of others of the client's list, and of its automatic one", () => {
    const others = editedWith({}, [{ cache_control: mark }, {}, { cache_control: mark }, { cache_control: mark }]);
    expect(sent(others.marks)).toEqual([plain, ...marks]);
    const automatic = editedWith({ cache_control: mark }, [{}, {}, {}, {}]).marks;
    expect({ list: sent(automatic), fields: automatic?.fields }).toEqual({
      list: [plain, ...marks],
      fields: { cache_control: undefined },
    });
  });

  it("leave one for the system prompt, the client's last or one of ours", () => {
    const blocks = [text("You", { cache_control: mark }), text("fix.", { cache_control: mark })];
    expect(editedWith({ system: blocks }).marks).toMatchObject({
      fields: { system: [text("You"), blocks[1]] },
      tools: "kept",
    });
    const markedTools = [{ name: "read", cache_control: mark }];
    const found = editedWith({ tools: markedTools, system: blocks.slice(1) }).marks;
    expect(found).toMatchObject({ fields: {}, tools: "dropped" });
    expect(toValues(editedWith({ system: "You fix." }).marks?.fields)).toEqual({
      system: [text("You fix.", { cache_control: mark })],
    });
    expect(editedWith({ tools: markedTools }).marks?.tools).toBe("kept");
  });

  it("live as long as the client's, and there are none if it leaves its list unmarked", () => {
    const hour = { ...mark, ttl: "1h" };
    const [, second] = sent(editedWith({}, [{}, {}, {}, { cache_control: hour }]).marks);
    expect(second).toBe(JSON.stringify(said("1", { cache_control: hour })));
    expect(editedWith({ system: [text("You fix.", { cache_control: mark })] }, [{}, {}, {}, {}]).marks).toBeUndefined();
  });
});
