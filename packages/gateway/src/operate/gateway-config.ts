import { readFileSync, statSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { errorCode } from "palimpsest/internal/store/files/disk";
import { type Json, parseJson, tryParseJson } from "palimpsest/internal/schema/json";
import { jsonErrorPosition } from "palimpsest/internal/text/json-error-position";
import type { ModelOverride } from "palimpsest/internal/schema/model";
import { policyNames, savingLevels } from "palimpsest/internal/schema/policy-names";
import { z } from "zod";
import { portDefault } from "../limits.ts";
import { describeIssue } from "./describe-issue.ts";
import { findProblem } from "./config-problem.ts";
import { configBytesMax, contextTokensMin, drainSecondsDefault, drainSecondsMax, usersMax } from "./limits.ts";
import type { User } from "./users.ts";

const userName = z
  .string()
  .regex(/^[a-z0-9][a-z0-9._-]{0,63}$/, "a name may contain lowercase letters, digits, dots, dashes and underscores");

/** A key is written out, or named: a variable of the environment, or a file that holds it alone. */
const keySource = z.union(
  [z.string().min(1), z.strictObject({ env: z.string().min(1) }), z.strictObject({ file: z.string().min(1) })],
  { error: 'expected a key, or where it is: { "env": "ANTHROPIC_API_KEY" } or { "file": "key.txt" }' },
);
type KeySource = z.infer<typeof keySource>;

const address = z
  .url({ protocol: /^https?$/, error: "use a URL such as https://api.anthropic.com" })
  .refine(isBare, "an upstream URL must not have a user name, password, query or #");

const windowTokens = z
  .int({ error: "expected a whole number of tokens" })
  .min(contextTokensMin, `expected at least ${contextTokensMin} tokens`);

/** What is done to conversations. */
const contextForm = z.strictObject({
  policy: z.enum(policyNames).optional(),
  saving: z.enum(savingLevels).optional(),
  secrets: z.enum(["keep", "redact"]).optional(),
  /** Of every model, or by its name. */
  contextTokens: z
    .union([windowTokens, z.record(z.string(), windowTokens)], {
      error: `expected a number of tokens, at least ${contextTokensMin}, or one by model: { "claude-sonnet-5-5": 200000 }`,
    })
    .optional(),
  recall: z.enum(["on", "off"]).optional(),
  memory: z.enum(["on", "off"]).optional(),
  deferTools: z.enum(["on", "off"]).optional(),
  threads: z.enum(["keep", "refuse"]).optional(),
  summarizer: z.enum(["none", "own"]).optional(),
  usage: z.enum(["used", "sent"]).optional(),
  cacheMarks: z.enum(["client", "added"]).optional(),
});
export type ContextConfig = z.infer<typeof contextForm>;

const price = z.number().nonnegative();

/** Dollars per million tokens. What is read from a cache or written to it costs as much as other input, if nothing is said. */
const pricesForm = z.strictObject({
  input: price,
  output: price,
  cacheRead: price.optional(),
  cacheWrite5m: price.optional(),
  cacheWrite1h: price.optional(),
});

/** `gateway.json`. All fields may be left out. */
const configForm = z.strictObject({
  upstream: z
    .strictObject(
      { anthropic: address.optional(), openai: address.optional() },
      'expected an object such as { "anthropic": "https://…" }',
    )
    .optional(),
  host: z.string().min(1).optional(),
  port: z.int().min(0).max(65_535).optional(),
  names: z.array(z.string().min(1)).optional(),
  origins: z.array(z.string().min(1)).optional(),
  tls: z.strictObject({ cert: z.string().min(1), key: z.string().min(1) }).optional(),
  insecure: z.boolean().optional(),
  users: z
    .array(
      z.strictObject({
        name: userName,
        keySha256: z.string().regex(/^[0-9a-f]{64}$/, "64 hex digits: `palimpsest gateway key` prints them"),
        upstreamKeys: z.strictObject({ anthropic: keySource.optional(), openai: keySource.optional() }).optional(),
        requestsPerMinute: z.number().positive().optional(),
        usdPerDay: z.number().nonnegative().optional(),
      }),
    )
    .max(usersMax)
    .optional(),
  drainSeconds: z.number().nonnegative().max(drainSecondsMax).optional(),
  log: z.string().min(1).optional(),
  paths: z.array(z.string().startsWith("/", "a path begins with /")).optional(),
  prices: z.record(z.string().min(1), pricesForm).optional(),
  context: contextForm.optional(),
});
type WrittenConfig = z.infer<typeof configForm>;

/** The config with its defaults, keys and certificates read. */
export interface GatewayConfig {
  readonly upstream: { readonly anthropic?: string | undefined; readonly openai?: string | undefined };
  readonly host: string;
  readonly port: number;
  /** Names in the header Host beside those of the address itself. */
  readonly names: readonly string[];
  readonly origins: readonly string[];
  readonly tls?: { readonly cert: string; readonly key: string } | undefined;
  /** The user says that the address may be reached without TLS. */
  readonly insecure: boolean;
  readonly users: readonly User[];
  readonly drainSeconds: number;
  /** Absolute path of the event log. */
  readonly log?: string | undefined;
  readonly context: ContextConfig;
  /** Paths beside the model APIs for users with a key of the operator, or with a limit of spend. */
  readonly paths?: readonly string[] | undefined;
  /** The operator's own, before the known ones. */
  readonly prices?: readonly ModelOverride[] | undefined;
}

export type ConfigOutcome =
  | { readonly kind: "config"; readonly config: GatewayConfig }
  /** One line for the user. */
  | { readonly kind: "absent" | "wrong"; readonly message: string };

export interface ConfigInput {
  /** Absent: only defaults and overrides. */
  readonly path?: string | undefined;
  /** What a path without a file means: by default that the user named a wrong one. */
  readonly ifMissing?: "refuse" | "defaults" | undefined;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** From the command line: they win over the file. */
  readonly overrides?: Pick<WrittenConfig, "upstream" | "host" | "port" | "insecure"> | undefined;
}

const upstreamDefault = { anthropic: "https://api.anthropic.com", openai: "https://api.openai.com" } as const;

/** Reads the file and the files it names. Synchronous: the files are small, and it runs only at start and reload. */
export function readConfig({ path, ifMissing = "refuse", env, overrides = {} }: ConfigInput): ConfigOutcome {
  const found = path === undefined ? undefined : readWritten(path);
  const isDefault = found === undefined || (found.kind === "absent" && ifMissing === "defaults");
  const written = isDefault ? ({ kind: "written", config: {} } as const) : found;
  if (written.kind !== "written") return written;
  const config = {
    ...written.config,
    ...Object.fromEntries(Object.entries(overrides).filter(([, value]) => value !== undefined)),
  } satisfies WrittenConfig;
  const folder = path === undefined ? "." : dirname(path);
  try {
    const complete = completeConfig(config, { folder, env });
    const problem = findProblem(complete);
    if (problem === undefined) return { kind: "config", config: complete };
    // An option of the command line may be what is wrong.
    const isOfFile = !isDefault && Object.values(overrides).every((value) => value === undefined);
    return { kind: "wrong", message: isOfFile ? `${path}: ${problem}` : problem };
  } catch (error) {
    if (error instanceof ConfigProblem) return { kind: "wrong", message: `${path}: ${error.message}` };
    throw error;
  }
}

class ConfigProblem extends Error {}

/** As `parseUpstreamUrl` takes it. */
function isBare(text: string): boolean {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  return url === undefined || [url.username, url.password, url.search, url.hash].every((part) => part === "");
}

type WrittenOutcome =
  | { readonly kind: "written"; readonly config: WrittenConfig }
  | { readonly kind: "absent" | "wrong"; readonly message: string };

function readWritten(path: string): WrittenOutcome {
  let text: string;
  try {
    const { mode, size } = statSync(path);
    if (size > configBytesMax)
      return { kind: "wrong", message: `${path} is larger than ${configBytesMax / 2 ** 20} MB` };
    text = readFileSync(path, "utf8");
    if ((mode & 0o077) !== 0 && holdsKey(text))
      return { kind: "wrong", message: `${path} contains a key but other users can read it: run chmod 600 on it` };
  } catch (error) {
    const code = errorCode(error);
    if (code === undefined) throw error;
    return code === "ENOENT"
      ? { kind: "absent", message: `${path} does not exist` }
      : { kind: "wrong", message: `${path} can't be read (${code})` };
  }
  let value: Json;
  try {
    value = parseJson(text);
  } catch (error) {
    return { kind: "wrong", message: `${path} is not valid JSON (${jsonErrorPosition(text, error)})` };
  }
  const parsed = configForm.safeParse(value);
  if (parsed.success) return { kind: "written", config: parsed.data };
  const problems = parsed.error.issues.map((issue) => describeIssue(issue, fieldNames));
  return { kind: "wrong", message: `${path}: ${problems.join("; ")}` };
}

const fieldNames = [
  ...Object.keys(configForm.shape),
  ...Object.keys(contextForm.shape).map((name) => `context.${name}`),
];

/** Whether a key itself is written in the file, and not only where it is. */
function holdsKey(text: string): boolean {
  const parsed = configForm.safeParse(tryParseJson(text)).data;
  return (parsed?.users ?? []).some(({ upstreamKeys = {} }) =>
    [upstreamKeys.anthropic, upstreamKeys.openai].some((source) => typeof source === "string"),
  );
}

interface ConfigSource {
  readonly folder: string;
  readonly env: Readonly<Record<string, string | undefined>>;
}

function completeConfig(config: WrittenConfig, around: ConfigSource): GatewayConfig {
  const { tls, users = [], log, upstream } = config;
  return {
    upstream: upstream ?? upstreamDefault,
    host: config.host ?? "127.0.0.1",
    port: config.port ?? portDefault,
    names: config.names ?? [],
    origins: config.origins ?? [],
    tls:
      tls === undefined
        ? undefined
        : {
            cert: readNamed(tls.cert, { ...around, field: "tls.cert" }),
            key: readNamed(tls.key, { ...around, field: "tls.key" }),
          },
    insecure: config.insecure ?? false,
    users: users.map(({ upstreamKeys = {}, ...user }, at) => ({
      ...user,
      upstreamKeys: {
        anthropic: readKey(upstreamKeys.anthropic, { ...around, field: `users[${at}].upstreamKeys.anthropic` }),
        openai: readKey(upstreamKeys.openai, { ...around, field: `users[${at}].upstreamKeys.openai` }),
      },
    })),
    drainSeconds: config.drainSeconds ?? drainSecondsDefault,
    log: log === undefined ? undefined : resolve(around.folder, log),
    context: config.context ?? {},
    paths: config.paths ?? [],
    prices: Object.entries(config.prices ?? {}).map(([id, { input, output, ...cache }]) => {
      const { cacheRead = input, cacheWrite5m = input, cacheWrite1h = input } = cache;
      return { id, prices: { input, output, cacheRead, cacheWrite5m, cacheWrite1h } };
    }),
  };
}

interface NamedField extends ConfigSource {
  /** Of the config: it names what is read. */
  readonly field: string;
}

function readKey(source: KeySource | undefined, at: NamedField): string | undefined {
  if (source === undefined || typeof source === "string") return source;
  if ("file" in source) return readNamed(source.file, at).trim();
  const value = at.env[source.env];
  if (value === undefined || value === "")
    throw new ConfigProblem(`${at.field}: the variable ${source.env} is not set`);
  return value;
}

function readNamed(path: string, { folder, field }: NamedField): string {
  try {
    return readFileSync(resolve(folder, path), "utf8");
  } catch (error) {
    throw new ConfigProblem(`${field}: ${path} can't be read (${errorCode(error) ?? "unknown"})`, { cause: error });
  }
}
