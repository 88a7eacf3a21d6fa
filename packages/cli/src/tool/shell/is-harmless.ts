/**
 * Whether a program changes nothing with these arguments. If it is not in the table, or its row refuses, that is
 * unknown.
 */
export function isHarmless(program: string, args: readonly string[]): boolean {
  return rowByProgram.get(program)?.(args) === true;
}

/** Whether it changes and runs nothing whatever its arguments, though it may show more than they name. */
export const isInert = (program: string): boolean => inertPrograms.has(program);

/** Whether every word that is not an option is a file or text to it, and harmless whatever it says. */
export const takesFiles = (program: string): boolean => filePrograms.has(program);

export const isKnownProgram = (program: string): boolean => rowByProgram.has(program);

type Row = (args: readonly string[]) => boolean;

/** Programs without an option that writes, runs another program or reads file names from a file. */
const plainPrograms: readonly string[] = (
  ": arch base64 basename cat cmp column comm cut df dirname echo expand false fold groups head " +
  "hexdump id join ls nl nproc od paste pwd readlink realpath rev seq stat tac tail tr true type uname unexpand which whoami"
).split(" ");

const inertPrograms: ReadonlySet<string> = new Set([
  ...plainPrograms,
  ..."cd cksum diff du egrep fgrep grep jq md5sum printf sha1sum sha256sum sha512sum strings wc".split(" "),
]);

const filePrograms: ReadonlySet<string> = new Set([
  ...plainPrograms,
  ..."cksum diff du egrep fgrep file find grep md5sum rg sha1sum sha256sum sha512sum sort tree wc".split(" "),
]);

interface RefusedOptions {
  /** Letters of short options, also if bundled. */
  readonly short?: string;
  /** Names of long options, also if abbreviated. */
  readonly long?: readonly string[];
}

/** Errs on the strict side: a letter counts anywhere after a single dash. */
const withoutOptions =
  ({ short = "", long = [] }: RefusedOptions): Row =>
  (args) =>
    args.every((arg) => {
      if (!arg.startsWith("-")) return true;
      if (!arg.startsWith("--")) return !Array.from(short).some((letter) => arg.includes(letter));
      const name = arg.slice(2).split("=", 1)[0] ?? "";
      return name === "" || !long.some((refused) => refused.startsWith(name));
    });

const filesFrom = { long: ["files0-from"] };
const grepRow = withoutOptions({ short: "R", long: ["dereference-recursive"] });

const rowByProgram: ReadonlyMap<string, Row> = new Map<string, Row>([
  ...plainPrograms.map((program): [string, Row] => [program, () => true]),
  ...["[", "test"].map((program): [string, Row] => [program, isHarmlessTest]),
  ["cd", (args) => args.length === 1 && args.every((arg) => !arg.startsWith("-"))],
  ["date", (args) => args.every((arg) => /^(\+.*|-u|-R|-I\w*|--utc|--iso-8601(=\w+)?)$/.test(arg))],
  // With this option they read the files that a file names.
  ...["cksum", "md5sum", "sha1sum", "sha256sum", "sha512sum"].map((program): [string, Row] => [
    program,
    withoutOptions({ short: "c", long: ["check"] }),
  ]),
  // In folders it follows links; that no operand is a folder is checked on disk.
  ["diff", withoutOptions({ short: "r", long: ["recursive"] })],
  ["du", withoutOptions(filesFrom)],
  ["egrep", grepRow],
  ["fgrep", grepRow],
  [
    "file",
    withoutOptions({ short: "CfmzZS", long: ["compile", "files-from", "magic-file", "uncompress", "no-sandbox"] }),
  ],
  ["find", (args) => !args.some((arg) => /^-(exec|ok|fprint|fls|delete|files0-from|L|follow)/.test(arg))],
  ["git", (args) => isHarmlessGit(args)],
  ["grep", grepRow],
  // Its language can show the environment and load modules.
  [
    "jq",
    (args) =>
      withoutOptions({ short: "fL", long: ["from-file"] })(args) &&
      !args.some((arg) => /env|import|include|modulemeta/i.test(arg)),
  ],
  ["printf", ([format = ""]) => !format.startsWith("-") && harmlessFormat.test(format)],
  ["rg", withoutOptions({ short: "Lz", long: ["follow", "hostname-bin", "pre", "search-zip"] })],
  ["sed", (args) => isHarmlessSed(args)],
  ["sort", withoutOptions({ short: "oT", long: ["output", "compress-program", "temporary-directory", "files0-from"] })],
  // `@name` makes it read its arguments from that file.
  ["strings", (args) => !args.some((arg) => arg.startsWith("@"))],
  // With `--info` it shows files from the folders.
  ["tree", withoutOptions({ short: "olR", long: ["output", "info", "infofile"] })],
  // The second file is written, so at most one word is allowed besides plain options.
  ["uniq", (args) => args.filter((arg) => !/^-[a-z]/.test(arg)).length <= 1],
  ["wc", withoutOptions(filesFrom)],
]);

