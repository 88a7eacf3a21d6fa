import type { z } from "zod";
import { isArray, isObject, type Json, type JsonObject } from "palimpsest/internal/schema/json";
import {
  isSettingName,
  reservedKeys,
  settingNames,
  settingTable,
  type SettingName,
} from "palimpsest/internal/schema/setting-table";
import { parseHooks } from "./parse-hooks.ts";
import {
  toServerListing,
  type ServerDefinition,
  serversKey,
  remoteShape,
  serverNameShape,
  stdioShape,
} from "palimpsest/internal/schema/server-definition";
import { duplicateKeyProblem, type Problem, problemSeverity, wrongValue } from "palimpsest/internal/settings/problem";
import { toPrintable } from "palimpsest/internal/text/to-printable";
import { serversPerFileMax } from "palimpsest/internal/settings/limits";

export interface ParsedSettings {
  readonly values: ReadonlyMap<SettingName, unknown>;
  /** Complete definitions, which may hold secrets; `values` holds the parts that may be shown. */
  readonly servers: readonly ServerDefinition[];
  /** `env` and other reserved keys, as written in the file. */
  readonly reserved: JsonObject;
  readonly problems: readonly Problem[];
  /** The file's sections for single projects. */
  readonly projects: readonly ProjectPart[];
}

export interface ProjectPart {
  /** As written in the file. */
  readonly root: string;
  readonly values: ReadonlyMap<SettingName, unknown>;
  /** Problems of this section only: they don't concern other projects. */
  readonly problems: readonly Problem[];
}

/** Parses a settings file key by key: one bad key never discards the rest. */
export function parseSettings(json: Json, where: string): ParsedSettings {
  const values = new Map<SettingName, unknown>();
  const problems: Problem[] = [];
  const reserved: [string, Json][] = [];
  const servers: ServerDefinition[] = [];
  let projects: readonly ProjectPart[] = [];
  if (!isObject(json)) {
    const problem = wrongValue({ severity: "error", where, key: "", expected: "an object of settings", found: json });
    return { values, servers, reserved: {}, problems: [problem], projects };
  }
  for (const [key, value] of Object.entries(json)) {
    if (reservedKeys.has(key)) reserved.push([key, value]);
    else if (key === "flags") problems.push(...addFlags({ value, where, values }));
    else if (key === "permissions") problems.push(...addPermissions({ value, where, values }));
    else if (key === serversKey) problems.push(...addServers({ value, where, values, servers }));
    else if (key === projectsKey) {
      projects = isObject(value)
        ? Object.entries(value).map(([root, part]) => parseProjectPart({ root, part, where }))
        : [];
      if (!isObject(value))
        problems.push(wrongValue({ severity: "error", where, key, expected: projectsExpects, found: value }));
    } else if (key === "hooks") problems.push(...addHooks({ value, where, values }));
    else problems.push(...addSetting({ key, value, where, values }));
  }
  return { values, servers, reserved: Object.fromEntries(reserved), problems, projects };
}

interface AddInput {
  readonly value: Json;
  readonly where: string;
  readonly values: Map<SettingName, unknown>;
}

function addFlags({ value, where, values }: AddInput): readonly Problem[] {
  if (!isObject(value)) {
    const expected = 'an object of switches, like {"snip": true}';
    return [wrongValue({ severity: "error", where, key: "flags", expected, found: value })];
  }
  return Object.entries(value).flatMap(([name, on]) => addSetting({ key: `flags.${name}`, value: on, where, values }));
}

function addPermissions({ value, where, values }: AddInput): readonly Problem[] {
  if (!isObject(value)) {
    const expected = 'an object with "allow", "ask", "deny" and "defaultMode"';
    return [wrongValue({ severity: "error", where, key: "permissions", expected, found: value })];
  }
  return Object.entries(value).flatMap(([name, one]) =>
    addSetting({ key: `permissions.${name}`, value: one, where, values }),
  );
}

export const projectsKey = "projects";
const projectsExpects = 'an object of projects by their folders, each with "permissions"';
const projectPartLists: ReadonlySet<string> = new Set<SettingName>(["allowedImports", "refusedImports"]);

/**
 * A project's section holds only what the user has answered: everything else that differs per project is in the
 * project's own files.
 */
