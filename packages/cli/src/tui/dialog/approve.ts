import type { PendingApproval } from "../../settings/tool-servers.ts";
import type { Theme } from "../theme/theme.ts";
import type { Dialog, DialogDeps } from "./dialog.ts";
import { exactly, type Lines, stacked, words } from "./lines.ts";
import { type MenuChoice, menuBlock, pressInMenu } from "./menu.ts";
import type { Script } from "./script.ts";
import { dialogOf } from "./scripted.ts";

/** Servers that a project defines and that nobody has approved of yet. */
export interface ApproveAsk {
  readonly servers: readonly PendingApproval[];
  /** `kept`: who asks can keep a no, so that it is not asked again. */
  readonly refusals: "kept" | "forgotten";
}

/** `later`: not started, and asked about again. `never`: not started, and not asked about again. */
export type ServerDecision = "allow" | "later" | "never";

/**
 * In the order of the servers. Who says nothing allows nothing. What is kept, a yes as much as a no for good, is gone to and
 * taken by Enter: no letter of a sentence that was meant for the editor decides about a program.
 */
export const approveDialog = (ask: ApproveAsk, deps: DialogDeps): Dialog<readonly ServerDecision[]> =>
  dialogOf(approveScript(ask, deps.theme), deps);

export interface ApproveState {
  /** Of the servers before the one that is shown. */
  readonly decided: readonly ServerDecision[];
  readonly at: number;
}

function approveScript(
  { servers, refusals }: ApproveAsk,
  theme: Theme,
): Script<ApproveState, readonly ServerDecision[]> {
  const bodies = servers.map((server) => serverLines(server, theme));
  const offers = refusals === "kept" ? [...always, forGood] : always;
  const choices = offers.map(({ choice }) => choice);
  const title = servers.length === 1 ? "This project defines an MCP server" : "This project defines MCP servers";
  const withLater = (decided: readonly ServerDecision[]): readonly ServerDecision[] =>
    servers.map((_, index) => decided[index] ?? "later");
  return {
    first: { decided: [], at: notNow },
    harmless: withLater([]),
    guard: "each",
    stray: (state) => ({ ...state, at: notNow }),
    press: (state, { key }) => {
      if (key === "escape" || key === "ctrl+c") return { kind: "answer", answer: withLater(state.decided) };
      const step = pressInMenu({ choices, at: state.at }, key);
      if (step.kind === "none") return { kind: "pass" };
      if (step.kind === "move") return { kind: "to", state: { ...state, at: step.at } };
      const decided = [...state.decided, offers[step.at]?.decision ?? "later"];
      if (decided.length >= servers.length) return { kind: "answer", answer: withLater(decided) };
      return { kind: "to", state: { decided, at: notNow } };
    },
    look: ({ decided, at }) => {
      const place = servers.length > 1 ? ` (${decided.length + 1} of ${servers.length})` : "";
      const body = bodies[decided.length];
      return {
        id: `server ${decided.length}`,
        title: `${title}${place}`,
        ...(body === undefined ? {} : { body }),
        choices: menuBlock({ choices, at }, theme),
        hints: ["enter takes ❯", servers.length > 1 ? "esc not now, for all that are left" : "esc not now", "↑↓ move"],
      };
    },
  };
}

interface Offer {
  readonly choice: MenuChoice;
  readonly decision: ServerDecision;
}

const always: readonly Offer[] = [
  { choice: { label: "Allow it, as long as its definition stays as it is", takenBy: "enter" }, decision: "allow" },
  { choice: { label: "Not now", key: "n" }, decision: "later" },
];
const forGood: Offer = { choice: { label: "No, and don't ask about it again", takenBy: "enter" }, decision: "never" };
/** Where Enter is at first: a program of a repository is not run by a stray key. */
const notNow = 1;

/** All as the project's file has it; what a person would give of their own, and what changes the code that runs, stands out. */
function serverLines({ name, from, runs, given, takes }: PendingApproval, theme: Theme): Lines {
  const item = (word: string, text: string): Lines => exactly(text, { theme, first: `  ${word.padEnd(11)}` });
  const warned = (word: string, text: string): Lines =>
    exactly(text, { theme, first: `! ${word.padEnd(11)}`, paint: theme.warning });
  const named = (word: string): readonly Lines[] =>
    given.map(({ name: of, written, kind }) =>
      kind === "loader"
        ? warned(word, `${of}=${written} (may make programs run other code)`)
        : item(word, `${of}=${written}`),
    );
  const taken = takes.map((variable) => warned("takes", `${variable} from your environment`));
  const does =
    runs.kind === "program"
      ? "Allowed, this program runs with your rights whenever the project is opened:"
      : "Allowed, this address is asked for tools and is sent what the agent gives them:";
  const parts =
    runs.kind === "program"
      ? [item("runs", commandLine(runs.command, runs.args)), ...named("variable")]
      : [item("address", runs.url), ...named("header")];
  return stacked([words(does, { theme }), item("name", name), ...parts, ...taken, item("defined in", from)]);
}

/** Each argument as one, whatever stands in it. */
const commandLine = (command: string, args: readonly string[]): string =>
  [command, ...args].map((part) => (/^[\w@%+=:,./-]+$/.test(part) ? part : JSON.stringify(part))).join(" ");
