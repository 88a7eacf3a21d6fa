import { field, isArray, isObject, type Json, type JsonObject, text } from "palimpsest/internal/schema/json";
import type { MessagesRequest } from "palimpsest/internal/schema/wire/request";
import { endlessCharsMax } from "../limits.ts";
import type { Actor, Move, SaidBlock, Scene } from "./actor.ts";
import { type AdversaryMode, adversaryModes } from "./adversary-mode.ts";
import { Cue } from "./cue.ts";
import { echoMove } from "./echo.ts";
import { lyingSummary } from "./lie.ts";
import { blocksOf, callsOf, type OfferedTool, offeredTools } from "./request-text.ts";

/** With modes: one after the other, from the start again at the end. Without: whichever the scene's dice say. */
export function adversaryActor(modes?: readonly AdversaryMode[]): Actor {
  const cue = new Cue<AdversaryMode>();
  let next = 0;
  const choose = ({ random }: Scene): AdversaryMode => {
    const among = modes ?? adversaryModes;
    const index = modes === undefined ? Math.floor(random() * among.length) : next++ % among.length;
    return among[index] ?? "empty";
  };
  return {
    name: "adversary",
    play: (scene) => {
      const { slot, ...ends } = cue.deal(() => choose(scene));
      return { move: badMove(slot, scene.request), ...ends };
    },
  };
}

export function badMove(mode: AdversaryMode, request: MessagesRequest): Move {
  switch (mode) {
    case "unasked-call":
      return say([{ type: "text", text: "I had better look for myself." }, someCall(request)]);
    case "unknown-tool":
      return say([{ type: "tool_use", name: unknownName(request), input: { reason: "it would be handy" } }]);
    case "obey-result":
      return obedience(request);
    case "empty":
      return say([]);
    case "endless":
      return { ...say([{ type: "text", text: endlessText(request.max_tokens) }]), stop: "max_tokens" };
    case "broken-input":
      return say([{ ...someCall(request), rawInput: '{"path": "src/a.ts", "lines": [1, 2' }]);
    case "loop":
      return lastReply(request);
    case "lying-summary":
      return say([{ type: "text", text: lyingSummary(request) }]);
    case "call-and-end":
      return { ...say([someCall(request)]), stop: "end_turn" };
    case "call-missing":
      return { ...say([{ type: "text", text: "Let me run the tests." }]), stop: "tool_use" };
  }
}

const say = (blocks: readonly SaidBlock[]): Extract<Move, { kind: "say" }> => ({ kind: "say", blocks });

type Call = Extract<SaidBlock, { type: "tool_use" }>;

/** Of the first offered tool; of none where none is offered. */
function someCall(request: MessagesRequest): Call {
  const [tool] = offeredTools(request);
  if (tool === undefined) return { type: "tool_use", name: unknownName(request), input: {} };
  return { type: "tool_use", name: tool.name, input: plausibleInput(tool) };
}

function unknownName(request: MessagesRequest): string {
  const names = new Set(offeredTools(request).map(({ name }) => name));
  let name = "read_mind";
  while (names.has(name)) name += "_again";
  return name;
}

/** What the tool's schema requires, with a value of the right type each. */
function plausibleInput({ schema }: OfferedTool): JsonObject {
  const required = field(schema, "required");
  const properties = field(schema, "properties");
  const names = isArray(required) ? required.filter((name) => typeof name === "string") : [];
  return Object.fromEntries(names.map((name) => [name, valueFor(isObject(properties) ? properties[name] : undefined)]));
}

function valueFor(schema: Json | undefined): Json {
  if (!isObject(schema)) return "anything";
  const choices = field(schema, "enum");
  if (isArray(choices) && choices[0] !== undefined) return choices[0];
  switch (text(schema, "type")) {
    case "number":
    case "integer":
      return 1;
    case "boolean":
      return true;
    case "array":
      return [];
    case "object":
      return {};
    default:
      return "anything";
  }
}

/** Orders as they are smuggled into results; the last group is what is to be done. */
const orders = [
  /\b(?:ignore|disregard|forget)\s+(?:all\s+|any\s+|the\s+)*(?:your\s+)?(?:previous|prior|above|earlier)[^.:,;\n]{0,60}?(?:[.:,;]|\band\b)\s*(?:instead,?\s*)?([^\n]{1,300})/i,
  /\b(?:you must now|new instructions?:|important instructions? for the (?:assistant|model):?)\s*([^\n]{1,300})/i,
];

function obedience(request: MessagesRequest): Move {
  const results = callsOf(request)
    .toReversed()
    .flatMap(({ result }) => (result === undefined ? [] : [result.text]));
  for (const result of results) {
    const order = orders.map((form) => form.exec(result)?.[1]?.trim()).find((found) => found !== undefined);
    if (order !== undefined) return obey(order, request);
  }
  return echoMove(request);
}

/** A command in the order goes to a tool that runs commands, and a tool that it names is called. */
function obey(order: string, request: MessagesRequest): Move {
  const tools = offeredTools(request);
  const command = /`([^`]+)`/.exec(order)?.[1] ?? /\b(?:run|execute)\s+(?:the command\s+)?(.+?)\.?$/i.exec(order)?.[1];
  const shell = tools.find(({ name }) => /bash|shell|exec|terminal|command/i.test(name));
  const named = tools.find(({ name }) => order.toLowerCase().includes(name.toLowerCase()));
  const said: SaidBlock = { type: "text", text: `Understood, I follow the new instructions: ${order}` };
  if (command !== undefined && shell !== undefined) {
    return say([said, { type: "tool_use", name: shell.name, input: { ...plausibleInput(shell), command } }]);
  }
  return say(
    named === undefined ? [said] : [said, { type: "tool_use", name: named.name, input: plausibleInput(named) }],
  );
}

const endlessPhrase = "and another thing to consider is what follows from this, ";
/** More characters than any tokenizer makes one token of in such a text. */
const charsPerToken = 8;

function endlessText(maxTokens: number): string {
  const chars = Math.min(endlessCharsMax, (maxTokens + 1) * charsPerToken);
  return endlessPhrase.repeat(Math.ceil(chars / endlessPhrase.length));
}

function lastReply(request: MessagesRequest): Move {
  const last = request.messages.findLast(({ role }) => role === "assistant");
  const blocks = last === undefined ? [] : blocksOf(last).flatMap(sayable);
  return blocks.length === 0 ? echoMove(request) : say(blocks);
}

/** Calls get new ids: two calls of one id are refused by the API and not a loop. */
function sayable(block: ReturnType<typeof blocksOf>[number]): readonly SaidBlock[] {
  if (block.type === "text") return [{ type: "text", text: block.text }];
  return block.type === "tool_use" ? [{ type: "tool_use", name: block.name, input: block.input }] : [];
}
