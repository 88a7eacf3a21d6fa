import { type ShellWord, tailOf } from "../word.ts";
import { type Given, type Started, startsAnything, startsNothing } from "./started.ts";

/** Programs that run a language of their own: a file of the project, or code in a word or in the input. */
export const isInterpreter = (program: string): boolean => languageOf(program) !== undefined;

/** A file is the project's own, as what `make` runs. Code that stands in the line is looked into as far as it can be. */
export function startedByCode(program: string, { args, texts }: Given): Started {
  const language = languageOf(program);
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
  /** Behind which code stands. */
  readonly options: RegExp;
  /** Names by which programs are started, or by which such a name can be put together. */
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
    // Only substitutions; in a pattern or behind a sign of an expression there may be code.
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

const languageOf = (program: string): Language | undefined => languages.find(({ programs }) => programs.test(program));

function inlineCode(args: readonly ShellWord[], { options }: Language): readonly ShellWord[] {
  return args.flatMap((arg, index): readonly ShellWord[] => {
    // A script's own arguments are none of the language's.
    if (arg.kind !== "plain" || args.slice(0, index).some(({ value }) => /^[^-]/.test(value) && !options.test(value)))
      return [];
    const option = options.exec(arg.value)?.[0];
    if (option === undefined) return [];
    const joined = tailOf(arg, option.length + (arg.value.charAt(option.length) === "=" ? 1 : 0));
    return joined.value === "" ? args.slice(index + 1, index + 2) : [joined];
  });
}

/** Code that a variable of the shell is put into is not seen. */
const isHarmlessCode = ({ kind, value }: ShellWord, { harmful }: Language): boolean =>
  kind === "plain" && !harmful.test(value);
