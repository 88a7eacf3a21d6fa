import { type ShellWord, sliceWord } from "../shell-word.ts";
import {
  parseOptions,
  joinToLine,
  type StarterRow,
  startsAnything,
  startsNothing,
  startsScripts,
  type StarterInput,
  type StartedPrograms,
} from "./starter-row.ts";

/**
 * `sh -c "line" name words`: the words may become a command through `$0` and `$@`. Without a line or a file it reads
 * the input.
 */
export const shellStarter: StarterRow = (args) => {
  const { rest, given, sight } = parseOptions(args, {
    flags: "abefhiklmnprtuvxBCDEHPTsc",
    values: "oO",
    longFlags:
      "debugger dump-po-strings dump-strings help login noediting noprofile norc posix restricted verbose version",
    longValues: "init-file rcfile",
  });
  if (!given.has("c")) {
    const [file] = rest;
    const isFile = file?.kind === "plain" && !given.has("s") && !isInput(file.value);
    return isFile && sight === "clear" ? startsNothing : startsAnything;
  }
  const [line, ...words] = rest;
  const commands = words.map((_, index) => words.slice(index));
  return line === undefined ? startsAnything : { commands, scripts: [line], sight };
};

/** A file of the project is trusted; other input is unknown. */
export const sourceStarter: StarterRow = ([file]) =>
  file?.kind === "plain" && !isInput(file.value) ? startsNothing : startsAnything;

const isInput = (file: string): boolean => file === "-" || /^\/+(?:dev|proc)\b/.test(file);

export const findStarter: StarterRow = (args) => {
  const commands: (readonly ShellWord[])[] = [];
  for (const [index, { value }] of args.entries()) {
    if (!/^-(?:exec|ok)/.test(value)) continue;
    const words = args.slice(index + 1);
    const end = words.findIndex((word) => word.value === ";" || word.value === "+");
    commands.push(end === -1 ? words : words.slice(0, end));
  }
  return {
    ...startsNothing,
    commands,
    sight: args.some(({ kind, value }) => kind === "glob" && value.startsWith("-")) ? "unclear" : "clear",
  };
};

/** By `system`, a pipe, or a function whose name is in a variable. */
export const awkStarter: StarterRow = (args) =>
  args.some(
    ({ kind, value }) => kind === "dynamic" || /system|@/.test(value) || value.replaceAll("||", "").includes("|"),
  )
    ? startsAnything
    : startsNothing;

/** Its `e` runs a line, which may come from its input. */
export const sedStarter: StarterRow = (args) => {
  const { scripts, rest, given, sight } = parseOptions(args, {
    flags: "nErsuzi",
    values: "fl",
    scripts: "e",
    longFlags:
      "quiet silent debug regexp-extended posix separate sandbox unbuffered null-data follow-symlinks in-place",
    longValues: "file line-length",
    longScripts: "expression",
  });
  if (given.has("sandbox")) return startsNothing;
  const hasScriptOption = given.has("e") || given.has("f") || [...given].some((name) => /^(?:ex|fi)/.test(name));
  // After `-i` the remaining letters are a suffix.
  const hasUnknownOption = sight === "unclear" && !given.has("i");
  const texts = [...scripts, ...(hasScriptOption ? [] : rest.slice(0, 1))];
  return hasUnknownOption || texts.some(({ kind, value }) => kind !== "plain" || maySedExecute(value))
    ? startsAnything
    : startsNothing;
};

/** Editor commands run programs, whether they come from a word or from the input: no user is typing. */
export const editorStarter: StarterRow = (args) =>
  args.length > 0 && args.every(({ value }) => /^--(?:version|help)$/.test(value)) ? startsNothing : startsAnything;

export const makeStarter: StarterRow = (args) => {
  const isInline = args.some(({ value }, index) => {
    const isInputFile =
      /^-[^-]*f-?$|^--(?:file|makefile)(?:=-)?$/.test(value) && (value.endsWith("-") || args[index + 1]?.value === "-");
    return /^--ev|^-[^-]*E/.test(value) || isInputFile || /^--(?:file|makefile)=-$/.test(value);
  });
  const settings = args.flatMap((arg) =>
    /^\w+[:+?!]?=/.test(arg.value) ? [sliceWord(arg, arg.value.indexOf("=") + 1)] : [],
  );
  return { ...startsScripts(settings.filter(({ value }) => value !== "")), sight: isInline ? "unclear" : "clear" };
};

