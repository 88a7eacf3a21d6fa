import {
  type ServerDefinition,
  type ServerLaunch,
  variablePattern,
} from "palimpsest/internal/schema/server-definition";
import type { Environment } from "../shell/shell-environment.ts";
import { failureCharsMax, secretCharsMin } from "./limits.ts";

export type LaunchOutcome =
  | {
      readonly kind: "ready";
      readonly launch: ServerLaunch;
      /** What others say of it, without the values that were put in, and short. */
      readonly masked: (text: string) => string;
    }
  | { readonly kind: "missing"; readonly variables: readonly string[] };

/** Names that programs need to run at all and that hold no key. The rest of the environment is named by the definition. */
const inheritedNames = ["HOME", "LANG", "LC_ALL", "LOGNAME", "PATH", "SHELL", "TERM", "TMPDIR", "TZ", "USER"] as const;

/**
 * Puts in `${NAME}` and `${NAME:-otherwise}`. A variable that is not there is told by its name: a server that gets an
 * empty key fails in ways that nobody understands.
 */
export function resolveLaunch(definition: ServerDefinition, env: Environment): LaunchOutcome {
  const missing = new Set<string>();
  const secrets = new Set<string>();
  const filled = (written: string): string =>
    written.replaceAll(variablePattern, (_, name: string, otherwise: string | undefined) => {
      const value = env[name] ?? otherwise;
      if (value === undefined) missing.add(name);
      else secrets.add(value);
      return value ?? "";
    });
  const all = (record: Readonly<Record<string, string>>): Record<string, string> =>
    Object.fromEntries(
      Object.entries(record).map(([name, written]) => {
        const value = filled(written);
        secrets.add(value);
        return [name, value];
      }),
    );
  const launch = fillLaunch(definition, { filled, all, env });
  if (missing.size > 0) return { kind: "missing", variables: [...missing] };
  return { kind: "ready", launch, masked: createMask(secrets) };
}

interface FillInput {
  readonly filled: (written: string) => string;
  readonly all: (record: Readonly<Record<string, string>>) => Record<string, string>;
  readonly env: Environment;
}

function fillLaunch(definition: ServerDefinition, { filled, all, env }: FillInput): ServerLaunch {
  if (definition.kind !== "stdio") {
    const { url, headers } = definition;
    return { definition: { ...definition, url: filled(url), headers: all(headers) }, env: {} };
  }
  const own = all(definition.env);
  const passed = inheritedNames.flatMap((name) => (env[name] === undefined ? [] : [[name, env[name]] as const]));
  const { command, args } = definition;
  return {
    definition: { ...definition, command: filled(command), args: args.map(filled), env: own },
    env: { ...Object.fromEntries(passed), ...own },
  };
}

function createMask(secrets: ReadonlySet<string>): (text: string) => string {
  // The longest first: one may be a part of another.
  const known = [...secrets]
    .filter(({ length }) => length >= secretCharsMin)
    .toSorted((one, other) => other.length - one.length);
  return (text) => {
    const plain = known.reduce((rest, secret) => rest.replaceAll(secret, "[secret]"), text);
    // On one line: nothing of it can pass for a line of ours.
    const masked = plain.replaceAll(/[\s\p{C}]+/gu, " ").trim();
    return masked.length > failureCharsMax ? `${masked.slice(0, failureCharsMax)}…` : masked;
  };
}
