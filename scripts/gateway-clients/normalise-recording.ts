import { z } from "zod";
import {
  isArray,
  isObject,
  type Json,
  type JsonObject,
  listField,
  parseJson,
  textField,
  tryParseJson,
} from "../../packages/palimpsest/src/schema/json.ts";
import type { RecordedClient } from "../../test/fixture/gateway-clients/recorded-client.ts";

export const recordedLine = z.object({
  path: z.string(),
  headers: z.record(z.string(), z.union([z.string(), z.array(z.string())])),
  body: z.string(),
});
export type RecordedLine = z.infer<typeof recordedLine>;

/**
 * What a client sent, without what its vendor wrote: texts and schemas become marks that stand for as many characters, ids
 * and paths become neutral ones. Order of fields, kinds of blocks, repetition and change stay. What the model said is the
 * scenario's and stays, but for its ids and seals: at a replay they are those of the replay.
 *
 *   ⟦text:6161:3⟧   the third text of 6,161 characters        ⟦call:2⟧   the id of the second call
 */
export function normaliseRecording(
  facts: Pick<RecordedClient, "client" | "version" | "model">,
  lines: readonly RecordedLine[],
): RecordedClient {
  const marks = new Marks();
  const elements = new Table();
  const fields = new Table();
  const headers = new Table();
  const requests = lines.flatMap(({ path, headers: sent, body: text }) => {
    const body = parseJson(text);
    // A thread has no list; after its refusal the client sends the whole conversation.
    if (!isObject(body) || body["thread"] !== undefined) return [];
    const entries = Object.entries(body).map(([name, value]): [string, number | number[]] =>
      (name === "messages" || name === "input") && isArray(value)
        ? [name, value.map((element) => elements.place(marks.element(element)))]
        : [name, fields.place(name === "tools" ? marks.tools(value ?? null) : marks.value(value ?? null, [name]))],
    );
    return [{ path, headers: headers.place(marks.headers(sent)), body: entries }];
  });
  return { ...facts, headers: headers.values, fields: fields.values, elements: elements.values, requests };
}

/** Values that are equal are kept once. */
class Table {
  readonly values: Json[] = [];
  readonly #placeByText = new Map<string, number>();

  place(value: Json): number {
    const text = JSON.stringify(value);
    const known = this.#placeByText.get(text);
    if (known !== undefined) return known;
    this.#placeByText.set(text, this.values.length);
    return this.values.push(value) - 1;
  }
}

/** Headers that say who asks, or change what is asked for. */
const headersKept =
  /^(?:user-agent|content-type|anthropic-(?:version|beta)|x-claude-code-.*|x-session-.*|session-id|session_id|thread-id|x-thread-id|x-resource-id|x-codex-turn-metadata|x-stainless-helper|x-parent-session-id)$/;

/** Fields whose values the model's reply decides, by the kind of their mark. */
const kindByField: Readonly<Record<string, string>> = {
  tool_use_id: "call",
  call_id: "call",
  tool_call_id: "call",
  signature: "signature",
  encrypted_content: "seal",
};
const modelIds = /^(?<kind>toolu|call|rs|fc|ctc|msg)_[\w-]{10,}$/;
const kindByPrefix: Readonly<Record<string, string>> = {
  toolu: "call",
  call: "call",
  rs: "reasoning",
  fc: "item",
  ctc: "item",
  msg: "item",
};

/** Words of a program: names, types, modes. */
const plainWord = /^[\w.:,=@*-]{0,40}$/;
const idText =
  /^(?:(?:[a-z]+_)?[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}(?::\d+)?|ses_\w+|[0-9a-f]{32,})$/;
const billing = "x-anthropic-billing-header:";
/** Of our own scenarios. */
const ownTexts = new Set(["Run the probe in the shell.", '"Run the probe in the shell."']);

class Marks {
  readonly #marksByKind = new Map<string, Map<string, string>>();

  headers(headers: RecordedLine["headers"]): Json {
    return Object.fromEntries(
      Object.entries(headers)
        .filter(([name]) => headersKept.test(name))
        .map(([name, value]) => [
          name,
          isOpen(name) ? withoutMachine(String(value)) : this.#text(String(value), [name]),
        ]),
    );
  }