/** The words after the host are a line for it; some options name programs of this machine. */
export const sshStarter: StarterRow = (args) => {
  const { rest, scripts, sight } = parseOptions(args, {
    flags: "46AaCfGgKkMNnqsTtVvXxYy",
    values: "BbcDEeFIiJLlmOPpQRSWw",
    scripts: "o",
    operands: 1,
  });
  const options = scripts.map((option) => sliceWord(option, option.value.search(/[= ]/) + 1));
  return { ...startsScripts([...options, ...(rest.length === 0 ? [] : [joinToLine(rest)])]), sight };
};

/** Options that name a program, to run for each file or at a checkpoint. */
export const tarStarter: StarterRow = (args) => {
  const values = args.flatMap((arg, index): readonly ShellWord[] => {
    if (/^--(?:checkpoint-a|to-c|use-c|rsh-c|info-s|new-v|rmt-c)/.test(arg.value)) {
      const equals = arg.value.indexOf("=");
      const value = equals === -1 ? args[index + 1] : sliceWord(arg, equals + 1);
      return value === undefined ? [] : [value.value.startsWith("exec=") ? sliceWord(value, 5) : value];
    }
    const letter = /^-?[a-zA-Z]*?[IF](?<rest>.*)$/s.exec(index === 0 || arg.value.startsWith("-") ? arg.value : "");
    if (letter === null || arg.value.startsWith("--")) return [];
    const joined = letter.groups?.["rest"] ?? "";
    return joined === "" ? args.slice(index + 1, index + 2) : [sliceWord(arg, arg.value.length - joined.length)];
  });
  return startsScripts(values);
};

/** Programs that run a language of their own: a file of the project, or code in a word or in the input. */
export const isInterpreter = (program: string): boolean => findLanguage(program) !== undefined;

/** A file is the project's own, like the recipes of `make`. Code in the line is checked as far as possible. */
export function analyzeCode(program: string, { args, texts }: StarterInput): StartedPrograms {
  const language = findLanguage(program);
  if (language === undefined) return startsNothing;
  const inline = inlineCode(args, language);
  if (inline.length > 0) return inline.every((code) => isHarmlessCode(code, language)) ? startsNothing : startsAnything;
  const file = args.find(({ value }) => value === "-" || !value.startsWith("-"));
  if (file === undefined && args.some(({ value }) => /^(?:-[vVh]|--(?:version|help|test|check))/.test(value)))
    return startsNothing;
  if (file !== undefined && !/^-$|^\/+(?:dev|proc)\b/.test(file.value))
    return file.kind === "plain" ? startsNothing : startsAnything;
  return texts.length > 0 && texts.every((code) => isHarmlessCode(code, language)) ? startsNothing : startsAnything;
}

interface Language {
  readonly programs: RegExp;
  /** Options that take code. */
  readonly options: RegExp;
  /** Names that start programs, or that can be used to construct such names. */
  readonly harmful: RegExp;
}

