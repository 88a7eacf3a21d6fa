import { resolve } from "node:path";
import { figure } from "palimpsest/internal/schema/figure";
import { plural } from "palimpsest/internal/schema/plural";
import type { PermissionAsk } from "palimpsest/internal/ports/person";
import type { Act, ShellAct } from "palimpsest/internal/ports/tools";
import { type Json, text as textOf } from "palimpsest/internal/schema/json";
import {
  backgroundWords,
  changeOf,
  connectingTo,
  isInBackground,
  serverCallOf,
  strengthWords,
  type TextChange,
} from "../text/call-words.ts";
import { shortPath, shortPaths } from "../text/short-path.ts";
import { changeLines } from "./change-lines.ts";
import type { DialogDeps } from "./dialog.ts";
import { shortInputCharsMax } from "./limits.ts";
import { exactly, type Lines, stacked, titleLine, words } from "./lines.ts";

/** What is asked, by what would happen; by the tool's own name where that does not tell. */
export function permissionTitle({ tool, acts, input }: PermissionAsk): string {
  const change = changeOf(tool, input);
  if (change !== undefined) return change.before === undefined ? "Write this file?" : "Change this file?";
  const kinds = new Set(acts.map(({ kind }) => kind));
  if (acts.some((act) => act.kind === "shell" && act.outsideReason !== undefined))
    return "Run this command outside the sandbox?";
  if (kinds.has("shell")) return "Run this command?";
  if (connectingTo({ tool, acts }) !== undefined) return "Let this command connect?";
  if (kinds.has("fetch")) return "Ask this address?";
  const called = serverCallOf(tool, input);
  if (called !== undefined) return `Call ${titleLine(called.server)} · ${titleLine(called.tool)}?`;
  if (kinds.has("mcp")) return "Call this tool of a server?";
  return `Let the agent use ${titleLine(tool)}?`;
}

/** What would happen, then why it is asked. */
export function permissionLines(ask: PermissionAsk, look: ActLook): Lines {
  const { theme } = look;
  const change = changeOf(ask.tool, ask.input);
  const main = change === undefined ? actsLines(ask, look) : changedLines(ask, { change, look });
  return stacked([...main, () => [""], words(shortPaths(ask.reason, look.cwd), { theme, paint: theme.dim })]);
}

export type ActLook = Pick<DialogDeps, "theme" | "cwd">;

interface Changed {
  readonly change: TextChange;
  readonly look: ActLook;
}

/** The path that is written may be another than the one that was given: a link leads there. */
function changedLines({ acts, input }: PermissionAsk, { change, look }: Changed): readonly Lines[] {
  const { theme, cwd } = look;
  const others = acts.filter((act) => act.kind !== "write" || act.path !== resolve(cwd, change.path));
  const everywhere = input["replace_all"] === true ? [words("  wherever it occurs in the file", { theme })] : [];
  return [
    exactly(shortPath(change.path, cwd), { theme, first: "  ", paint: theme.strong }),
    ...everywhere,
    ...listed(others, look),
    changeLines(change, theme),
  ];
}

function actsLines({ tool, input, acts }: PermissionAsk, look: ActLook): readonly Lines[] {
  const { theme } = look;
  const shells = acts.filter((act) => act.kind === "shell");
  const others = acts.filter((act) => act.kind !== "shell");
  const isTold = acts.length > 0 && acts.every(({ kind }) => kind !== "mcp" && kind !== "state");
  const hosts = connectingTo({ tool, acts });
  if (hosts !== undefined)
    return [commandLine(textOf(input, "command") ?? "", look), ...hosts.map((host) => hostLine(host, look))];
  const called = serverCallOf(tool, input);
  if (called !== undefined) return [exactly(jsonWords(called.input), { theme, first: "  " }), ...listed(acts, look)];
  const given = isTold ? [] : [exactly(jsonWords(input), { theme, first: "  " })];
  return [
    ...shells.map(({ command }) => commandLine(command, look)),
    ...shells.flatMap((act) => heldLines(act, look)),
    ...(isInBackground(tool, input) ? [words(`  ${backgroundWords}`, { theme, paint: theme.warning })] : []),
    ...listed(others, look),
    ...(acts.length === 0 ? [words(`  ${titleLine(tool)}, with`, { theme })] : []),
    ...given,
  ];
}

/** What will hold it, and where nothing is to hold it the reason that the model gives. */
function heldLines(act: ShellAct, { theme }: ActLook): readonly Lines[] {
  const held = strengthWords(act);
  if (held === "") return [];
  const paint = act.outsideReason !== undefined || act.strength === "none" ? theme.warning : theme.dim;
  return [
    words(`  ${held}`, { theme, paint }),
    ...(act.outsideReason === undefined
      ? []
      : [exactly(act.outsideReason, { theme, first: "  the agent's reason: ", paint: theme.warning })]),
  ];
}

const commandLine = (command: string, { theme }: ActLook): Lines =>
  exactly(command, { theme, first: "  $ ", paint: theme.code });
const hostLine = (host: string, { theme }: ActLook): Lines =>
  exactly(host, { theme, first: "  connects to ", paint: theme.strong });

/** In a line where that is short, as somebody would write it by hand: `{a: 2, b: 3}`. */
function jsonWords(given: Json): string {
  const pretty = JSON.stringify(given, undefined, 2);
  if (pretty.length > shortInputCharsMax) return pretty;
  return pretty
    .replaceAll(/^ *"([A-Za-z_$][\w$]*)": /gm, "$1: ")
    .replaceAll(/([{[])\n *|\n *([}\]])/g, "$1$2")
    .replaceAll(/,\n */g, ", ");
}

/** A command may name thousands of files: the first ones, and how many more. */
function listed(acts: readonly Act[], look: ActLook): readonly Lines[] {
  const { theme } = look;
  const more = acts.length - actsShownMax;
  return [
    ...acts.slice(0, actsShownMax).map((act) => actLines(act, look)),
    ...(more > 0 ? [words(`! and ${figure(more)} ${plural(more, "other")}`, { theme, paint: theme.warning })] : []),
  ];
}

const actsShownMax = 200;

function actLines(act: Act, { theme, cwd }: ActLook): Lines {
  const line = (word: string, text: string): Lines => exactly(text, { theme, first: `  ${word} ` });
  switch (act.kind) {
    case "read":
      return line("reads", shortPath(act.path, cwd));
    case "write":
      return line(act.byShell?.reach === "below" ? "changes all in" : "changes", shortPath(act.path, cwd));
    case "shell":
      return line("runs", act.command);
    case "fetch":
      return stacked([line("asks", act.url), line("of", act.host)]);
    case "mcp":
      return line("calls", `${act.tool} of the server ${act.server}`);
    case "state":
      return line("changes", act.what);
  }
}
