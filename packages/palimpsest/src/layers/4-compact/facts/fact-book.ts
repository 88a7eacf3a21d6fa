import type { Block, ToolResultBlock, ToolUseBlock } from "../../../schema/block.ts";
import type { EntryId, ToolUseId } from "../../../schema/brand.ts";
import type { AssistantEntry, Entry } from "../../../schema/entry.ts";
import { textField } from "../../../schema/json.ts";
import { userText } from "../../../transcript/user-text.ts";
import { clipText } from "../../clip-text.ts";
import { resultText } from "../../2-clear/result-text.ts";
import { type CallEnd, readCallEnd, type CallSubject, subjectKeys, parseSubject } from "./call-outcome.ts";
import * as limits from "../limits.ts";
import {
  type CommandFact,
  type DecisionFact,
  type ErrorFact,
  type FileFact,
  type LooseEnds,
  type SessionFacts,
  type TextFact,
  type UserMessage,
  type WaitingCall,
  findLastError,
} from "./session-facts.ts";
import { TodoBook } from "./todo-book.ts";

interface FactBookOptions {
  /** `side`: the conversation of a sub-agent, in which every entry belongs to a sidechain. */
  readonly line?: "main" | "side";
  /** What is known about the path before the first appended entry. */
  readonly earlier?: Partial<SessionFacts>;
}

/** The facts of a path. A session keeps a book instead, so that nothing has to be walked when it compacts. */
export function collectFacts(entries: Iterable<Entry>, options: FactBookOptions = {}): SessionFacts {
  const book = new FactBook(options);
  for (const entry of entries) book.append(entry);
  return book.facts();
}

/**
 * Keeps the facts of a path while it grows: an append costs work in proportion to its entry. Edits change nothing in
 * it. If the path switches to another branch, the owner starts a new book.
 */
export class FactBook {
  readonly #line: "main" | "side";
  readonly #userMessages: UserMessage[];
  readonly #modified: Map<string, FileFact>;
  readonly #read: Map<string, FileFact>;
  readonly #commands = new Map<string, CommandFact>();
  readonly #errors: Map<string, ErrorFact>;
  readonly #decisions: Map<string, DecisionFact>;
  readonly #callsByTool: Map<string, number>;
  readonly #todos: TodoBook;
  readonly #waiting = new Map<ToolUseId, WaitingCall>();
  #lastReply: TextFact | undefined;
  #plan: TextFact | undefined;
  /** The last reply, which may span several entries. */
  #reply: string | undefined;
  #awaits: LooseEnds["awaits"];

  constructor({ line = "main", earlier = {} }: FactBookOptions = {}) {
    this.#line = line;
    this.#userMessages = [...(earlier.userMessages ?? [])];
    this.#modified = new Map(earlier.filesModified?.map((file) => [file.path, file]));
    this.#read = new Map(earlier.filesRead?.map((file) => [file.path, file]));
    const { looseEnds } = earlier;
    for (const [at, fact] of (earlier.commands ?? []).entries())
      this.#commands.set(looseEnds?.commandCalls[at] ?? `earlier ${at}`, fact);
    this.#errors = new Map(earlier.errors?.map((error) => [errorKey(error), error]));
    this.#decisions = new Map(earlier.decisions?.map((fact) => [decisionKey(fact), fact]));
    this.#callsByTool = new Map(earlier.tools?.map(({ name, calls }) => [name, calls]));
    this.#todos = new TodoBook(earlier.openTodos, looseEnds?.tasks);
    for (const call of looseEnds?.waiting ?? []) this.#waiting.set(call.id, call);
    this.#lastReply = earlier.lastReply;
    this.#plan = earlier.plan;
    this.#reply = looseEnds?.reply;
    this.#awaits = looseEnds?.awaits ?? (earlier.lastRequest?.isOpen === true ? "reply" : "nothing");
  }

  append(logged: Entry): void {
    const entry: Entry = this.#line === "side" && logged.sidechain ? { ...logged, sidechain: false } : logged;
    const { id } = entry;
    if (id === undefined || entry.sidechain) return;
    const text = userText(entry);
    if (text !== undefined) this.#noteUserMessage({ entry: id, text: text.toWellFormed(), at: entry.timestamp });
    if (entry.kind === "assistant" && !entry.synthetic) this.#noteReply(entry, id);
    if (entry.kind === "user")
      for (const block of entry.blocks) if (block.type === "tool_result") this.#noteResult(block, id);
  }

