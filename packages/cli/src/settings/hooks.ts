import {
  type HookSetting,
  hookEventNames,
  hookTimeoutSecondsMax,
  hookSettingShape,
  isHookEventName,
  matcherOf,
} from "palimpsest/internal/schema/hook";
import { field, isArray, isObject, type Json, type JsonObject, text } from "palimpsest/internal/schema/json";
import { hooksPerFileMax } from "palimpsest/internal/settings/limits";
import { type Problem, wrongValue } from "palimpsest/internal/settings/problem";

export interface ParsedHooks {
  readonly hooks: readonly HookSetting[];
  readonly problems: readonly Problem[];
}

/** The `hooks` of a settings file, one by one: a bad one is left out and said, the others count. */
export function parseHooks(json: Json, where: string): ParsedHooks {
  const found: Found = { hooks: [], problems: [], where };
  if (!isObject(json))
    return { hooks: [], problems: [wrong(found, { key: "hooks", expected: wholeExpects, value: json })] };
  for (const [event, groups] of Object.entries(json)) takeEvent(found, { event, groups });
  const over = found.hooks.length - hooksPerFileMax;
  if (over > 0)
    found.problems.push(
      error(found, { key: "hooks", what: `more than ${hooksPerFileMax} hooks; the last ${over} are ignored` }),
    );
  return { hooks: found.hooks.slice(0, hooksPerFileMax), problems: found.problems };
}

const wholeExpects = "an object of events, each with a list of matchers and their hooks";

interface Found {
  readonly hooks: HookSetting[];
  readonly problems: Problem[];
  readonly where: string;
}

function takeEvent(found: Found, { event, groups }: { event: string; groups: Json }): void {
  const key = `hooks.${event}`;
  if (!isHookEventName(event)) {
    const what = "is not an event that palimpsest fires; ignored";
    const unknown = { name: event, known: hookEventNames };
    found.problems.push({ severity: "warning", where: found.where, key, what, unknown });
    return;
  }
  if (!isArray(groups)) {
    found.problems.push(wrong(found, { key, expected: "a list of matchers and their hooks", value: groups }));
    return;
  }
  for (const [at, group] of groups.entries()) takeGroup(found, { event, group, key: `${key}[${at}]` });
}

interface Group {
  readonly event: HookSetting["event"];
  readonly group: Json;
  readonly key: string;
}

function takeGroup(found: Found, { event, group, key }: Group): void {
  if (!isObject(group)) {
    found.problems.push(wrong(found, { key, expected: 'an object with "matcher" and "hooks"', value: group }));
    return;
  }
  sayUnknown(found, { object: group, key, known: ["matcher", "hooks"] });
  const matcher = matcherIn(found, { group, key });
  const hooks = field(group, "hooks");
  if (!isArray(hooks))
    found.problems.push(wrong(found, { key: `${key}.hooks`, expected: "a list of hooks", value: hooks }));
  else if (matcher !== undefined)
    for (const [at, hook] of hooks.entries()) takeHook(found, { event, matcher, hook, key: `${key}.hooks[${at}]` });
}

/** Undefined where it makes no sense: a hook that ran at the wrong moments would be worse than one that does not run. */
function matcherIn(found: Found, { group, key }: { group: JsonObject; key: string }): string | undefined {
  const written = field(group, "matcher") ?? "";
  const place = `${key}.matcher`;
  if (typeof written !== "string") {
    found.problems.push(wrong(found, { key: place, expected: "a text", value: written }));
    return undefined;
  }
  const matcher = matcherOf(written);
  if (matcher.kind !== "wrong") return written;
  found.problems.push(
    error(found, { key: place, what: `is no regular expression (${matcher.why}); its hooks are ignored` }),
  );
  return undefined;
}

interface Hook {
  readonly event: HookSetting["event"];
  readonly matcher: string;
  readonly hook: Json;
  readonly key: string;
}

function takeHook(found: Found, { event, matcher, hook, key }: Hook): void {
  if (!isObject(hook)) {
    found.problems.push(wrong(found, { key, expected: 'an object with "type" and "command"', value: hook }));
    return;
  }
  const type = text(hook, "type");
  if (type !== "command") {
    found.problems.push(wrong(found, { key: `${key}.type`, expected: '"command"', value: field(hook, "type") }));
    return;
  }
  sayUnknown(found, { object: hook, key, known: ["type", "command", "timeout"] });
  const command = field(hook, "command");
  const timeout = field(hook, "timeout");
  const read = hookSettingShape.safeParse({
    event,
    matcher,
    command,
    ...(timeout === undefined ? {} : { timeoutSeconds: timeout }),
    from: found.where,
  });
  if (read.success) found.hooks.push(read.data);
  else for (const { path } of read.error.issues) found.problems.push(fieldProblem(found, { hook, key, of: path[0] }));
}

function fieldProblem(
  found: Found,
  { hook, key, of }: { hook: JsonObject; key: string; of: PropertyKey | undefined },
): Problem {
  return of === "timeoutSeconds"
    ? wrong(found, { key: `${key}.timeout`, expected: timeoutExpects, value: field(hook, "timeout") })
    : wrong(found, { key: `${key}.command`, expected: "a line for the shell", value: field(hook, "command") });
}

const timeoutExpects = `seconds, over 0 and up to ${hookTimeoutSecondsMax}`;

function sayUnknown(
  found: Found,
  { object, key, known }: { object: JsonObject; key: string; known: readonly string[] },
): void {
  for (const name of Object.keys(object)) {
    if (known.includes(name)) continue;
    const what = "is not a part of a hook that palimpsest knows; ignored";
    found.problems.push({
      severity: "warning",
      where: found.where,
      key: `${key}.${name}`,
      what,
      unknown: { name, known },
    });
  }
}

const error = ({ where }: Found, said: Pick<Problem, "key" | "what">): Problem => ({
  severity: "error",
  where,
  ...said,
});

const wrong = (
  { where }: Found,
  { key, expected, value }: { key: string; expected: string; value: Json | undefined },
): Problem => wrongValue({ severity: "error", where, key, expected, found: value });