  /** Names, kinds and sizes stay. */
  tools(tools: Json): Json {
    return (isArray(tools) ? tools : []).filter(isObject).map((tool) => this.#tool(tool));
  }

  element(element: Json): Json {
    if (!isObject(element)) return element;
    const isReply =
      textField(element, "role") === "assistant" ||
      /^(?:function|custom_tool)_call$/.test(textField(element, "type") ?? "");
    if (textField(element, "type") === "additional_tools")
      return { ...this.#object(element, []), tools: this.tools(element["tools"] ?? []) };
    if (isReply) this.#noteSignatures(element);
    return isReply ? this.#reply(element) : this.value(element, []);
  }

  /** Some clients leave thinking out: each signature has the number of the call that it came with. */
  #noteSignatures(element: JsonObject): void {
    const blocks = listField(element, "content").filter(isObject);
    const call = blocks.map((block) => textField(block, "id")).find((id) => id !== undefined);
    const signature = blocks.map((block) => textField(block, "signature")).find((text) => text !== undefined);
    if (call === undefined || signature === undefined) return;
    const marks = this.#marksByKind.get("signature") ?? new Map<string, string>();
    this.#marksByKind.set("signature", marks);
    marks.set(signature, this.#numbered("call", call).replace("call", "signature"));
  }

  value(value: Json, path: readonly string[]): Json {
    if (typeof value === "string") return this.#text(value, path);
    if (isArray(value)) return value.map((one) => this.value(one, path));
    return isObject(value) ? this.#object(value, path) : value;
  }

  #object(value: JsonObject, path: readonly string[]): JsonObject {
    return Object.fromEntries(
      Object.entries(value).map(([name, one]) => [name, this.value(one ?? null, [...path, name])]),
    );
  }

  /** What the scenario says stays. */
  #reply(value: Json, name = ""): Json {
    if (typeof value === "string")
      return this.#modelMark(value, name) ?? (idText.test(value) ? this.#id(value) : value);
    if (isArray(value)) return value.map((one) => this.#reply(one, name));
    if (!isObject(value)) return value;
    return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, this.#reply(one ?? null, key)]));
  }

  #tool(tool: JsonObject): JsonObject {
    return Object.fromEntries(
      Object.entries(tool).map(([name, value]): [string, Json] => {
        if (name === "tools") return [name, this.tools(value ?? [])];
        if (name === "function" && isObject(value)) return [name, this.#tool(value)];
        if (name === "input_schema" || name === "parameters" || name === "format")
          return [name, this.#schema(value ?? null, name)];
        return [name, this.value(value ?? null, [name])];
      }),
    );
  }

  /** One with a text of the same size. */
  #schema(schema: Json, name: string): Json {
    const description = this.#mark(JSON.stringify(schema));
    return name === "format"
      ? { type: "text" }
      : {
          type: "object",
          properties: { value: { type: "string", description } },
          required: ["value"],
          additionalProperties: false,
        };
  }

  #text(text: string, path: readonly string[]): string {
    const name = path.at(-1) ?? "";
    const mark = this.#modelMark(text, name);
    if (mark !== undefined) return mark;
    if (ownTexts.has(text)) return text;
    const inner = text.startsWith("{") ? tryParseJson(text) : undefined;
    if (isObject(inner) && (name === "user_id" || name.startsWith("x-codex")))
      return JSON.stringify(this.#object(inner, []));
    if (idText.test(text)) return this.#id(text);
    if (text.startsWith(billing))
      return `${billing} cc_version=${"0".repeat(Math.max(0, text.length - billing.length - 12))}`;
    return plainWord.test(text) ? text : this.#mark(text);
  }

  #modelMark(text: string, name: string): string | undefined {
    const kind = kindByField[name] ?? kindByPrefix[modelIds.exec(text)?.groups?.["kind"] ?? ""];
    // Ids that the client made up are no model's.
    return kind === undefined || idText.test(text) || text === "" ? undefined : this.#numbered(kind, text);
  }

  #id(text: string): string {
    return `id-${this.#numbered("id", text).replaceAll(/\D/g, "")}`.padEnd(text.length, "0");
  }

  #mark(text: string): string {
    return text === "" ? "" : this.#numbered(`text:${text.length}`, text);
  }

  #numbered(kind: string, text: string): string {
    const marks = this.#marksByKind.get(kind) ?? new Map<string, string>();
    this.#marksByKind.set(kind, marks);
    const known = marks.get(text);
    if (known !== undefined) return known;
    const mark = `⟦${kind}:${marks.size + 1}⟧`;
    marks.set(text, mark);
    return mark;
  }
}

const withoutMachine = (userAgent: string): string => userAgent.replaceAll(/\([^)]*\)/g, "(linux)");

const isOpen = (name: string): boolean => !/session|thread|resource|codex|agent-id/.test(name) || name === "user-agent";
