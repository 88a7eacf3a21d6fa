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
      /** Shortens a text about the server and hides the values that were filled in. */
      readonly masked: (text: string) => string;
    }
  | { readonly kind: "missing"; readonly variables: readonly string[] };

/** Variables that programs need to run at all and that hold no secrets. The definition names all others. */
const inheritedNames = ["HOME", "LANG", "LC_ALL", "LOGNAME", "PATH", "SHELL", "TERM", "TMPDIR", "TZ", "USER"] as const;

/**
 * Fills in `${NAME}` and `${NAME:-default}`. A missing variable is reported by name: a server that gets an empty key
 * fails in confusing ways.
 */
export function resolveLaunch(definition: ServerDefinition, env: Environment): LaunchOutcome {
  const missing = new Set<string>();
  const secrets = new Set<string>();
  const fill = (written: string): string =>
    written.replaceAll(variablePattern, (_, name: string, otherwise: string | undefined) => {
      const value = env[name] ?? otherwise;
      if (value === undefined) missing.add(name);
      else secrets.add(value);
      return value ?? "";
    });
  const fillRecord = (record: Readonly<Record<string, string>>): Record<string, string> =>
    Object.fromEntries(
      Object.entries(record).map(([name, written]) => {
        const value = fill(written);
        secrets.add(value);
        return [name, value];
      }),
    );
  const launch = fillLaunch(definition, { fill, fillRecord, env });
  if (missing.size > 0) return { kind: "missing", variables: [...missing] };
  return { kind: "ready", launch, masked: createMask(secrets) };
}

interface FillInput {
  readonly fill: (written: string) => string;
  readonly fillRecord: (record: Readonly<Record<string, string>>) => Record<string, string>;
  readonly env: Environment;
}

function fillLaunch(definition: ServerDefinition, { fill, fillRecord, env }: FillInput): ServerLaunch {
  if (definition.kind !== "stdio") {
    const { url, headers } = definition;
    return { definition: { ...definition, url: fill(url), headers: fillRecord(headers) }, env: {} };
  }
  const definedEnv = fillRecord(definition.env);
  const inherited = inheritedNames.flatMap((name) => (env[name] === undefined ? [] : [[name, env[name]] as const]));
  const { command, args } = definition;
  return {
    definition: { ...definition, command: fill(command), args: args.map(fill), env: definedEnv },
    env: { ...Object.fromEntries(inherited), ...definedEnv },
  };
}

function createMask(secrets: ReadonlySet<string>): (text: string) => string {
  // Longest first: one may be part of another.
  const longestFirst = [...secrets]
    .filter(({ length }) => length >= secretCharsMin)
    .toSorted((one, other) => other.length - one.length);
  return (text) => {
    const plain = longestFirst.reduce((rest, secret) => rest.replaceAll(secret, "[secret]"), text);
    // On one line, so that no part can pass for a line of ours.
    const masked = plain.replaceAll(/[\s\p{C}]+/gu, " ").trim();
    return masked.length > failureCharsMax ? `${masked.slice(0, failureCharsMax)}…` : masked;
  };
}