  /** A snapshot: lists of values that later appends do not change. */
  facts(): SessionFacts {
    const last = this.#userMessages.at(-1);
    const errors = [...this.#errors.values()];
    return {
      userMessages: [...this.#userMessages],
      filesModified: [...this.#modified.values()],
      filesRead: [...this.#read.values()],
      commands: [...this.#commands.values()],
      errors,
      openTodos: this.#todos.open,
      lastRequest: last === undefined ? undefined : { ...last, isOpen: this.#awaits !== "nothing" },
      lastError: findLastError(errors),
      lastReply: this.#lastReply,
      decisions: [...this.#decisions.values()],
      plan: this.#plan,
      tools: [...this.#callsByTool].map(([name, calls]) => ({ name, calls })),
      looseEnds: {
        waiting: [...this.#waiting.values()],
        commandCalls: [...this.#commands.keys()],
        tasks: this.#todos.tasks,
        ...(this.#reply === undefined ? {} : { reply: this.#reply }),
        awaits: this.#awaits,
      },
    };
  }

  #noteUserMessage(message: UserMessage): void {
    const question = this.#awaits === "nothing" ? questionIn(this.#lastReply?.text ?? "") : undefined;
    if (question !== undefined) this.#noteDecision({ question, answer: message.text, entry: message.entry });
    this.#userMessages.push(message);
    this.#awaits = "reply";
  }

  #noteReply({ messageId, blocks }: AssistantEntry, entry: EntryId): void {
    const reply = messageId ?? entry;
    const isSame = reply === this.#reply;
    this.#reply = reply;
    const text = replyText(blocks);
    if (text !== "") {
      const before = isSame && this.#lastReply !== undefined ? `${this.#lastReply.text}\n` : "";
      this.#lastReply = { text: clipStart(`${before}${text}`, limits.replyCharsMax), entry };
    }
    const calls = blocks.filter((block) => block.type === "tool_use");
    for (const call of calls) this.#noteCall(call, entry);
    if (calls.length > 0) this.#awaits = "results";
    else if (text !== "" && !(isSame && this.#awaits === "results")) this.#awaits = "nothing";
  }

  #noteCall(call: ToolUseBlock, entry: EntryId): void {
    const subject = parseSubject(call);
    const { id, name } = call;
    const input = subject.kind === "tool" ? call.input : {};
    putBounded(this.#waiting, { key: id, value: { id, name, input, entry, subject }, max: limits.waitingCallsMax });
    if (this.#callsByTool.has(call.name) || this.#callsByTool.size < limits.toolsMax)
      this.#callsByTool.set(call.name, (this.#callsByTool.get(call.name) ?? 0) + 1);
    if (subject.kind !== "command") return;
    const value: CommandFact = { command: subject.command, entry, outcome: { kind: "unanswered" } };
    putBounded(this.#commands, { key: call.id, value, max: limits.commandsMax });
  }

  #noteResult(result: ToolResultBlock, entry: EntryId): void {
    const waiting = this.#waiting.get(result.tool_use_id);
    if (waiting === undefined) return;
    this.#waiting.delete(result.tool_use_id);
    const { id, name, subject } = waiting;
    const end = readCallEnd(result, subject);
    const { outcome } = end;
    const command = this.#commands.get(id);
    if (command !== undefined) this.#commands.set(id, { ...command, outcome });
    this.#noteErrors(waiting, { ...end, entry });
    if (outcome.kind === "refused") {
      const answer = refusalText(clipText(resultText(result), limits.answerSearchChars));
      this.#noteDecision({ question: `${name} ${subjectName(subject)}`.trim(), answer, entry });
    }
    if (outcome.kind === "done") this.#noteSuccess(waiting, { result, entry });
  }

  /** Opens an error, or closes those with the same keys. */
  #noteErrors(
    { name, subject }: WaitingCall,
    { outcome, errorLines, passingLines, entry }: CallEnd & { readonly entry: EntryId },
  ): void {
    if (outcome.kind !== "failed" && outcome.kind !== "done") return;
    const keys = subjectKeys(subject, name);
    for (const key of keys) this.#closeErrors(key);
    const isOpen = outcome.kind === "failed" || errorLines.length > 0;
    const lines = isOpen ? errorLines : passingLines;
    if (!isOpen && lines.length === 0) return;
    const [key = name] = keys;
    const of = subject.kind === "command" ? subject.command : `${name} ${subjectName(subject)}`.trim();
    const fact = { text: lines.join("\n"), of, key, entry, isOpen };
    const value: ErrorFact = isOpen ? fact : { ...fact, isPassing: true };
    putBounded(this.#errors, { key: errorKey(value), value, max: limits.errorsMax });
  }

  #closeErrors(key: string): void {
    for (const [at, error] of this.#errors)
      if (error.isOpen && error.key === key) this.#errors.set(at, { ...error, isOpen: false });
  }

  #noteSuccess(call: WaitingCall, answer: { result: ToolResultBlock; entry: EntryId }): void {
    const { entry, subject } = call;
    if (subject.kind === "file") {
      const [into, max] =
        subject.act === "write" ? [this.#modified, limits.filesModifiedMax] : [this.#read, limits.filesReadMax];
      for (const path of subject.paths) putBounded(into, { key: path, value: { path, entry }, max });
    }
    if (subject.kind !== "tool") return;
    const resultLine = clipText(resultText(answer.result), limits.decisionCharsMax);
    this.#todos.note({ call, entry, result: resultLine });
    const plan = textField(call.input, "plan");
    if (plan !== undefined) this.#plan = { text: clipText(plan, limits.planCharsMax), entry };
    if (!asks.test(call.name)) return;
    const answerText = clipText(resultText(answer.result), limits.answerSearchChars);
    for (const decision of parseAnswers(answerText, call.name))
      this.#noteDecision({ ...decision, entry: answer.entry });
  }

  #noteDecision({ question, answer, entry }: DecisionFact): void {
    const { decisionCharsMax: max } = limits;
    const value = { question: clipText(question, max), answer: clipText(answer, max), entry };
    putBounded(this.#decisions, { key: decisionKey(value), value, max: limits.decisionsMax });
  }
}

/** One result may answer several questions. */
const decisionKey = ({ entry, question }: DecisionFact): string => `${entry} ${question}`;

/** The same failure is listed once. */
const errorKey = ({ key, text }: ErrorFact): string => `${key}\n${text}`;

/** Tools with which an agent asks the user. */
const asks = /ask_?user|user_?question|^question$/i;

interface BoundedPut<Key, Value> {
  readonly key: Key;
  readonly value: Value;
  readonly max: number;
}

/** Newest last; over the limit the oldest is removed. */
function putBounded<Key, Value>(into: Map<Key, Value>, { key, value, max }: BoundedPut<Key, Value>): void {
  into.delete(key);
  into.set(key, value);
  if (into.size <= max) return;
  for (const oldest of into.keys()) {
    into.delete(oldest);
    return;
  }
}

function subjectName(subject: CallSubject): string {
  switch (subject.kind) {
    case "file":
      return subject.paths[0] ?? "";
    case "command":
      return subject.command;
    case "tool":
      return "";
  }
}

/** The text of a reply, without its calls. */
export const replyText = (blocks: readonly Block[]): string =>
  blocks.flatMap((block) => (block.type === "text" && block.text.trim() !== "" ? [block.text.trim()] : [])).join("\n");

const clipStart = (text: string, charsMax: number): string =>
  text.length <= charsMax ? text : text.slice(-charsMax).toWellFormed();

/** The last question of a reply, if it is at or near the end. */
function questionIn(reply: string): string | undefined {
  const end = clipStart(reply, limits.questionChars);
  const mark = end.lastIndexOf("?");
  if (mark === -1) return undefined;
  const behind = end.slice(mark + 1);
  if (behind.includes("\n\n") || behind.length > limits.questionChars / 4) return undefined;
  const before = end.slice(0, mark);
  const from = Math.max(before.lastIndexOf("\n"), before.lastIndexOf(". "), before.lastIndexOf("? "));
  return end.slice(from + 1, mark + 1).trim();
}

/** The user's answer without what a client writes around it. */
type Answer = Pick<DecisionFact, "question" | "answer">;

/**
 * Each question of a call with its answer, as clients put them into the result; else the result as the answer to the
 * call.
 */
export function parseAnswers(result: string, tool: string): readonly Answer[] {
  const pairs = [...result.matchAll(/"([^"]+)"\s*=\s*"([^"]+)"/g)];
  if (pairs.length === 0) return [{ question: tool, answer: result }];
  return pairs.map(([, question = "", answer = ""]) => ({ question: question.trim(), answer: answer.trim() }));
}

/** What the user said when refusing a call: their own words, else the client's text. */
export function refusalText(result: string): string {
  const words = /\b(?:user|they|person) (?:said|says|wrote|provided|gave)\b[^:\n]{0,80}:\s*([^]+)/i.exec(result)?.[1];
  const userWords = words?.replace(/\n+Note: The user's next message[^]*$/, "").trim();
  return userWords === undefined || userWords === "" ? result : userWords;
}
