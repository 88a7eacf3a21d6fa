import type { ShellWord } from "../shell-word.ts";
import { gitStarter } from "./git-starter.ts";
import {
  isInterpreter,
  analyzeCode,
  awkStarter,
  editorStarter,
  findStarter,
  makeStarter,
  sedStarter,
  shellStarter,
  sourceStarter,
  sshStarter,
  tarStarter,
} from "./languages.ts";
import {
  type OptionGrammar,
  parseOptions,
  type StarterInput,
  joinToLine,
  type StartedPrograms,
  type StarterRow,
  startsAnything,
  startsCommand,
  startsNothing,
  startsScripts,
} from "./starter-row.ts";

/** What programs and builtins start, by their grammar. Undefined: not in the table, so it may start programs too. */
export function analyzeStarter(program: string, input: StarterInput): StartedPrograms | undefined {
  return isInterpreter(program) ? analyzeCode(program, input) : rowByProgram.get(program)?.(input.args);
}

/** They start a program with words from their input. */
export const feeders: ReadonlySet<string> = new Set(["parallel", "xargs"]);

interface PrefixGrammar extends OptionGrammar {
  /** `NAME=value` may precede the program. */
  readonly assigns?: "before";
  /** What the words after its options are: a command, or a shell script. */
  readonly rest?: "command" | "script";
  /** Without a program it starts a shell that reads the input. */
  readonly alone?: "shell";
}

/** `nice -n 5 make`: options, then a program and its arguments. */
const prefixRow =
  ({ assigns, rest: restKind = "command", alone, ...grammar }: PrefixGrammar): StarterRow =>
  (args) => {
    const { operands, scripts, rest, sight } = parseOptions(args, grammar);
    const from = assigns === undefined ? 0 : rest.findIndex(({ value }) => !/^\w+=/.test(value));
    const words = from === -1 ? [] : rest.slice(from);
    const isShell = alone === "shell" && words.length === 0 && scripts.length === 0;
    // A word whose expansion is unknown may be another option.
    const isOpen = operands.some(({ kind }) => kind !== "plain");
    return {
      // Some programs run a line of several words as a command.
      commands: words.length === 0 ? [] : [words],
      scripts: restKind === "script" && words.length > 0 ? [...scripts, joinToLine(words)] : scripts,
      sight: sight === "unclear" || isShell || isOpen ? "unclear" : "clear",
    };
  };

const plainPrefixRow = prefixRow({});
const architectureGrammar: OptionGrammar = {
  flags: "vBFILRSTXZ3",
  longFlags:
    "verbose addr-no-randomize fdpic-funcptrs mmap-page-zero addr-compat-layout read-implies-exec 32bit short-inode " +
    "whole-seconds sticky-timeouts 3gb 4gb uname-2.6",
};

/** The name of an architecture may precede its options. */
const setarch: StarterRow = (args) => {
  const { rest, sight } = parseOptions(args, architectureGrammar);
  const afterName = parseOptions(rest.slice(1), architectureGrammar);
  const isOpen = rest[0]?.kind !== "plain" || sight === "unclear" || afterName.rest.length === 0;
  return { ...startsNothing, commands: [rest, afterName.rest], sight: isOpen ? "unclear" : "clear" };
};

