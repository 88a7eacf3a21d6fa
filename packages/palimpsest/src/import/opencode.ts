import { isObject, type Json, type JsonObject } from "../schema/json.ts";
import { plainClearMarker } from "../schema/edit.ts";
import { DraftLog, textBlock, textBlocks, thinkingBlock } from "./draft-log.ts";
import {
  isoAt,
  numberAt,
  objectAt,
  objectsAt,
  textAt,
  mediaBlockFromUrl,
  toWireUsage,
  type Importer,
  type ImportDeps,
  type Translation,
} from "./importer.ts";
import { readDocument } from "./read-lines.ts";

/**
 * opencode exports: one document, `{info, messages: [{info, parts}]}`. A tool part contains both call and result, so no ids
 * are needed to pair them. A pruned result has the time from which the model saw only a marker: it becomes a clear at that
 * time, and the output, which the export still contains, stays in the log.
 */
export const opencode: Importer = {
  format: "opencode",
  label: "opencode export",
  detect: ([first]) => isExport(first),
  translate: (text, deps) => new OpencodeExport(deps).translate(text),
};

const isExport = (value: Json | undefined): boolean => {
  if (!isObject(value) || !isObject(value["info"]) || textAt(value["info"], "id") === "") return false;
  const first = objectsAt(value, "messages")[0];
  return first === undefined
    ? "projectID" in value["info"] || "directory" in value["info"]
    : isObject(first["info"]) && textAt(first["info"], "role") !== "";
};

interface PrunedResult {
  readonly toolUse: string;
  readonly at: number;
}

class OpencodeExport {
  readonly #log: DraftLog;
  #pruned: PrunedResult[] = [];
  #replies = 0;

  constructor(deps: ImportDeps) {
    this.#log = new DraftLog("opencode", deps);
  }

