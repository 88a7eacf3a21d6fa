import type { TrustRequest, TrustItem } from "../../agent/pending-trust.ts";
import type { Theme } from "../theme.ts";
import type { Dialog, DialogDeps, DialogScript } from "./dialog.ts";
import { exactLines, type RenderLines, stackLines, textLines } from "./render-lines.ts";
import { type MenuChoice, menuBlock, pressInMenu } from "./menu.ts";
import { createDialog } from "./create-dialog.ts";
import type { PendingApproval } from "../../settings/defined-servers.ts";

/** `later`: not trusted now, and asked again next time. `never`: not asked again. */
export type TrustDecision = "allow" | "later" | "never";

/**
 * Asks whether the project's settings may do more than forbid. No answer means no trust. Lasting answers have to be selected
 * and taken by Enter, so that no letter that was meant for the editor decides.
 */
export const trustDialog = (ask: TrustRequest, deps: DialogDeps): Dialog<TrustDecision> =>
  createDialog(trustScript(ask, deps.theme), deps);

interface TrustState {
  readonly at: number;
}

function trustScript(ask: TrustRequest, theme: Theme): DialogScript<TrustState, TrustDecision> {
  const body = trustLines(ask, theme);
  const choices = trustOffers.map(({ choice }) => choice);
  return {
    first: { at: trustNotNowIndex },
    harmless: "later",
    guard: "first",
    stray: () => ({ at: trustNotNowIndex }),
    press: ({ at }, { key }) => {
      if (key === "escape" || key === "ctrl+c") return { kind: "answer", answer: "later" };
      const step = pressInMenu({ choices, at }, key);
      if (step.kind === "none") return { kind: "pass" };
      if (step.kind === "move") return { kind: "to", state: { at: step.at } };
      return { kind: "answer", answer: trustOffers[step.at]?.decision ?? "later" };
    },
    look: ({ at }) => ({
      id: "trust",
      title: "Do you trust this project?",
      body,
      choices: menuBlock({ choices, at }, theme),
      hints: ["enter takes ❯", "esc not now", "↑↓ move"],
    }),
  };
}

interface TrustOffer {
  readonly choice: MenuChoice;
  readonly decision: TrustDecision;
}

const trustOffers: readonly TrustOffer[] = [
  { choice: { label: "Yes, I trust it: from now on its settings count", takenBy: "enter" }, decision: "allow" },
  { choice: { label: "Not now", key: "n" }, decision: "later" },
  { choice: { label: "No, and don't ask again", takenBy: "enter" }, decision: "never" },
];
/** Selected at first. */
const trustNotNowIndex = 1;

/** Highlights what runs by itself. */
function trustLines({ root, items }: TrustRequest, theme: Theme): RenderLines {
  const itemLines = ({ does, text, from }: TrustItem): RenderLines => {
    const line = `${text}  [${from.startsWith(`${root}/`) ? from.slice(root.length + 1) : from}]`;
    return does === "runs" || does === "allows"
      ? exactLines(line, { theme, first: `! ${does.padEnd(8)}`, paint: theme.warning })
      : exactLines(line, { theme, first: `  ${does.padEnd(8)}` });
  };
  return stackLines([
    exactLines(root, { theme, first: "  folder  " }),
    textLines("Its files may have come with a clone. Trusted, they do this whenever you work here:", { theme }),
    ...items.map(itemLines),
    textLines("A yes counts for every project below this folder, too, and for what its files say later.", { theme }),
    textLines("Untrusted, they can only forbid. What you allow by answering questions counts either way.", { theme }),
  ]);
}

/** Servers that a project defines and that the user has not approved yet. */
export interface ApprovalPrompt {
  readonly servers: readonly PendingApproval[];
  /** `kept`: the caller can store a no, so that it is not asked again. */
  readonly refusals: "kept" | "forgotten";
}

/** `later`: not started, and asked again next time. `never`: not started, and not asked again. */
export type ServerDecision = "allow" | "later" | "never";

