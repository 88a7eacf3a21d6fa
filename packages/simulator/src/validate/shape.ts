import { field, isArray, isObject, type Json, type JsonObject } from "palimpsest/internal/schema/json";
import {
  type CountRequest,
  countRequest,
  type MessagesRequest,
  messagesRequest,
  type WireMessage,
  wireMessage,
} from "palimpsest/internal/schema/wire/request";
import { type WireTool, wireTool } from "palimpsest/internal/schema/wire/tool";
import { invalid, type Refusal } from "../refusal.ts";
import { refusalOf } from "./issue.ts";

interface Shaped<Request> {
  readonly kind: "shaped";
  /** Holds the very message objects of the body, but for those without content. */
  readonly request: Request;
}

/**
 * Gives bodies their shape, or says what is wrong with it. A caller in the same process sends the same message objects
 * turn after turn; those that have passed are not looked at again, so who changes one in place is not caught.
 */
export class Shapes {
  readonly #passed: Passed = { messages: new WeakSet(), tools: new WeakSet(), filledByMessage: new WeakMap() };

  messages(body: Json): Shaped<MessagesRequest> | Refusal {
    const lists = shapeLists(body, this.#passed);
    const rest = messagesRest.safeParse(lists.rest);
    if (!rest.success) return firstRefusal(rest.error.issues, body);
    if (lists.refusal !== undefined) return lists.refusal;
    return { kind: "shaped", request: { ...rest.data, ...lists.shaped } };
  }

  count(body: Json): Shaped<CountRequest> | Refusal {
    const lists = shapeLists(body, this.#passed);
    const rest = countRest.safeParse(lists.rest);
    if (!rest.success) return firstRefusal(rest.error.issues, body);
    if (lists.refusal !== undefined) return lists.refusal;
    return { kind: "shaped", request: { ...rest.data, ...lists.shaped } };
  }
}

const messagesRest = messagesRequest.omit({ messages: true, tools: true });
const countRest = countRequest.omit({ messages: true, tools: true });
const [customTool, providerTool] = wireTool.options;

interface Passed {
  readonly messages: WeakSet<object>;
  readonly tools: WeakSet<object>;
  readonly filledByMessage: WeakMap<object, JsonObject>;
}

type Issues = Parameters<typeof refusalOf>[0][];

function firstRefusal(issues: Issues, body: Json): Refusal {
  const [first] = issues;
  if (first === undefined) throw new Error("a schema refused a body without saying why");
  return refusalOf(first, { at: [], body });
}

interface Lists {
  /** What is left of the body for the schema of the other fields. */
  readonly rest: Json;
  readonly refusal?: Refusal;
  readonly shaped: { messages: WireMessage[]; tools?: WireTool[] | null };
}

function shapeLists(body: Json, passed: Passed): Lists {
  if (!isObject(body)) return { rest: body, shaped: { messages: [] } };
  const { messages: _messages, tools: _tools, ...rest } = body;
  const tools = shapeTools(body, passed);
  if (tools.kind === "refused") return { rest, refusal: tools, shaped: { messages: [] } };
  const messages = shapeList(body, { name: "messages", passed });
  if (messages.kind === "refused") return { rest, refusal: messages, shaped: { messages: [] } };
  return {
    rest,
    shaped: {
      messages: messages.values.filter((value) => isPassedMessage(value, passed)),
      ...(tools.tools === undefined ? {} : { tools: tools.tools }),
    },
  };
}

interface ToolsRead {
  readonly kind: "tools";
  readonly tools?: WireTool[] | null;
}

function shapeTools(body: JsonObject, passed: Passed): ToolsRead | Refusal {
  const value = field(body, "tools");
  if (value === undefined) return { kind: "tools" };
  if (value === null) return { kind: "tools", tools: null };
  const list = shapeList(body, { name: "tools", passed });
  if (list.kind === "refused") return list;
  return { kind: "tools", tools: list.values.filter((tool) => isPassedTool(tool, passed)) };
}

interface ListOptions {
  readonly name: "messages" | "tools";
  readonly passed: Passed;
}

function shapeList(
  body: JsonObject,
  { name, passed }: ListOptions,
): { readonly kind: "list"; readonly values: readonly Json[] } | Refusal {
  const values = field(body, name);
  if (values === undefined) return invalid("Field required", name);
  if (!isArray(values)) return invalid("Input should be a valid list", name);
  const filledByPlace = new Map<number, JsonObject>();
  for (const [at, sent] of values.entries()) {
    if (isObject(sent) && passed[name].has(sent)) continue;
    const value = name === "messages" && setsAlone(sent) ? filled(sent, passed) : sent;
    if (value !== sent && isObject(value)) filledByPlace.set(at, value);
    if (isObject(value) && passed[name].has(value)) continue;
    const result = name === "messages" ? wireMessage.safeParse(value) : toolSchema(value).safeParse(value);
    const [issue] = result.error?.issues ?? [];
    if (issue !== undefined) {
      return isUndatedType(name, value) ? unknownTool(value, at) : refusalOf(issue, { at: [name, at], body });
    }
    if (isObject(value)) passed[name].add(value);
  }
  if (filledByPlace.size === 0) return { kind: "list", values };
  return { kind: "list", values: values.map((value, at) => filledByPlace.get(at) ?? value) };
}

/** A system message that sets something need not say anything. */
const setsAlone = (message: Json): message is JsonObject =>
  isObject(message) &&
  field(message, "role") === "system" &&
  field(message, "content") === undefined &&
  (field(message, "output_config") ?? null) !== null;

/** The same one each time, so that it is known again. */
function filled(message: JsonObject, { filledByMessage }: Passed): JsonObject {
  const known = filledByMessage.get(message) ?? { ...message, content: [] };
  filledByMessage.set(message, known);
  return known;
}

const isPassedMessage = (value: Json, passed: Passed): value is Json & WireMessage =>
  isObject(value) && passed.messages.has(value);
const isPassedTool = (value: Json, passed: Passed): value is Json & WireTool =>
  isObject(value) && passed.tools.has(value);

const typeOf = (tool: Json): Json | undefined => (isObject(tool) ? field(tool, "type") : undefined);

const isCustomType = (type: Json | undefined): boolean => type === undefined || type === null || type === "custom";

const toolSchema = (tool: Json): typeof customTool | typeof providerTool =>
  isCustomType(typeOf(tool)) ? customTool : providerTool;

const isUndatedType = (name: ListOptions["name"], value: Json): boolean => {
  const type = typeOf(value);
  return name === "tools" && !isCustomType(type) && !(typeof type === "string" && /_\d{8}$/.test(type));
};

function unknownTool(tool: Json, at: number): Refusal {
  const type = typeOf(tool);
  const shown = typeof type === "string" ? type : JSON.stringify(type);
  return invalid(
    `Input tag '${shown}' found using 'type' does not match any of the expected tags: 'custom', or the dated type of a tool that the API provides`,
    `tools.${at}`,
  );
}
