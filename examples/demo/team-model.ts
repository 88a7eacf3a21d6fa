import { setTimeout as wait } from "node:timers/promises";
import type { MoveBlock, Responder, RespondInput } from "@palimpsest/simulator";
import { call, say, type TeamWork, works } from "./team-script.ts";

export const team = "weir";
export const mates = ["ann", "ben", "cid"] as const;
/** The one that is killed in the middle of its first task. */
export const victim = "ben";

/** So that one can read along. */
const replyMs = 250;
/** The first claims are made together, however long the processes take to start. */
const togetherMs = 15_000;

/** What the models of the team were told and did, as it happens. */
export interface TeamEvents {
  readonly tell: (who: string, text: string) => void;
  /** The victim has read its file and does not get to change it. */
  readonly onHeld: (work: TeamWork) => void;
  /** The teammates were asked to stop: every task is done. `tasks`: the list, as the leader was shown it. */
  readonly onDone: (tasks: string) => void;
}

interface Mind {
  /** Its last calls, in order. */
  asked: readonly MoveBlock[];
  /** The task that it has. */
  task: { readonly id: string; readonly work: TeamWork; step: number } | undefined;
}

/** The models of all members. Each knows what its requests say, as a real one does; only the pace is set from outside. */
export function createTeamModel(events: TeamEvents): Responder {
  const mindByName = new Map<string, Mind>();
  const ready = new Set<string>();
  const play = { ready, isShut: false, mindByName };
  return {
    name: "team",
    respond: async ({ request }) => {
      const who = new RegExp(`You are (\\w+)@${team}, a teammate`).exec(JSON.stringify(request))?.[1] ?? "leader";
      const mind = mindByName.get(who) ?? { asked: [], task: undefined };
      mindByName.set(who, mind);
      const seen = readNewest(request.messages);
      const subjects = readSubjects(textsIn(request.messages).join("\n"));
      tellSeen(events, { who, mind, seen, subjects });
      const isListed = mind.asked.includes(list);
      mind.asked = [];
      await wait(replyMs);
      const blocks =
        who === "leader" ? lead(seen, play, events) : await work(seen, { who, mind, play, events, isListed });
      mind.asked = blocks.filter(({ type }) => type === "tool_use");
      for (const block of blocks) if (block.type === "text") events.tell(who, `"${block.text}"`);
      return { move: { kind: "say", blocks } };
    },
  };
}

interface Play {
  readonly ready: Set<string>;
  isShut: boolean;
  readonly mindByName: ReadonlyMap<string, Mind>;
}

function lead({ text }: Seen, play: Play, { onDone }: TeamEvents): readonly MoveBlock[] {
  if (text.includes("Share the work"))
    return [
      ...works.map(({ subject }) => call("task", { do: "create", text: subject })),
      ...mates.map((name) => call("team", { do: "start", name, message: "Do the open tasks, one after the other." })),
    ];
  if (text.includes("Its process ended"))
    return [call("send_message", { to: "*", message: `${victim} is gone; the task that it had is open again.` })];
  const states = [...text.matchAll(/task-[0-9a-f]{8} \[(?<state>\w+)/g)].map((one) => one.groups?.["state"]);
  const isListed = states.length === works.length && !text.includes("it tells you when it is idle");
  if (isListed && states.every((state) => state === "done") && !play.isShut) {
    play.isShut = true;
    onDone(text);
    return mates.filter((name) => name !== victim).map((name) => call("team", { do: "shutdown", name }));
  }
  if (isListed) return [say(`${states.filter((state) => state === "done").length} of ${works.length} tasks are done.`)];
  if (text.includes("it is idle (") && !play.isShut) return [list];
  if (text.includes("it tells you when it is idle")) return [say("They work. I wait.")];
  return [say("Noted.")];
}

interface WorkInput {
  readonly who: string;
  readonly mind: Mind;
  readonly play: Play;
  readonly events: TeamEvents;
  /** The newest result is the list of tasks. */
  readonly isListed: boolean;
}

async function work({ text }: Seen, { who, mind, play, events, isListed }: WorkInput): Promise<readonly MoveBlock[]> {
  const claimed = new RegExp(`(task-[0-9a-f]{8}) \\[claimed, ${who}\\] (.+)`).exec(text);
  const known = works.find(({ subject }) => subject === claimed?.[2]);
  if (mind.task === undefined && claimed?.[1] !== undefined && known !== undefined)
    mind.task = { id: claimed[1], work: known, step: 0 };
  if (mind.task !== undefined) return await goOn(mind, { who, events });
  const open = /(task-[0-9a-f]{8}) \[open\]/.exec(text)?.[1];
  if (open === undefined) return [isListed ? say("Nothing is left.") : list];
  if (!play.ready.has(who)) await meet(play.ready, who);
  return [call("task", { do: "claim", id: open })];
}

const list = call("task", { do: "list" });

/** Reads, changes, completes. */
async function goOn(mind: Mind, { who, events }: Pick<WorkInput, "who" | "events">): Promise<readonly MoveBlock[]> {
  const { task } = mind;
  if (task === undefined) return [list];
  task.step += 1;
  if (task.step === 1) return [call("read", { file_path: task.work.reads })];
  if (task.step === 2) {
    if (who !== victim) return [task.work.change];
    events.onHeld(task.work);
    // Nobody answers any more: the process ends first.
    await wait(60_000, undefined, { ref: false });
    return [task.work.change];
  }
  mind.task = undefined;
  return [call("task", { do: "complete", id: task.id, text: `${task.work.writes} is written.` })];
}

async function meet(ready: Set<string>, who: string): Promise<void> {
  ready.add(who);
  for (let waitedMs = 0; ready.size < mates.length && waitedMs < togetherMs; waitedMs += 50) await wait(50);
}

/** What has come since the last reply. */
interface Seen {
  readonly results: readonly string[];
  readonly text: string;
}

function readNewest(messages: RespondInput["request"]["messages"]): Seen {
  const last = messages.findLastIndex(({ role }) => role === "assistant");
  const newest = messages
    .slice(last + 1)
    .flatMap(({ content }): readonly unknown[] => (typeof content === "string" ? [content] : content));
  return {
    results: newest.filter((block) => hasType(block, "tool_result")).map((block) => textsIn(block).join("\n")),
    text: newest.flatMap(textsIn).join("\n"),
  };
}

const hasType = (block: unknown, type: string): boolean =>
  typeof block === "object" && block !== null && "type" in block && block.type === type;

/** The texts of messages, blocks and results, however they are nested. */
function textsIn(value: unknown): readonly string[] {
  if (typeof value === "string") return [value];
  if (Array.isArray(value)) return value.flatMap(textsIn);
  if (typeof value !== "object" || value === null) return [];
  return [...("text" in value ? textsIn(value.text) : []), ...("content" in value ? textsIn(value.content) : [])];
}

const readSubjects = (text: string): ReadonlyMap<string, string> =>
  new Map([...text.matchAll(/(task-[0-9a-f]{8}) \[[^\]]*\] (.+)/g)].map((one) => [one[1] ?? "", one[2] ?? ""]));