  translate(source: string): Translation {
    const { value, state } = readDocument(source);
    if (state === "torn") this.#log.noteTorn();
    const info = objectAt(value, "info");
    Object.assign(this.#log.circumstances, {
      sessionId: textAt(info, "id"),
      cwd: textAt(info, "directory"),
      version: textAt(info, "version"),
    });
    if (textAt(info, "title") !== "")
      this.#log.add(
        { type: "ai-title", aiTitle: textAt(info, "title") },
        { timestamp: isoAt(objectAt(info, "time"), "created") },
      );
    for (const message of objectsAt(value, "messages")) this.#addMessage(message);
    this.#addClear(Infinity);
    return this.#log.translation();
  }

  #addMessage(message: JsonObject): void {
    const info = objectAt(message, "info");
    const parts = objectsAt(message, "parts");
    this.#addClear(numberAt(objectAt(info, "time"), "created"));
    if (textAt(info, "role") === "user") this.#addUser(info, parts);
    else if (info["summary"] === true) this.#addSummary(info, parts);
    else this.#addReplies(info, parts);
  }

  /** Adds one clear for all results that were pruned before the time `before`. */
  #addClear(before: number): void {
    const cleared = this.#pruned.filter(({ at }) => at < before);
    if (cleared.length === 0) return;
    this.#pruned = this.#pruned.filter(({ at }) => at >= before);
    const results = cleared.map(({ toolUse }) => ({ toolUse, shown: plainClearMarker }));
    const newest = cleared.reduce((latest, { at }) => Math.max(latest, at), 0);
    this.#log.add({ type: "clear", cause: "size", results }, { timestamp: new Date(newest).toISOString() });
    for (let n = 0; n < cleared.length; n += 1)
      this.#log.note("cleared", "results that opencode pruned: the model saw a marker from then on");
  }

  #addUser(info: JsonObject, parts: readonly JsonObject[]): void {
    const sent = parts.filter((part) => part["ignored"] !== true);
    const content = sent.flatMap((part) => this.#userBlocks(part));
    const meta = sent.every((part) => part["synthetic"] === true || part["type"] !== "text");
    this.#log.user(content, { timestamp: isoAt(objectAt(info, "time"), "created"), meta });
  }

  #userBlocks(part: JsonObject): JsonObject[] {
    switch (textAt(part, "type")) {
      case "text":
        return textBlocks(textAt(part, "text"));
      case "file":
        return this.#fileBlocks(part);
      case "subtask":
        // The model gets only this sentence: the task's prompt is in the call that follows.
        return [textBlock("The following tool was executed by the user")];
      default:
        return [];
    }
  }

  #fileBlocks(part: JsonObject): JsonObject[] {
    const mediaType = textAt(part, "mime");
    // The text of a file and the listing of a folder are separate parts.
    if (mediaType === "text/plain" || mediaType === "application/x-directory") return [];
    const block = mediaBlockFromUrl(textAt(part, "url"), mediaType);
    if (block === undefined) this.#log.note("file-without-data", `a file of type ${mediaType}`);
    return block === undefined ? [] : [block];
  }

  #addSummary(info: JsonObject, parts: readonly JsonObject[]): void {
    const summary = parts.filter((part) => part["type"] === "text").flatMap((part) => textBlocks(textAt(part, "text")));
    if (summary.length === 0) return this.#log.note("error-reply", "a compaction that gave no summary");
    const preTokens = countContextTokens(objectAt(info, "tokens")) || undefined;
    this.#log.boundary({ summary, preTokens }, { timestamp: isoAt(objectAt(info, "time"), "created") });
  }

  /** Adds one reply for each step, because a step is one call of the model. */
  #addReplies(info: JsonObject, parts: readonly JsonObject[]): void {
    const steps: JsonObject[][] = [[]];
    for (const part of parts) {
      if (part["type"] === "step-start" && steps.at(-1)?.length !== 0) steps.push([]);
      steps.at(-1)?.push(part);
    }
    for (const step of steps) {
      const finish = step.find((part) => part["type"] === "step-finish");
      const tokens = steps.length === 1 ? objectAt(info, "tokens") : objectAt(finish, "tokens");
      this.#addStep(info, { parts: step, tokens, single: steps.length === 1 });
    }
  }

  #addStep(info: JsonObject, step: { parts: readonly JsonObject[]; tokens: JsonObject; single: boolean }): void {
    this.#replies += 1;
    const timestamp = isoAt(objectAt(info, "time"), "created");
    const messageId = textAt(info, "id");
    const id = step.single && messageId.startsWith("msg_") ? messageId : this.#log.replyId(String(this.#replies));
    const calls: { readonly block: JsonObject; readonly part: JsonObject }[] = [];
    const content = step.parts.flatMap((part) => {
      if (part["type"] !== "tool") return this.#replyBlocks(part);
      const input = objectAt(objectAt(part, "state"), "input");
      const block = this.#log.call({ id: textAt(part, "callID"), name: textAt(part, "tool"), input });
      calls.push({ block, part });
      return [block];
    });
    if (content.length === 0) {
      if (isObject(info["error"])) this.#log.note("error-reply", "failed replies without content are left out");
      return;
    }
    this.#log.reply({ id, model: textAt(info, "modelID"), content, usage: stepUsage(step.tokens) }, { timestamp });
    for (const call of calls) this.#addResult(call.part, textAt(call.block, "id"));
  }

  #replyBlocks(part: JsonObject): JsonObject[] {
    if (part["type"] === "text") return textBlocks(textAt(part, "text"));
    return part["type"] === "reasoning" ? [thinkingBlock(textAt(part, "text"))] : [];
  }

  #addResult(part: JsonObject, toolUse: string): void {
    const state = objectAt(part, "state");
    const status = textAt(state, "status");
    if (status !== "completed" && status !== "error") return;
    const output = status === "error" ? textAt(state, "error") : textAt(state, "output");
    const files = objectsAt(state, "attachments").flatMap((file) => this.#fileBlocks(file));
    const content = files.length === 0 ? output : [...textBlocks(output), ...files];
    const time = objectAt(state, "time");
    this.#log.result(
      { id: textAt(part, "callID"), call: toolUse, content, isError: status === "error" },
      { timestamp: isoAt(time, "end") },
    );
    const at = numberAt(time, "compacted");
    if (at > 0) this.#pruned.push({ toolUse, at });
  }
}

const countContextTokens = (tokens: JsonObject): number =>
  numberAt(tokens, "input") +
  numberAt(objectAt(tokens, "cache"), "read") +
  numberAt(objectAt(tokens, "cache"), "write");

/** Some versions count reasoning in `output` and others do not; the total shows which. */
function stepUsage(tokens: JsonObject): JsonObject | undefined {
  const cache = objectAt(tokens, "cache");
  const output = Math.max(numberAt(tokens, "output"), numberAt(tokens, "total") - countContextTokens(tokens));
  return toWireUsage({
    input: numberAt(tokens, "input"),
    cacheRead: numberAt(cache, "read"),
    cacheWrite: numberAt(cache, "write"),
    output,
  });
}
