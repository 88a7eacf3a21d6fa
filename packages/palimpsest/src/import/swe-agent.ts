import { isArray, isObject, type Json, type JsonObject, parseJson, listField } from "../schema/json.ts";
import { chatContent, chatReply, chatResult, DraftLog, textBlocks } from "./draft-log.ts";
import { objectAt, objectsAt, textAt } from "./fields.ts";
import type { Importer, ImportDeps, Translation } from "./importer.ts";
import { readDocument } from "./read-lines.ts";

/**
 * SWE-agent trajectories: one document with `history` (chat messages) and `trajectory` (steps). Where the model calls
 * functions, history has calls and results. Otherwise the command stands in the text of a reply and what it printed in
 * the next user message: those become a call and its result, so that such results can be cleared like any other.
 */
export const sweAgent: Importer = {
  format: "swe-agent",
  label: "SWE-agent trajectory",
  detect: ([first]) => isTrajectory(first),
  translate: (text, deps) => new Trajectory(deps).translate(text),
};

const isTrajectory = (value: Json | undefined): boolean => {
  if (!isObject(value) || !isArray(value["trajectory"])) return false;
  const [first] = value["trajectory"];
  return first === undefined
    ? isArray(value["history"])
    : isObject(first) && ("action" in first || "observation" in first || "response" in first);
};

/** The name of a call whose command stood in the text. */
const commandTool = "command";

class Trajectory {
  readonly #log: DraftLog;
  #model: string | undefined;
  #replies = 0;
  /** The call that the next message answers. */
  #open: string | undefined;

  constructor(deps: ImportDeps) {
    this.#log = new DraftLog("swe-agent", deps);
  }

  translate(source: string): Translation {
    const { value, state } = readDocument(source);
    if (state === "torn") this.#log.note("damaged", "the document is cut off: read as far as it goes");
    const config = parseObject(isObject(value) ? value["replay_config"] : undefined);
    const agent = objectAt(config, "agent");
    this.#model = textAt(objectAt(agent, "model"), "name") || undefined;
    const steps = objectsAt(value, "trajectory");
    const cwd = steps.map((step) => textAt(parseObject(step["state"]), "working_dir")).find((folder) => folder !== "");
    if (cwd !== undefined) this.#log.circumstances.cwd = cwd;
    if (shortensHistory(agent))
      this.#log.note("view-unknown", "the agent shortened old results before sending; the trajectory holds them whole");
    for (const message of objectsAt(value, "history")) this.#message(message);
    this.#lastObservation(steps);
    return this.#log.translation();
  }

  #message(message: JsonObject): void {
    switch (textAt(message, "role")) {
      case "system":
        return this.#log.systemPrompt(asText(message["content"]));
      case "assistant":
        return this.#reply(message);
      case "tool":
        return this.#results(message);
      default:
        return this.#user(message);
    }
  }

  #user(message: JsonObject): void {
    const open = this.#open;
    this.#open = undefined;
    if (open !== undefined) this.#log.result({ id: open, content: chatResult(message["content"]) });
    else this.#log.user(chatContent(message["content"]), { meta: message["is_demo"] === true });
  }

  #results(message: JsonObject): void {
    const listed = listField(message, "tool_call_ids").find((id) => typeof id === "string");
    const id = listed ?? textAt(message, "tool_call_id");
    this.#open = undefined;
    this.#log.result({ id, content: chatResult(message["content"]) });
  }

  #reply(message: JsonObject): void {
    this.#replies += 1;
    const id = this.#log.replyId(String(this.#replies));
    const reply = chatReply(this.#log, message);
    const called = objectsAt(message, "tool_calls");
    const action = textAt(message, "action");
    this.#open = called.length > 0 ? textAt(called[0], "id") : undefined;
    const content = called.length > 0 || action.trim() === "" ? reply : this.#fromText(message, action);
    if (content.length > 0) this.#log.reply({ id, model: this.#model, content });
  }

  #fromText(message: JsonObject, action: string): JsonObject[] {
    this.#log.note("call-from-text", `a command in the text of a reply became a call of \`${commandTool}\``);
    const id = `action_${this.#replies}`;
    this.#open = id;
    const call = this.#log.call({ id, name: commandTool, input: { command: action } });
    const thought = typeof message["thought"] === "string" ? textBlocks(message["thought"]) : [];
    return [...thought, call];
  }

  /** What the last step printed never went back to the model, so only the steps hold it. */
  #lastObservation(steps: readonly JsonObject[]): void {
    const last = steps.at(-1);
    if (this.#open === undefined || last === undefined || typeof last["observation"] !== "string") return;
    this.#log.result({ id: this.#open, content: last["observation"] });
  }
}

const asText = (content: Json | undefined): string =>
  chatContent(content)
    .map((block) => textAt(block, "text"))
    .join("\n");

/** Some versions write parts of the document as JSON in a string. */
function parseObject(value: Json | undefined): JsonObject {
  if (isObject(value)) return value;
  if (typeof value !== "string") return {};
  try {
    const parsed = parseJson(value);
    return isObject(parsed) ? parsed : {};
  } catch {
    return {};
  }
}

const shortensHistory = (agent: JsonObject): boolean =>
  [objectAt(agent, "history_processor"), ...objectsAt(agent, "history_processors")].some((processor) =>
    textAt(processor, "type").includes("observations"),
  );
