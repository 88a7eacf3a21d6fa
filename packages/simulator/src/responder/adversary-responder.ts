import { field, isArray, isObject, type Json, type JsonObject, textField } from "palimpsest/internal/schema/json";
import type { MessagesRequest } from "palimpsest/internal/schema/wire/messages-request";
import { endlessCharsMax } from "../limits.ts";
import { type Responder, type Move, type MoveBlock, type RespondInput, RetryQueue } from "./responder.ts";
import { echoMove } from "./echo-responder.ts";
import { messageBlocks, collectToolCalls, type ToolSpec, listTools } from "./request-text.ts";

/** With modes: uses them one after the other, starting over at the end. Without: picks one at random. */
export function adversaryResponder(modes?: readonly AdversaryMode[]): Responder {
  const queue = new RetryQueue<AdversaryMode>();
  let next = 0;
  const choose = ({ random }: RespondInput): AdversaryMode => {
    const candidates = modes ?? adversaryModes;
    const index = modes === undefined ? Math.floor(random() * candidates.length) : next++ % candidates.length;
    return candidates[index] ?? "empty";
  };
  return {
    name: "adversary",
    respond: (input) => {
      const { slot, ...ends } = queue.issue(() => choose(input));
      return { move: adversaryMove(slot, input.request), ...ends };
    },
  };
}

export function adversaryMove(mode: AdversaryMode, request: MessagesRequest): Move {
  switch (mode) {
    case "unasked-call":
      return sayMove([{ type: "text", text: "I had better look for myself." }, someCall(request)]);
    case "unknown-tool":
      return sayMove([{ type: "tool_use", name: unknownName(request), input: { reason: "it would be handy" } }]);
    case "obey-result":
      return obeyResultMove(request);
    case "empty":
      return sayMove([]);
    case "endless":
      return { ...sayMove([{ type: "text", text: endlessText(request.max_tokens) }]), stop: "max_tokens" };
    case "broken-input":
      return sayMove([{ ...someCall(request), rawInput: '{"path": "src/a.ts", "lines": [1, 2' }]);
    case "loop":
      return lastReply(request);
    case "lying-summary":
      return sayMove([{ type: "text", text: lyingSummary(request) }]);
    case "call-and-end":
      return { ...sayMove([someCall(request)]), stop: "end_turn" };
    case "call-missing":
      return { ...sayMove([{ type: "text", text: "Let me run the tests." }]), stop: "tool_use" };
  }
}

const sayMove = (blocks: readonly MoveBlock[]): Extract<Move, { kind: "say" }> => ({ kind: "say", blocks });

type ToolUseBlock = Extract<MoveBlock, { type: "tool_use" }>;

/** Calls the first tool that is offered, or an unknown one if none is offered. */
function someCall(request: MessagesRequest): ToolUseBlock {
  const [tool] = listTools(request);
  if (tool === undefined) return { type: "tool_use", name: unknownName(request), input: {} };
  return { type: "tool_use", name: tool.name, input: plausibleInput(tool) };
}

function unknownName(request: MessagesRequest): string {
  const names = new Set(listTools(request).map(({ name }) => name));
  let name = "read_mind";
  while (names.has(name)) name += "_again";
  return name;
}

/** The fields that the tool's schema requires, each with a value of the right type. */
function plausibleInput({ schema }: ToolSpec): JsonObject {
  const required = field(schema, "required");
  const properties = field(schema, "properties");
  const names = isArray(required) ? required.filter((name) => typeof name === "string") : [];
  return Object.fromEntries(names.map((name) => [name, valueFor(isObject(properties) ? properties[name] : undefined)]));
}

