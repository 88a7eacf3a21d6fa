import { type ShellWord, tailOf } from "../word.ts";
import { parseOptions } from "./options.ts";
import { mayExecute } from "./sed-script.ts";
import { joinedWords, type StarterRow, startsAnything, startsNothing, startsScripts } from "./started.ts";

/** `sh -c "line" name words`: the words may become a command by `$0` and `$@`. Without a line or a file it reads the input. */
export const shell: StarterRow = (args) => {
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

/** A file of the project is what it is; what comes from elsewhere nobody has seen. */
export const source: StarterRow = ([file]) =>
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
export const awk: StarterRow = (args) =>
  args.some(
    ({ kind, value }) => kind === "dynamic" || /system|@/.test(value) || value.replaceAll("||", "").includes("|"),
  )
    ? startsAnything
    : startsNothing;

/** Its `e` runs a line, which may come from what it reads. */
export const sed: StarterRow = (args) => {
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
  const hasOwn = given.has("e") || given.has("f") || [...given].some((name) => /^(?:ex|fi)/.test(name));
  // With `-i` the rest of the letters is a suffix.
  const isOdd = sight === "unclear" && !given.has("i");
  const texts = [...scripts, ...(hasOwn ? [] : rest.slice(0, 1))];
  return isOdd || texts.some(({ kind, value }) => kind !== "plain" || mayExecute(value))
    ? startsAnything
    : startsNothing;
};

/** Commands of an editor run programs, whether they stand in a word or in the input: nobody types here. */
export const editor: StarterRow = (args) =>
  args.length > 0 && args.every(({ value }) => /^--(?:version|help)$/.test(value)) ? startsNothing : startsAnything;

export const make: StarterRow = (args) => {
  const isInline = args.some(({ value }, index) => {
    const isInputFile =
      /^-[^-]*f-?$|^--(?:file|makefile)(?:=-)?$/.test(value) && (value.endsWith("-") || args[index + 1]?.value === "-");
    return /^--ev|^-[^-]*E/.test(value) || isInputFile || /^--(?:file|makefile)=-$/.test(value);
  });
  const settings = args.flatMap((arg) =>
    /^\w+[:+?!]?=/.test(arg.value) ? [tailOf(arg, arg.value.indexOf("=") + 1)] : [],
  );
  return { ...startsScripts(settings.filter(({ value }) => value !== "")), sight: isInline ? "unclear" : "clear" };
};

/** Behind the host stands a line for it; some options name programs of this machine. */
export const ssh: StarterRow = (args) => {
  const { rest, scripts, sight } = parseOptions(args, {
    flags: "46AaCfGgKkMNnqsTtVvXxYy",
    values: "BbcDEeFIiJLlmOPpQRSWw",
    scripts: "o",
    operands: 1,
  });
  const options = scripts.map((option) => tailOf(option, option.value.search(/[= ]/) + 1));
  return { ...startsScripts([...options, ...(rest.length === 0 ? [] : [joinedWords(rest)])]), sight };
};

/** Options that name a program, for each file or at a checkpoint. */
export const tar: StarterRow = (args) => {
  const values = args.flatMap((arg, index): readonly ShellWord[] => {
    if (/^--(?:checkpoint-a|to-c|use-c|rsh-c|info-s|new-v|rmt-c)/.test(arg.value)) {
      const equals = arg.value.indexOf("=");
      const value = equals === -1 ? args[index + 1] : tailOf(arg, equals + 1);
      return value === undefined ? [] : [value.value.startsWith("exec=") ? tailOf(value, 5) : value];
    }
    const letter = /^-?[a-zA-Z]*?[IF](?<rest>.*)$/s.exec(index === 0 || arg.value.startsWith("-") ? arg.value : "");
    if (letter === null || arg.value.startsWith("--")) return [];
    const joined = letter.groups?.["rest"] ?? "";
    return joined === "" ? args.slice(index + 1, index + 2) : [tailOf(arg, arg.value.length - joined.length)];
  });
  return startsScripts(values);
};
