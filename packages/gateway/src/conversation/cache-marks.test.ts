import { describe, expect, it } from "vitest";
import { type JsonObject, parseJson } from "palimpsest/internal/schema/json";
import { RequestBody } from "../body/request-body.ts";
import type { FieldChanges } from "../body/write-body.ts";
import type { WrittenMessage } from "palimpsest/internal/context/sync/write-outgoing";
import { CacheMarks, type EditedMarks } from "./cache-marks.ts";

const mark = { type: "ephemeral" };
const user = { role: "user", content: "Fix." };
const marked = { role: "user", content: [{ type: "text", text: "Fix.", cache_control: mark }] };

function marksFor(fields: JsonObject): object {
  const body = RequestBody.read(Buffer.from(JSON.stringify({ messages: [user], ...fields })), { list: "messages" });
  return body === undefined ? expect.unreachable() : toValues(new CacheMarks().missing(body));
}

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

describe("marks of a list that was edited", () => {
  const plain = JSON.stringify(said("0"));
  const marks = ["1", "2", "3"].map((words) => JSON.stringify(said(words, { cache_control: mark })));

  it("stand where the context plans them, and every other byte is the client's", () => {
    expect(sent(editedWith({}).marks)).toEqual([plain, ...marks]);
    const { body, marks: found } = editedWith({});
    expect(found?.list[3]).toBe(body.elements[3]);
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
    const tools = [{ name: "read", cache_control: mark }];
    const found = editedWith({ tools, system: blocks.slice(1) }).marks;
    expect(found).toMatchObject({ fields: {}, tools: "dropped" });
    expect(toValues(editedWith({ system: "You fix." }).marks?.fields)).toEqual({
      system: [text("You fix.", { cache_control: mark })],
    });
    expect(editedWith({ tools }).marks?.tools).toBe("kept");
  });

  it("live as long as the client's, and there are none if it leaves its list unmarked", () => {
    const hour = { ...mark, ttl: "1h" };
    const [, second] = sent(editedWith({}, [{}, {}, {}, { cache_control: hour }]).marks);
    expect(second).toBe(JSON.stringify(said("1", { cache_control: hour })));
    expect(editedWith({ system: [text("You fix.", { cache_control: mark })] }, [{}, {}, {}, {}]).marks).toBeUndefined();
  });
});