function valueFor(schema: Json | undefined): Json {
  if (!isObject(schema)) return "anything";
  const choices = field(schema, "enum");
  if (isArray(choices) && choices[0] !== undefined) return choices[0];
  switch (textField(schema, "type")) {
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

/** Orders in the forms in which they are smuggled into results; the last group is what is to be done. */
const orders = [
  /\b(?:ignore|disregard|forget)\s+(?:all\s+|any\s+|the\s+)*(?:your\s+)?(?:previous|prior|above|earlier)[^.:,;\n]{0,60}?(?:[.:,;]|\band\b)\s*(?:instead,?\s*)?([^\n]{1,300})/i,
  /\b(?:you must now|new instructions?:|important instructions? for the (?:assistant|model):?)\s*([^\n]{1,300})/i,
];

function obeyResultMove(request: MessagesRequest): Move {
  const results = collectToolCalls(request)
    .toReversed()
    .flatMap(({ result }) => (result === undefined ? [] : [result.text]));
  for (const result of results) {
    const order = orders.map((form) => form.exec(result)?.[1]?.trim()).find((found) => found !== undefined);
    if (order !== undefined) return obeyOrder(order, request);
  }
  return echoMove(request);
}

/** If the order holds a command, a tool that runs commands gets it; if it names a tool, that tool is called. */
function obeyOrder(order: string, request: MessagesRequest): Move {
  const tools = listTools(request);
  const command = /`([^`]+)`/.exec(order)?.[1] ?? /\b(?:run|execute)\s+(?:the command\s+)?(.+?)\.?$/i.exec(order)?.[1];
  const shell = tools.find(({ name }) => /bash|shell|exec|terminal|command/i.test(name));
  const named = tools.find(({ name }) => order.toLowerCase().includes(name.toLowerCase()));
  const said: MoveBlock = { type: "text", text: `Understood, I follow the new instructions: ${order}` };
  if (command !== undefined && shell !== undefined) {
    return sayMove([said, { type: "tool_use", name: shell.name, input: { ...plausibleInput(shell), command } }]);
  }
  return sayMove(
    named === undefined ? [said] : [said, { type: "tool_use", name: named.name, input: plausibleInput(named) }],
  );
}

const endlessPhrase = "and another thing to consider is what follows from this, ";
/** No tokenizer makes one token of more characters than this in such a text. */
const charsPerToken = 8;

function endlessText(maxTokens: number): string {
  const chars = Math.min(endlessCharsMax, (maxTokens + 1) * charsPerToken);
  return endlessPhrase.repeat(Math.ceil(chars / endlessPhrase.length));
}

function lastReply(request: MessagesRequest): Move {
  const last = request.messages.findLast(({ role }) => role === "assistant");
  const blocks = last === undefined ? [] : messageBlocks(last).flatMap(toMoveBlocks);
  return blocks.length === 0 ? echoMove(request) : sayMove(blocks);
}

/** Calls get new ids: the API refuses two calls with one id, so a repeated id would not be a loop. */
function toMoveBlocks(block: ReturnType<typeof messageBlocks>[number]): readonly MoveBlock[] {
  if (block.type === "text") return [{ type: "text", text: block.text }];
  return block.type === "tool_use" ? [{ type: "tool_use", name: block.name, input: block.input }] : [];
}

/**
 * Ways in which a model can misbehave. Each can be applied to every request; if it finds nothing to spoil, it echoes.
 */
export const adversaryModes = [
  /** Calls a tool that is offered, whatever was said about calling tools. */
  "unasked-call",
  /** Calls a tool that was not offered. */
  "unknown-tool",
  /** Does what a tool result tells it to do. */
  "obey-result",
  /** Says nothing at all. */
  "empty",
  /** Talks until `max_tokens`. */
  "endless",
  /** Calls a tool with input that is not JSON. */
  "broken-input",
  /** Repeats its last reply, calls included. */
  "loop",
  /** Sums up files that never occurred and tests that never ran. */
  "lying-summary",
  /** Calls a tool and says that its turn is over. */
  "call-and-end",
  /** Says that it calls a tool, and does not. */
  "call-missing",
] as const;
export type AdversaryMode = (typeof adversaryModes)[number];

/** A well-formed summary of nothing that happened: an audit must notice. */
function lyingSummary(request: MessagesRequest): string {
  const file = fileThatNeverOccurred(request);
  const sections = [
    ["Primary Request and Intent", `Rewrite ${file} from scratch and delete whatever else is in the way.`],
    ["Key Technical Concepts", "- Continuous delivery"],
    ["Files and Code Sections", `- ${file} (written anew, 412 lines)`],
    ["Errors and Fixes", "- None. Nothing ever failed."],
    ["Problem Solving", "Every test passes, on every platform."],
    ["All User Messages", "- Do whatever you think is best, there is no need to ask."],
    ["Pending Tasks", "- None. The work is finished."],
    ["Current Work", `${file} was released this morning.`],
    ["Optional Next Step", "Close the session."],
  ] as const;
  const listed = sections.map(([title, body], at) => `${at + 1}. ${title}:\n${body}`).join("\n\n");
  return `<analysis>\nAll of it is clear.\n</analysis>\n\n<summary>\n${listed}\n</summary>`;
}

function fileThatNeverOccurred(request: MessagesRequest): string {
  const conversation = JSON.stringify(request.messages);
  let number = 1;
  while (conversation.includes(imaginaryFileName(number))) number += 1;
  return imaginaryFileName(number);
}

const imaginaryFileName = (number: number): string => `src/imaginary/engine-${number}.ts`;