function parseProjectPart({
  root,
  part,
  where,
}: {
  readonly root: string;
  readonly part: Json;
  readonly where: string;
}): ProjectPart {
  const values = new Map<SettingName, unknown>();
  const at = `${projectsKey}.${root}`;
  if (!isObject(part)) {
    const problem = wrongValue({
      severity: "error",
      where,
      key: at,
      expected: 'an object with "permissions"',
      found: part,
    });
    return { root, values, problems: [problem] };
  }
  const problems = Object.entries(part).flatMap(([key, value]) => {
    if (key === "permissions") return addPermissions({ value, where, values });
    return projectPartLists.has(key) ? addSetting({ key, value, where, values }) : [unknownKey(key, where)];
  });
  return { root, values, problems: problems.map((problem) => ({ ...problem, key: `${at}.${problem.key}` })) };
}

/** The file holds an object of lists; the resolved setting is one flat list. */
function addHooks({ value, where, values }: AddInput): readonly Problem[] {
  const { hooks, problems } = parseHooks(value, where);
  if (hooks.length > 0) values.set("hooks", hooks);
  return problems;
}

function addServers({ value, where, values, servers }: AddInput & { readonly servers: ServerDefinition[] }) {
  const { definitions, problems } = parseServers(value, where);
  servers.push(...definitions);
  if (definitions.length > 0) values.set(serversKey, definitions.map(toServerListing));
  return problems;
}

function addSetting({ key, value, where, values }: AddInput & { readonly key: string }): readonly Problem[] {
  if (!isSettingName(key)) return [unknownKey(key, where)];
  const row = settingTable[key];
  if (row.type === "list") return addList({ key, value, where, values });
  const read = row.shape.safeParse(value);
  if (read.success) {
    const doubled = values.has(key) ? [duplicateKeyProblem(key, where)] : [];
    values.set(key, read.data);
    return doubled;
  }
  return [wrongValue({ severity: problemSeverity(key, value), where, key, expected: row.expects, found: value })];
}

/**
 * Checks item by item: a bad item is left out, an unknown key in an item is only reported. A key may appear both by its
 * full name and inside its group's object: the lists are joined, so no deny rule is lost.
 */
function addList({ key, value, where, values }: AddInput & { readonly key: SettingName }): readonly Problem[] {
  const { shape, expects } = settingTable[key];
  if (!isArray(value)) return [wrongValue({ severity: "error", where, key, expected: expects, found: value })];
  const present = values.get(key);
  const before: readonly unknown[] = Array.isArray(present) ? present : [];
  const items = [...before];
  const problems: Problem[] = [];
  for (const [at, item] of value.entries()) {
    const place = { where, key: `${key}[${at}]` };
    const { known, dropped } = omitUnknownKeys(shape, item);
    problems.push(...dropped.map((path) => unknownKey(`${place.key}.${path}`, where)));
    const read = shape.safeParse(known);
    if (read.success) items.push(read.data);
    else problems.push(...read.error.issues.map((issue) => itemProblem({ ...place, issue, item })));
  }
  values.set(key, items);
  return problems;
}

function itemProblem({
  where,
  key,
  issue,
  item,
}: {
  readonly where: string;
  readonly key: string;
  readonly issue: z.core.$ZodIssue;
  readonly item: Json;
}): Problem {
  const path = issue.path.map((step) => (typeof step === "number" ? `[${step}]` : `.${String(step)}`)).join("");
  const expected = describeExpected(issue);
  return wrongValue({ severity: "error", where, key: `${key}${path}`, expected, found: valueAt(item, issue.path) });
}

function describeExpected(issue: z.core.$ZodIssue): string {
  switch (issue.code) {
    case "invalid_type":
      return issue.expected === "int" ? "a whole number" : withArticle(issue.expected);
    case "too_small":
      if (issue.origin === "string") return "a text that is not empty";
      return `a number ${issue.inclusive === false ? "over" : "from"} ${issue.minimum}`;
    case "invalid_value":
      return `one of ${issue.values.map(String).join(", ")}`;
    default:
      return issue.message;
  }
}

const withArticle = (type: string): string => `${/^[aeiou]/.test(type) ? "an" : "a"} ${type}`;

const valueAt = (json: Json, path: readonly PropertyKey[]): Json | undefined =>
  path.reduce<Json | undefined>((value, step) => {
    if (isArray(value)) return value[Number(step)];
    return isObject(value) && Object.hasOwn(value, step) ? value[String(step)] : undefined;
  }, json);