/** `env -S` splits a line by its own rules. */
const env: StarterRow = (args) => {
  const started = prefixRow({
    flags: "i0v",
    values: "uCa",
    scripts: "S",
    longFlags: "ignore-environment null debug block-signal default-signal ignore-signal list-signal-handling",
    longValues: "unset chdir argv0",
    longScripts: "split-string",
    assigns: "before",
  })(args.map((arg) => (arg.value === "-" ? { ...arg, value: "-i" } : arg)));
  if (started.scripts.length === 0) return started;
  const hasOwnSyntax = started.scripts.some(({ value }) => /[\\$#]/.test(value));
  // Further words are arguments of the line's program.
  const line = joinToLine([...started.scripts, ...started.commands.flat()]);
  return { ...started, scripts: [...started.scripts, line], sight: hasOwnSyntax ? "unclear" : started.sight };
};

/** The input is appended to the command's words, or replaces a placeholder in them. */
const xargs: StarterRow = (args) => {
  const { rest, sight } = parseOptions(args, {
    flags: "0oprtxeil",
    values: "adEILnPsR",
    longFlags: "null open-tty interactive no-run-if-empty verbose exit show-limits eof replace max-lines",
    longValues: "arg-file delimiter max-args max-chars max-procs process-slot-var",
  });
  const placeholder = findPlaceholder(args);
  const words = rest.map((word) => (word.value.includes(placeholder) ? { ...unseenWord, value: word.value } : word));
  return { ...startsNothing, commands: words.length === 0 ? [] : [[...words, unseenWord]], sight };
};

const unseenWord: ShellWord = { kind: "dynamic", value: "" };

function findPlaceholder(args: readonly ShellWord[]): string {
  const at = args.findIndex(({ value }) => value.startsWith("-I"));
  const joined = args[at]?.value.slice(2) ?? "";
  return (at === -1 ? "" : joined || (args[at + 1]?.value ?? "")) || "{}";
}

/** Words after `:::` are inserted into the line, or are lines themselves. */
const parallel: StarterRow = (args) => {
  const at = args.findIndex(({ value }) => value.startsWith(":::"));
  const [before, values] = at === -1 ? [args, []] : [args.slice(0, at), args.slice(at + 1)];
  return { commands: before.map((_, index) => before.slice(index)), scripts: values, sight: "unclear" };
};

/** The first word is a script, unless only signals are named. */
const trap: StarterRow = (args) =>
  startsScripts(args.filter(({ value }) => !/^-|^\d+$|^[A-Z][A-Z\d]*$/.test(value)).slice(0, 1));

const alias: StarterRow = (args) =>
  startsScripts(
    args.flatMap((arg): readonly ShellWord[] => {
      const [, text] = arg.value.split(/=(.*)/s, 2);
      return text === undefined ? [] : [{ kind: arg.kind, value: text }];
    }),
  );

/** Builtins with an option whose value is a script that runs later. */
const lineOption =
  (form: RegExp): StarterRow =>
  (args) => {
    const at = args.findIndex(({ value }) => form.test(value));
    return at === -1 ? startsNothing : { ...startsScripts(args.slice(at, at + 2)), sight: "unclear" };
  };

const rows = (programs: string, row: StarterRow): readonly (readonly [string, StarterRow])[] =>
  programs.split(" ").map((program) => [program, row] as const);

/** Words after the user are arguments of a shell or, with `-u`, a program. */
const su: StarterRow = (args) => {
  const { operands, scripts, rest, given, sight } = parseOptions(
    args.filter(({ value }) => value !== "-"),
    {
      flags: "lmpPfh",
      values: "gGsuwT",
      scripts: "c",
      longFlags: "login preserve-environment pty fast",
      longValues: "group supp-group shell user whitelist-environment",
      longScripts: "command session-command",
      operands: 1,
    },
  );
  const isProgram = given.has("u") || given.has("user");
  const inner = isProgram ? startsCommand([...operands, ...rest]) : shellStarter(rest);
  const isUnclear = sight === "unclear" || (scripts.length === 0 && inner.sight === "unclear");
  return { commands: inner.commands, scripts: [...scripts, ...inner.scripts], sight: isUnclear ? "unclear" : "clear" };
};

const rowByProgram: ReadonlyMap<string, StarterRow> = new Map<string, StarterRow>([
  ...rows("builtin nohup catchsegv fakeroot dbus-run-session", plainPrefixRow),
  ...rows("i386 linux32 linux64 x86_64", prefixRow({ ...architectureGrammar, alone: "shell" })),
  ...rows("ash bash dash fish ksh mksh rbash sh zsh", shellStarter),
  ...rows("awk gawk mawk nawk original-awk", awkStarter),
  ...rows("ed emacs ex nano nvim pico rview rvim vi view vim vimdiff", editorStarter),
  ...rows("gmake make", makeStarter),
  ...rows("at batch", () => startsAnything),
  ...rows(". source", sourceStarter),
  ...rows("mapfile readarray", lineOption(/^-[^-]*C/)),
  ...rows("compgen complete", lineOption(/^-[^-]*[CW]/)),
  ...rows("bind", lineOption(/^-[^-]*x/)),
  ...rows("enable", lineOption(/^-[^-]*f/)),
  ...rows("fc", () => startsAnything),
  ...rows("busybox toybox", prefixRow({ longFlags: "help list install" })),
  ["alias", alias],
  ["chroot", prefixRow({ longValues: "groups userspec", longFlags: "skip-chdir", operands: 1, alone: "shell" })],
  [
    "chrt",
    prefixRow({
      flags: "abdefiomprRvV",
      values: "TPD",
      longFlags: "batch deadline fifo idle other rr reset-on-fork all-tasks max pid verbose",
      longValues: "sched-runtime sched-period sched-deadline",
      operands: 1,
    }),
  ],
  ["command", prefixRow({ flags: "pvV" })],
  ["doas", prefixRow({ flags: "Lns", values: "Cau", alone: "shell" })],
  ["env", env],
  ["eval", (args) => (args.length === 0 ? startsNothing : { ...startsCommand(args), scripts: [joinToLine(args)] })],
  ["exec", prefixRow({ flags: "cl", values: "a" })],
  ["find", findStarter],
  [
    "flock",
    prefixRow({
      flags: "sxenuoFv",
      values: "wE",
      scripts: "c",
      longFlags: "shared exclusive unlock nonblock nb close no-fork verbose",
      longValues: "wait timeout conflict-exit-code",
      longScripts: "command",
      operands: 1,
    }),
  ],
  ["git", gitStarter],
  [
    "ionice",
    prefixRow({ flags: "t#", values: "cnpPu", longFlags: "ignore", longValues: "class classdata pid pgid uid" }),
  ],
  [
    "man",
    prefixRow({
      flags: "adDfkKlwWzIiMtuV7",
      values: "CRLmMsSeErpT",
      scripts: "PH",
      longScripts: "pager html",
      longFlags: "all debug default",
      rest: "script",
      operands: 99,
    }),
  ],
  ["nice", prefixRow({ flags: "#", values: "n", longValues: "adjustment" })],
  [
    "nsenter",
    prefixRow({
      flags: "amuinpUCTrwFZe",
      values: "tSG",
      longFlags: "all mount uts ipc net pid cgroup user time preserve-credentials root wd no-fork follow-context env",
      longValues: "target setuid setgid",
      alone: "shell",
    }),
  ],
  ["parallel", parallel],
  [
    "prlimit",
    prefixRow({
      values: "po",
      flags: "cdefilmnqrstuvxy#",
      longFlags:
        "core data nice fsize sigpending memlock rss nofile msgqueue rtprio stack cpu nproc as locks rttime noheadings raw verbose",
      longValues: "pid output",
    }),
  ],
  ["rsync", lineOption(/^-[^-]*e|^--rsh|^--rsync-path/)],
  ["scp", lineOption(/^-[^-]*[SoP]/)],
  [
    "script",
    prefixRow({
      flags: "aefqt",
      values: "IOBTmEo",
      scripts: "c",
      longFlags: "append return flush force quiet",
      longValues: "log-in log-out log-io log-timing logging-format echo output-limit",
      longScripts: "command",
      operands: 1,
      alone: "shell",
    }),
  ],
  ["sed", sedStarter],
  ["setarch", setarch],
  [
    "setpriv",
    prefixRow({
      flags: "d",
      longFlags: "dump nnp no-new-privs clear-groups keep-groups init-groups reset-env",
      longValues:
        "ambient-caps inh-caps bounding-set ruid euid rgid egid reuid regid groups securebits pdeathsig selinux-label apparmor-profile",
    }),
  ],
  ["setsid", prefixRow({ flags: "cfw", longFlags: "ctty fork wait" })],
  ["sg", prefixRow({ scripts: "c", operands: 1, rest: "script", alone: "shell" })],
  ["ssh", sshStarter],
  ["stdbuf", prefixRow({ values: "ioe", longValues: "input output error" })],
  [
    "strace",
    prefixRow({
      flags: "AcCdDfFhiknNqrtTvVwxyYzZ",
      values: "abeEIoOpPsSuUX",
      longFlags: "debug",
      longValues: "output",
    }),
  ],
  ...rows("runuser su", su),
  [
    "sudo",
    prefixRow({
      flags: "ABbEeHiKklnPSsVv",
      values: "CDghpRrTtUu",
      longFlags:
        "askpass background bell edit login preserve-env non-interactive preserve-groups reset-timestamp remove-timestamp set-home shell stdin validate list",
      longValues: "close-from chdir group host prompt chroot role type command-timeout other-user user",
      assigns: "before",
      alone: "shell",
    }),
  ],
  ["tar", tarStarter],
  ["taskset", prefixRow({ flags: "apc", longFlags: "all-tasks pid cpu-list", operands: 1 })],
  [
    "time",
    prefixRow({
      flags: "apqv",
      values: "fo",
      longFlags: "append portability quiet verbose",
      longValues: "format output",
    }),
  ],
  [
    "timeout",
    prefixRow({
      flags: "vfp",
      values: "ks",
      longFlags: "foreground preserve-status verbose",
      longValues: "kill-after signal",
      operands: 1,
    }),
  ],
  ["trap", trap],
  [
    "unshare",
    prefixRow({
      flags: "miunpUCTfrc",
      values: "SGRw",
      longFlags:
        "mount uts ipc net pid user cgroup time fork map-root-user map-current-user map-auto keep-caps kill-child mount-proc",
      longValues:
        "setuid setgid root wd propagation setgroups map-user map-users map-group map-groups monotonic boottime",
      alone: "shell",
    }),
  ],
  [
    "watch",
    prefixRow({
      flags: "bcCdegprtwx",
      values: "nqs",
      longFlags: "beep color no-color differences errexit chgexit precise no-rerun no-title no-wrap exec",
      longValues: "interval equexit shotsdir",
      rest: "script",
    }),
  ],
  ["xargs", xargs],
]);