/**
 * The answers are in the order of the servers. No answer allows nothing. A lasting yes or no has to be selected and taken by
 * Enter, so that no letter that was meant for the editor decides about a program.
 */
export const approveDialog = (ask: ApprovalPrompt, deps: DialogDeps): Dialog<readonly ServerDecision[]> =>
  createDialog(approvalScript(ask, deps.theme), deps);

interface ApprovalState {
  /** Decisions about the servers before the current one. */
  readonly decided: readonly ServerDecision[];
  readonly at: number;
}

function approvalScript(
  { servers, refusals }: ApprovalPrompt,
  theme: Theme,
): DialogScript<ApprovalState, readonly ServerDecision[]> {
  const bodies = servers.map((server) => serverLines(server, theme));
  const offers = refusals === "kept" ? [...serverOffers, neverOffer] : serverOffers;
  const choices = offers.map(({ choice }) => choice);
  const title = servers.length === 1 ? "This project defines an MCP server" : "This project defines MCP servers";
  const withLater = (decided: readonly ServerDecision[]): readonly ServerDecision[] =>
    servers.map((_, index) => decided[index] ?? "later");
  return {
    first: { decided: [], at: serverNotNowIndex },
    harmless: withLater([]),
    guard: "each",
    stray: (state) => ({ ...state, at: serverNotNowIndex }),
    press: (state, { key }) => {
      if (key === "escape" || key === "ctrl+c") return { kind: "answer", answer: withLater(state.decided) };
      const step = pressInMenu({ choices, at: state.at }, key);
      if (step.kind === "none") return { kind: "pass" };
      if (step.kind === "move") return { kind: "to", state: { ...state, at: step.at } };
      const decided = [...state.decided, offers[step.at]?.decision ?? "later"];
      if (decided.length >= servers.length) return { kind: "answer", answer: withLater(decided) };
      return { kind: "to", state: { decided, at: serverNotNowIndex } };
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

interface ServerOffer {
  readonly choice: MenuChoice;
  readonly decision: ServerDecision;
}

const serverOffers: readonly ServerOffer[] = [
  { choice: { label: "Allow it, as long as its definition stays as it is", takenBy: "enter" }, decision: "allow" },
  { choice: { label: "Not now", key: "n" }, decision: "later" },
];
const neverOffer: ServerOffer = {
  choice: { label: "No, and don't ask about it again", takenBy: "enter" },
  decision: "never",
};
/** Selected at first: a stray key must not run a program from a repository. */
const serverNotNowIndex = 1;

/** The definition as in the project's file. Highlights what it takes from the user's environment, and what can change the code that runs. */
function serverLines({ name, from, runs, given, takes }: PendingApproval, theme: Theme): RenderLines {
  const item = (word: string, text: string): RenderLines => exactLines(text, { theme, first: `  ${word.padEnd(11)}` });
  const warning = (word: string, text: string): RenderLines =>
    exactLines(text, { theme, first: `! ${word.padEnd(11)}`, paint: theme.warning });
  const givenLines = (word: string): readonly RenderLines[] =>
    given.map(({ name: key, written, kind }) =>
      kind === "loader"
        ? warning(word, `${key}=${written} (may make programs run other code)`)
        : item(word, `${key}=${written}`),
    );
  const taken = takes.map((variable) => warning("takes", `${variable} from your environment`));
  const effect =
    runs.kind === "program"
      ? "Allowed, this program runs with your rights whenever the project is opened:"
      : "Allowed, this address is asked for tools and is sent what the agent gives them:";
  const parts =
    runs.kind === "program"
      ? [item("runs", formatCommandLine(runs.command, runs.args)), ...givenLines("variable")]
      : [item("address", runs.url), ...givenLines("header")];
  return stackLines([textLines(effect, { theme }), item("name", name), ...parts, ...taken, item("defined in", from)]);
}

/** Quotes arguments with special characters. */
const formatCommandLine = (command: string, args: readonly string[]): string =>
  [command, ...args].map((part) => (/^[\w@%+=:,./-]+$/.test(part) ? part : JSON.stringify(part))).join(" ");