const languages: readonly Language[] = [
  {
    programs: /^(?:python|pypy)[\d.]*$/,
    options: /^-[a-zA-Z]*?c/,
    harmful:
      /system|popen|exec|spawn|fork|subprocess|pty|ctypes|cffi|eval|compile|attr|__|import_module|importlib|runpy|process|asyncio|globals|locals|vars|builtins|pickle|marshal/i,
  },
  {
    programs: /^(?:node|nodejs|bun|deno|tsx)$/,
    options: /^-[a-zA-Z]*?(?:e|p)(?![a-zA-Z])|^-(?:pe|ep)$|^--(?:eval|print)(?==|$)|^eval$/,
    harmful:
      /child|exec|spawn|fork|eval|function\s*\(\s*["'`]|Function|import\s*\(|process\s*\.\s*(?!argv|stdout|stderr|exit|cwd|env|platform|version|hrtime|memoryUsage)|process\s*\[|require(?!\s*\(\s*["'][\w./@:-]+["']\s*\))|getBuiltin|constructor|globalThis|Reflect|worker|\bvm\b|Deno|Bun\s*\./,
  },
  {
    programs: /^perl[\d.]*$/,
    options: /^-(?!-)[a-zA-Z\d]*?[eE]/,
    // Allows only substitutions; a pattern or an expression sign may hold code.
    harmful:
      /^(?!\s*(?:s(?<d>[/|#,])(?:(?!\k<d>)[^\\`@]|\\.)*\k<d>(?:(?!\k<d>)[^\\`@]|\\.)*\k<d>[gimsx]*\s*;?\s*)+$)|\(\?+\{|\$\{/s,
  },
  {
    programs:
      /^(?:ruby[\d.]*|php[\d.]*|lua[\d.]*|luajit|Rscript|tclsh[\d.]*|wish|expect|osascript|pwsh|powershell|raku|julia|guile|groovy|elixir)$/,
    options: /^-(?!-)[a-zA-Z]*[ceErR]|^--(?:eval|run|command)/,
    harmful: /^/,
  },
];

const findLanguage = (program: string): Language | undefined =>
  languages.find(({ programs }) => programs.test(program));

function inlineCode(args: readonly ShellWord[], { options }: Language): readonly ShellWord[] {
  return args.flatMap((arg, index): readonly ShellWord[] => {
    // Arguments of a script are not the interpreter's.
    if (arg.kind !== "plain" || args.slice(0, index).some(({ value }) => /^[^-]/.test(value) && !options.test(value)))
      return [];
    const option = options.exec(arg.value)?.[0];
    if (option === undefined) return [];
    const joined = sliceWord(arg, option.length + (arg.value.charAt(option.length) === "=" ? 1 : 0));
    return joined.value === "" ? args.slice(index + 1, index + 2) : [joined];
  });
}

/** Code with an expanded variable is unknown. */
const isHarmlessCode = ({ kind, value }: ShellWord, { harmful }: Language): boolean =>
  kind === "plain" && !harmful.test(value);

/**
 * Whether a sed script may run a program, by the command `e` or a substitution with that flag. Errs on the side of yes.
 * Commands: addresses, then a letter, then its arguments. Pure.
 */
export function maySedExecute(script: string): boolean {
  let at = 0;
  while (at < script.length) {
    const gap = /^(?:[\s;{}]|#[^\n]*)+/.exec(script.slice(at));
    at += gap?.[0].length ?? 0;
    if (at >= script.length) return false;
    const end = endOfCommand(script, at);
    if (end === undefined) return true;
    at = end;
  }
  return false;
}

/** Undefined if it runs a program, or is not understood. */
function endOfCommand(script: string, start: number): number | undefined {
  const at = endOfAddresses(script, start);
  if (at === undefined) return undefined;
  const letter = script.charAt(at);
  switch (letter) {
    case "{":
      return at + 1;
    case "s":
    case "y": {
      const delimiter = script.charAt(at + 1);
      const middle = endOfPart(script, { at: at + 2, delimiter });
      const end = middle && endOfPart(script, { at: middle, delimiter });
      return end === undefined ? undefined : endOfFlags(script, end);
    }
    case "a":
    case "i":
    case "c":
    case "r":
    case "R":
    case "w":
    case "W":
      return endOfText(script, at + 1);
    case "b":
    case "t":
    case "T":
    case ":":
      return at + (/^.[^\n;}]*/.exec(script.slice(at))?.[0].length ?? 1);
    default: {
      // A number may follow `q` and `l`.
      const simple = /^[pdDPnNgGhHxqQ=lFzL]\s*\d*/.exec(script.slice(at))?.[0];
      return simple === undefined ? undefined : at + simple.length;
    }
  }
}

function endOfAddresses(script: string, start: number): number | undefined {
  let at = start;
  for (;;) {
    const simple = /^(?:\d+(?:~\d+)?|\$|[+~]\d+|[,!\s])/.exec(script.slice(at))?.[0];
    if (simple !== undefined) at += simple.length;
    else if (script.charAt(at) === "/" || script.charAt(at) === "\\") {
      const hasCustomDelimiter = script.charAt(at) === "\\";
      const delimiter = hasCustomDelimiter ? script.charAt(at + 1) : "/";
      const end = endOfPart(script, { at: at + (hasCustomDelimiter ? 2 : 1), delimiter });
      if (end === undefined) return undefined;
      at = end + (/^[IM]*/.exec(script.slice(end))?.[0].length ?? 0);
    } else return at;
  }
}

/** Systems differ on whether a delimiter in brackets counts, so that is not understood. */
function endOfPart(
  script: string,
  { at, delimiter }: { readonly at: number; readonly delimiter: string },
): number | undefined {
  if (delimiter === "" || delimiter === "\n" || delimiter === "\\") return undefined;
  let open = false;
  for (let index = at; index < script.length; index += 1) {
    const character = script.charAt(index);
    if (character === "\\") index += 1;
    else if (character === delimiter) return open ? undefined : index + 1;
    else if (character === "[") open = true;
    else if (character === "]") open = false;
  }
  return undefined;
}

function endOfFlags(script: string, at: number): number | undefined {
  const flags = /^[gpiImM\d]*/.exec(script.slice(at))?.[0] ?? "";
  const end = at + flags.length;
  if (script.charAt(end) === "w") return endOfText(script, end + 1);
  return end === script.length || /[\s;}#]/.test(script.charAt(end)) ? end : undefined;
}

/** Up to the end of the line, or further if that is escaped. */
const endOfText = (script: string, at: number): number =>
  at + (/^(?:\\[^]|[^\\\n])*/.exec(script.slice(at))?.[0].length ?? 0);
