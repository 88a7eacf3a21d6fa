import { isArray, isObject, type Json, type JsonObject, parseJson, listField } from "../schema/json.ts";
import { chatContent, chatReply, chatResult, chatText, DraftLog, textBlocks } from "./draft-log.ts";
import { objectAt, objectsAt, textAt, type Importer, type ImportDeps, type Translation } from "./importer.ts";
import { readDocument } from "./read-lines.ts";

/**
 * SWE-agent trajectories: one document with `history` (chat messages) and `trajectory` (steps). If the model calls
 * functions, `history` has calls and results. Otherwise a reply's text contains the command and the next user message
 * contains its output: they become a call and its result, so that such results can be cleared like any other.
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

/** The tool name for a command that was in the text. */
const commandTool = "command";

const sharedOutputText = "(The output is in the result of another call of the same reply.)";

class Trajectory {
  readonly #log: DraftLog;
  #model: string | undefined;
  #replies = 0;
  /** The ids of the calls that the next message answers. */
  #openCalls: readonly string[] = [];

  constructor(deps: ImportDeps) {
    this.#log = new DraftLog("swe-agent", deps);
  }

  translate(source: string): Translation {
    const { value, state } = readDocument(source);
    if (state === "torn") this.#log.noteTorn();
    const config = parseObject(isObject(value) ? value["replay_config"] : undefined);
    const agent = objectAt(config, "agent");
    this.#model = textAt(objectAt(agent, "model"), "name") || undefined;
    const steps = objectsAt(value, "trajectory");
    const cwd = steps.map((step) => textAt(parseObject(step["state"]), "working_dir")).find((folder) => folder !== "");
    if (cwd !== undefined) this.#log.circumstances.cwd = cwd;
    if (shortensHistory(agent))
      this.#log.note(
        "view-unknown",
        "the agent shortened old results before sending; the trajectory holds them in full",
      );
    for (const message of objectsAt(value, "history")) this.#addMessage(message);
    this.#addLastObservation(steps);
    return this.#log.translation();
  }

  #addMessage(message: JsonObject): void {
    switch (textAt(message, "role")) {
      case "system":
        return this.#log.systemPrompt(chatText(message["content"]));
      case "assistant":
        return this.#addReply(message);
      case "tool":
        return this.#addResult(message);
      default:
        return this.#addUser(message);
    }
  }

  #addUser(message: JsonObject): void {
    if (this.#openCalls.length > 0) this.#answer(this.#openCalls, chatResult(message["content"]));
    else this.#log.user(chatContent(message["content"]), { meta: message["is_demo"] === true });
  }

  #addResult(message: JsonObject): void {
    const ids = listField(message, "tool_call_ids").filter((callId) => typeof callId === "string");
    this.#answer(ids.length > 0 ? ids : [textAt(message, "tool_call_id")], chatResult(message["content"]));
  }

  /** The source has one output for all these calls, but each needs a result. */
  #answer(calls: readonly string[], content: string | readonly JsonObject[]): void {
    this.#openCalls = [];
    for (const [at, id] of calls.entries()) this.#log.result({ id, content: at === 0 ? content : sharedOutputText });
  }

  #addReply(message: JsonObject): void {
    this.#replies += 1;
    const id = this.#log.replyId(String(this.#replies));
    const reply = chatReply(this.#log, message);
    const calls = objectsAt(message, "tool_calls");
    const action = textAt(message, "action");
    this.#openCalls = calls.map((call) => textAt(call, "id"));
    const content = calls.length > 0 || action.trim() === "" ? reply : this.#callFromText(message, action);
    if (content.length > 0) this.#log.reply({ id, model: this.#model, content });
  }

  #callFromText(message: JsonObject, action: string): JsonObject[] {
    this.#log.note("call-from-text", `a command in the text of a reply became a call of \`${commandTool}\``);
    const id = `action_${this.#replies}`;
    this.#openCalls = [id];
    const call = this.#log.call({ id, name: commandTool, input: { command: action } });
    const thought = typeof message["thought"] === "string" ? textBlocks(message["thought"]) : [];
    return [...thought, call];
  }

  /** The output of the last step was never sent to the model, so only the steps contain it. */
  #addLastObservation(steps: readonly JsonObject[]): void {
    const last = steps.at(-1);
    if (last !== undefined && typeof last["observation"] === "string")
      this.#answer(this.#openCalls, last["observation"]);
  }
}

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