interface ToldInput {
  readonly who: string;
  readonly mind: Mind;
  readonly seen: Seen;
  readonly subjects: ReadonlyMap<string, string>;
}

function tellSeen({ tell }: TeamEvents, { who, mind, seen, subjects }: ToldInput): void {
  for (const [at, asked] of mind.asked.entries()) {
    const line = describeCall(asked, { result: seen.results[at] ?? "", who, subjects });
    if (line !== undefined) tell(who, line);
  }
  for (const one of seen.text.matchAll(messageForm)) {
    const { from = "", says = "", text = "" } = one.groups ?? {};
    const [, short = ""] = wordsFor.find(([form]) => form.test(says)) ?? [];
    tell(who, `◂ ${from}: ${short}${text.replaceAll(/^> /gm, "").trim()}`);
  }
}

/** As a model is shown a message: who says what, a warning, and the words of the sender. */
const messageForm =
  /From "(?<from>\w+)@\w+", to (?:you|all teammates): (?<says>[^\n]*)\n[^\n]*\n?(?<text>(?:> [^\n]*\n?)*)/g;

const wordsFor = [
  [/^it asks you to stop/, "please stop"],
  [/^it stops/, "I stop"],
  [/^it is idle \(available\)/, "I am idle. "],
] as const;

function describeCall(
  block: MoveBlock,
  { result, who, subjects }: { result: string; who: string; subjects: ReadonlyMap<string, string> },
): string | undefined {
  if (block.type !== "tool_use") return undefined;
  const field = (key: string): string => {
    const value = block.input[key];
    return typeof value === "string" ? value : "";
  };
  const subject = subjects.get(field("id")) ?? field("id");
  const what = `${block.name} ${field("do")}`.trim();
  switch (what) {
    case "read":
      return `● reads ${field("file_path")}`;
    case "edit":
    case "write":
      return `● ${block.name}s ${field("file_path")}`;
    case "task create":
      return `● creates the task "${field("text")}"`;
    case "task claim": {
      const owner = /\[claimed, (?<owner>\w+)\]/.exec(result)?.groups?.["owner"];
      return owner === who ? `✓ has claimed "${subject}"` : `✗ is refused "${subject}": ${owner ?? "somebody"} has it`;
    }
    case "task complete":
      return `✓ has done "${subject}"`;
    case "team start":
      return `● starts ${field("name")}, a process`;
    case "team shutdown":
      return `● asks ${field("name")} to stop`;
    case "send_message":
      return `▸ to all: ${field("message")}`;
    default:
      return undefined;
  }
}
