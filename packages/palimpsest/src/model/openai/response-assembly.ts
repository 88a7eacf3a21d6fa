import type { ClockDep } from "../../ports/clock-dep.ts";
import type { ModelEvent, ModelFailure } from "../../ports/model-port.ts";
import { type Block, parseBlock } from "../../schema/block.ts";
import { messageId } from "../../schema/brand.ts";
import { field, isObject, type Json, type JsonObject, listField, textField } from "../../schema/json.ts";
import { readCallInput } from "../call-input.ts";
import { brokenStream, classifyServerError, openaiRules } from "../failure.ts";
import { readOpenaiUsage } from "./chat-assembly.ts";

/** The events that a stream would have sent for a complete response. */
export function wholeResponseEvents(response: JsonObject, deps: ClockDep): readonly ModelEvent[] {
  const assembly = new ResponseAssembly(deps);
  return [
    ...assembly.take({ type: "response.created", response }),
    ...listField(response, "output").flatMap((item) => [
      ...listSpokenTexts(item).flatMap((delta) => assembly.take({ type: "response.output_text.delta", delta })),
      ...assembly.take({ type: "response.output_item.done", item }),
    ]),
    ...assembly.take({ type: endByStatus.get(textField(response, "status") ?? "") ?? "response.completed", response }),
  ];
}

const endByStatus: ReadonlyMap<string, string> = new Map([
  ["failed", "response.failed"],
  ["cancelled", "response.failed"],
  ["incomplete", "response.incomplete"],
]);

/** Leaves out reasoning, which has texts too. */
const listSpokenTexts = (item: Json): readonly string[] =>
  isObject(item) && textField(item, "type") === "message"
    ? listField(item, "content").flatMap((part) => (isObject(part) ? (textField(part, "text") ?? []) : []))
    : [];

/** Assembles a reply from the events of a response's stream: an item counts when it is done. */
export class ResponseAssembly {
  readonly #deps: ClockDep;
  #index = 0;
  #calls = 0;
  #isRefusal = false;

  constructor(deps: ClockDep) {
    this.#deps = deps;
  }

  take(event: JsonObject): readonly ModelEvent[] {
    const response = field(event, "response");
    switch (textField(event, "type")) {
      case "response.created":
        return isObject(response) ? [startEvent(response)] : [];
      case "response.output_text.delta":
        return [{ kind: "text-delta", index: this.#index, text: textField(event, "delta") ?? "" }];
      case "response.output_item.done":
        return this.#takeItem(field(event, "item"));
      case "response.completed":
      case "response.incomplete":
        return isObject(response) ? [this.#endReply(response)] : [];
      case "response.failed":
      case "error":
        return [{ kind: "failure", failure: parseFailure(event, this.#deps) }];
      default:
        return [];
    }
  }

  end(): readonly ModelEvent[] {
    return [];
  }

  #takeItem(item: Json | undefined): readonly ModelEvent[] {
    if (!isObject(item)) return [];
    switch (textField(item, "type")) {
      case "message":
        return this.#takeMessage(item);
      case "function_call":
        return [this.#takeCall(item)];
      default:
        return [];
    }
  }

  #takeMessage(item: JsonObject): readonly ModelEvent[] {
    const parts = listField(item, "content").filter(isObject);
    this.#isRefusal ||= parts.some((part) => textField(part, "type") === "refusal");
    const text = parts.map((part) => textField(part, "text") ?? textField(part, "refusal") ?? "").join("");
    return text === "" ? [] : [this.#endBlock({ type: "text", text })];
  }

  #takeCall(item: JsonObject): ModelEvent {
    this.#calls += 1;
    const json = textField(item, "arguments") ?? "";
    const { input, flawed } = json === "" ? { input: {} } : readCallInput(json);
    const id = textField(item, "call_id") ?? "";
    return this.#endBlock(parseBlock({ type: "tool_use", id, name: textField(item, "name") ?? "", input }), flawed);
  }

  #endBlock(block: Block, flawed?: string): ModelEvent {
    const index = this.#index;
    this.#index += 1;
    return { kind: "block-end", index, block, ...(flawed === undefined ? {} : { flawed }) };
  }

  #endReply(response: JsonObject): ModelEvent {
    const details = field(response, "incomplete_details");
    const reason = isObject(details) ? textField(details, "reason") : undefined;
    const usage = field(response, "usage");
    return {
      kind: "reply-end",
      stopReason: this.#stopReason(reason),
      usage: isObject(usage) ? readOpenaiUsage(usage, usageKeys) : {},
    };
  }

  #stopReason(incomplete: string | undefined): string {
    if (incomplete === "max_output_tokens") return "max_tokens";
    if (incomplete === "content_filter" || this.#isRefusal) return "refusal";
    return this.#calls > 0 ? "tool_use" : "end_turn";
  }
}

const startEvent = (response: JsonObject): ModelEvent => ({
  kind: "reply-start",
  id: messageId(textField(response, "id") ?? ""),
  model: textField(response, "model") ?? "",
  usage: {},
});

/** An error with a known code counts like an error response; any other error is a broken stream. */
function parseFailure(event: JsonObject, { now }: ClockDep): ModelFailure {
  const response = field(event, "response");
  const errorField = isObject(response) ? field(response, "error") : event;
  const error = isObject(errorField) ? errorField : {};
  const message = textField(error, "message") ?? "The response failed.";
  const code = textField(error, "code");
  const absent = { status: undefined, type: undefined, headers: undefined, requestId: undefined };
  const failure = classifyServerError({ rules: openaiRules, now }, { ...absent, code, message });
  return failure.why === "server" ? brokenStream(message) : failure;
}

const usageKeys = { input: "input_tokens", details: "input_tokens_details", output: "output_tokens" } as const;
