import type { ClockDep } from "../../ports/clock.ts";
import type { ModelEvent, ModelFailure } from "../../ports/model.ts";
import { type Block, parseBlock } from "../../schema/block.ts";
import { messageId } from "../../schema/brand.ts";
import { field, isObject, type Json, type JsonObject, listAt, text } from "../../schema/json.ts";
import { readCallInput } from "../call-input.ts";
import { brokenStream, failureOf } from "../failure.ts";
import { openaiRules } from "./failure-rules.ts";
import { readOpenaiUsage } from "./usage.ts";

/** A response that came in one piece. */
export function wholeResponseEvents(response: JsonObject, deps: ClockDep): readonly ModelEvent[] {
  const assembly = new ResponseAssembly(deps);
  return [
    ...assembly.take({ type: "response.created", response }),
    ...listAt(response, "output").flatMap((item) => [
      ...spokenIn(item).flatMap((delta) => assembly.take({ type: "response.output_text.delta", delta })),
      ...assembly.take({ type: "response.output_item.done", item }),
    ]),
    ...assembly.take({ type: endByStatus.get(text(response, "status") ?? "") ?? "response.completed", response }),
  ];
}

const endByStatus: ReadonlyMap<string, string> = new Map([
  ["failed", "response.failed"],
  ["cancelled", "response.failed"],
  ["incomplete", "response.incomplete"],
]);

/** Reasoning has texts too: it is not said. */
const spokenIn = (item: Json): readonly string[] =>
  isObject(item) && text(item, "type") === "message"
    ? listAt(item, "content").flatMap((part) => (isObject(part) ? (text(part, "text") ?? []) : []))
    : [];

/** Puts a reply together from the events of a response's stream: an item counts when it is done. */
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
    switch (text(event, "type")) {
      case "response.created":
        return isObject(response) ? [started(response)] : [];
      case "response.output_text.delta":
        return [{ kind: "text-delta", index: this.#index, text: text(event, "delta") ?? "" }];
      case "response.output_item.done":
        return this.#item(field(event, "item"));
      case "response.completed":
      case "response.incomplete":
        return isObject(response) ? [this.#ended(response)] : [];
      case "response.failed":
      case "error":
        return [{ kind: "failure", failure: failureIn(event, this.#deps) }];
      default:
        return [];
    }
  }

  end(): readonly ModelEvent[] {
    return [];
  }

  #item(item: Json | undefined): readonly ModelEvent[] {
    if (!isObject(item)) return [];
    switch (text(item, "type")) {
      case "message":
        return this.#message(item);
      case "function_call":
        return [this.#call(item)];
      default:
        return [];
    }
  }

  #message(item: JsonObject): readonly ModelEvent[] {
    const parts = listAt(item, "content").filter(isObject);
    this.#isRefusal ||= parts.some((part) => text(part, "type") === "refusal");
    const said = parts.map((part) => text(part, "text") ?? text(part, "refusal") ?? "").join("");
    return said === "" ? [] : [this.#block({ type: "text", text: said })];
  }

  #call(item: JsonObject): ModelEvent {
    this.#calls += 1;
    const json = text(item, "arguments") ?? "";
    const { input, flawed } = json === "" ? { input: {} } : readCallInput(json);
    const id = text(item, "call_id") ?? "";
    return this.#block(parseBlock({ type: "tool_use", id, name: text(item, "name") ?? "", input }), flawed);
  }

  #block(block: Block, flawed?: string): ModelEvent {
    const index = this.#index;
    this.#index += 1;
    return { kind: "block-end", index, block, ...(flawed === undefined ? {} : { flawed }) };
  }

  #ended(response: JsonObject): ModelEvent {
    const details = field(response, "incomplete_details");
    const reason = isObject(details) ? text(details, "reason") : undefined;
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

const started = (response: JsonObject): ModelEvent => ({
  kind: "reply-start",
  id: messageId(text(response, "id") ?? ""),
  model: text(response, "model") ?? "",
  usage: {},
});

/** What has a code that we know is as if the request had been refused; anything else is a reply that broke off. */
function failureIn(event: JsonObject, { now }: ClockDep): ModelFailure {
  const response = field(event, "response");
  const said = isObject(response) ? field(response, "error") : event;
  const error = isObject(said) ? said : {};
  const message = text(error, "message") ?? "The response failed.";
  const code = text(error, "code");
  const began = { status: undefined, type: undefined, headers: undefined, requestId: undefined };
  const failure = failureOf({ rules: openaiRules, now }, { ...began, code, message });
  return failure.why === "server" ? brokenStream(message) : failure;
}

const usageKeys = { input: "input_tokens", details: "input_tokens_details", output: "output_tokens" } as const;