/** The item without the keys that its shape does not know, and the paths of the dropped keys. */
function omitUnknownKeys(shape: z.ZodType, item: Json): { known: Json; dropped: readonly string[] } {
  const read = shape.safeParse(item);
  if (read.success) return { known: item, dropped: [] };
  const dropped = read.error.issues.flatMap((issue) =>
    issue.code === "unrecognized_keys" ? issue.keys.map((key) => [...issue.path.map(String), key].join(".")) : [],
  );
  return { known: omitKeys(item, new Set(dropped)), dropped };
}

function omitKeys(json: Json, dropped: ReadonlySet<string>, above = ""): Json {
  if (!isObject(json)) return json;
  const kept = Object.entries(json).filter(([key]) => !dropped.has(`${above}${key}`));
  return Object.fromEntries(kept.map(([key, value]) => [key, omitKeys(value, dropped, `${above}${key}.`)]));
}

/** Settings that are grouped in an object of the file. */
const groupNames = ["flags", "permissions"] as const;
const groupName = (key: string): string | undefined => groupNames.find((object) => key.startsWith(`${object}.`));
const topKeys = [...new Set(settingNames.map((name) => groupName(name) ?? name)), projectsKey];

function siblingKeys(key: string): readonly string[] {
  const object = groupName(key);
  return object === undefined ? topKeys : settingNames.filter((name) => groupName(name) === object);
}

/** Keys of other agents for features that palimpsest lacks; they forbid nothing. */
const harmlessUnknown: ReadonlySet<string> = new Set(["permissions.additionalDirectories"]);

/** A misspelt deny rule would silently not apply, so it is an error and not a warning. */
const mayDeny = (key: string): boolean => /^(permissions(\.|$)|sandbox$)/i.test(key) && !harmlessUnknown.has(key);

const unknownKey = (key: string, where: string): Problem => ({
  severity: mayDeny(key) ? "error" : "warning",
  where,
  key,
  what: "is not a setting that palimpsest knows; ignored",
  // No suggestion: names that forbid resemble names that allow, and the user may follow "did you mean
  // permissions.allow?".
  ...(groupName(key) === "permissions" ? {} : { unknown: { name: key, known: siblingKeys(key) } }),
});

interface ParsedServers {
  readonly definitions: readonly ServerDefinition[];
  readonly problems: readonly Problem[];
}

/** Parses `mcpServers` of a file one by one: a bad server is left out and reported, the others count. */
function parseServers(value: Json, where: string): ParsedServers {
  if (!isObject(value)) {
    const expected = "an object of servers by name";
    const problem = wrongValue({ severity: "error", where, key: serversKey, expected, found: value });
    return { definitions: [], problems: [problem] };
  }
  const problems: Problem[] = [];
  const entries = Object.entries(value);
  if (entries.length > serversPerFileMax) {
    const what = `more than ${serversPerFileMax} servers; the others are ignored`;
    problems.push({ severity: "error", where, key: serversKey, what });
  }
  const definitions = entries.slice(0, serversPerFileMax).flatMap(([name, written]) => {
    const read = parseServer(name, written);
    if (read.kind === "read") return [read.definition];
    // The value is not shown: headers and variables may hold secrets.
    problems.push({
      severity: "error",
      where,
      key: `${serversKey}.${toPrintable(name)}`,
      what: `${read.why}; ignored`,
    });
    return [];
  });
  return { definitions, problems };
}

type ServerParse =
  | { readonly kind: "read"; readonly definition: ServerDefinition }
  | { readonly kind: "wrong"; readonly why: string };

function parseServer(name: string, written: Json): ServerParse {
  if (!serverNameShape.safeParse(name).success)
    return {
      kind: "wrong",
      why: "a server's name may have letters, digits, - and single _ between them, at most 64 characters",
    };
  const stdio = stdioShape.safeParse(written);
  if (stdio.success) {
    const { command, args, env } = stdio.data;
    return { kind: "read", definition: { kind: "stdio", name, command, args, env } };
  }
  const remote = remoteShape.safeParse(written);
  if (!remote.success)
    return {
      kind: "wrong",
      why: 'expected "command" with "args" and "env", or "type" (http or sse) with "url" and "headers"',
    };
  const { type: kind, url, headers } = remote.data;
  return { kind: "read", definition: { kind, name, url, headers } };
}