/** Not for variables, whose names are evaluated, nor for invalid numbers, which some shells evaluate. */
function isHarmlessTest(args: readonly string[]): boolean {
  return args.every((arg, index) => {
    if (/^-(?:eq|ne|l[te]|g[te])$/.test(arg))
      return [args[index - 1], args[index + 1]].every((number) => /^[-+]?\d+$/.test(number ?? ""));
    return !/^-[vRt]$/.test(arg);
  });
}

/** Other conversions may set a variable, as `%n` does. */
const harmlessFormat = /^(?:[^%]|%[-+ #0']*\d*(?:\.\d*)?[%bcdeEfgGiosquxX])*$/s;

/** Addresses with `p`, `q`, `d`, `=`, and substitutions without flags that write or execute. No other sed command. */
const address = String.raw`(\d+|\$|/[^/\\;{}\n]*/)`;
const command = String.raw`(${address}(,(${address}|\+\d+))?\s*!?\s*[pqd=]|(${address}(,${address})?)?s/[^/\\\n]*/[^/\\\n]*/[gpiI\d]*)`;
const sedScript = new RegExp(String.raw`^\s*${command}(\s*;\s*${command})*\s*;?\s*$`);

function isHarmlessSed(args: readonly string[]): boolean {
  const scripts: string[] = [];
  const others: string[] = [];
  for (const [index, arg] of args.entries()) {
    if (/^-[nErsuz]*e$|^--expression$/.test(args[index - 1] ?? "")) scripts.push(arg);
    else if (!arg.startsWith("-")) others.push(arg);
    else if (!/^(-[nErsuz]+|-[nErsuz]*e|--quiet|--silent|--regexp-extended|--expression)$/.test(arg)) return false;
  }
  if (scripts.length === 0) scripts.push(others[0] ?? "");
  return scripts.every((script) => sedScript.test(script));
}

function isHarmlessGit(args: readonly string[]): boolean {
  const at = args.findIndex((arg) => !/^(-P|--no-pager|--no-optional-locks)$/.test(arg));
  const [subcommand = "", ...rest] = at === -1 ? [] : args.slice(at);
  if (rest.some((arg) => /%G|signature/i.test(arg))) return false;
  return runsNothing(rest) && rowByGit.get(subcommand)?.(rest) === true;
}

/** Options of git that write a file or run a configured program. */
const runsNothing = withoutOptions({
  long: ["exec", "ext-diff", "filters", "open-files-in-pager", "output", "show-signature", "textconv", "upload-pack"],
});

const only =
  (form: RegExp): Row =>
  (args) =>
    args.every((arg) => form.test(arg));

const anything: Row = () => true;
const branchFlags =
  /^(-a|-r|-v|-vv|--all|--remotes|--verbose|--show-current|--merged|--no-merged|--contains|--list|--(sort|format|color|column)=.*|--no-color)$/;

const rowByGit: ReadonlyMap<string, Row> = new Map<string, Row>([
  ...["blame", "cat-file", "describe", "diff", "diff-tree", "for-each-ref", "log", "ls-files", "ls-tree"].map(
    (name): [string, Row] => [name, anything],
  ),
  ...["merge-base", "name-rev", "rev-list", "rev-parse", "shortlog", "show", "show-ref", "status"].map(
    (name): [string, Row] => [name, anything],
  ),
  ["--version", only(/^$/)],
  // A name without --list creates a branch.
  ["branch", (args) => only(branchFlags)(args.includes("--list") ? args.filter((arg) => arg.startsWith("-")) : args)],
  ["reflog", (args) => args.length === 0 || args[0] === "show"],
  [
    "remote",
    (args) => args.length === 0 || only(/^(-v|--verbose)$/)(args) || (args[0] === "get-url" && args.length === 2),
  ],
  ["stash", (args) => args[0] === "list" || args[0] === "show"],
  ["tag", (args) => args.length === 0 || (args[0] === "--list" && args.slice(1).every((arg) => !arg.startsWith("-")))],
]);
