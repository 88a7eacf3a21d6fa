import {
  type HookSetting,
  hookEventNames,
  hookTimeoutSecondsMax,
  hookSettingShape,
  isHookEventName,
  parseMatcher,
} from "palimpsest/internal/schema/hook";
import { field, isArray, isObject, type Json, type JsonObject, textField } from "palimpsest/internal/schema/json";
import { hooksPerFileMax } from "palimpsest/internal/settings/limits";
import { type Problem, wrongValue } from "palimpsest/internal/settings/problem";

interface ParsedHooks {
  readonly hooks: readonly HookSetting[];
  readonly problems: readonly Problem[];
}

/** Parses the `hooks` of a settings file one by one: a bad hook is left out and reported, the others count. */
export function parseHooks(json: Json, where: string): ParsedHooks {
  const found: HooksParse = { hooks: [], problems: [], where };
  if (!isObject(json))
    return { hooks: [], problems: [wrongHookValue(found, { key: "hooks", expected: hooksExpects, value: json })] };
  for (const [event, groups] of Object.entries(json)) addEvent(found, { event, groups });
  const over = found.hooks.length - hooksPerFileMax;
  if (over > 0)
    found.problems.push(
      hookError(found, { key: "hooks", what: `more than ${hooksPerFileMax} hooks; the last ${over} are ignored` }),
    );
  return { hooks: found.hooks.slice(0, hooksPerFileMax), problems: found.problems };
}

const hooksExpects = "an object of events, each with a list of matchers and their hooks";

interface HooksParse {
  readonly hooks: HookSetting[];
  readonly problems: Problem[];
  readonly where: string;
}

function addEvent(found: HooksParse, { event, groups }: { event: string; groups: Json }): void {
  const key = `hooks.${event}`;
  if (!isHookEventName(event)) {
    const what = "is not an event that palimpsest fires; ignored";
    const unknown = { name: event, known: hookEventNames };
    found.problems.push({ severity: "warning", where: found.where, key, what, unknown });
    return;
  }
  if (!isArray(groups)) {
    found.problems.push(wrongHookValue(found, { key, expected: "a list of matchers and their hooks", value: groups }));
    return;
  }
  for (const [at, group] of groups.entries()) addGroup(found, { event, group, key: `${key}[${at}]` });
}

function addGroup(
  found: HooksParse,
  { event, group, key }: { readonly event: HookSetting["event"]; readonly group: Json; readonly key: string },
): void {
  if (!isObject(group)) {
    found.problems.push(wrongHookValue(found, { key, expected: 'an object with "matcher" and "hooks"', value: group }));
    return;
  }
  warnUnknownKeys(found, { object: group, key, known: ["matcher", "hooks"] });
  const matcher = readMatcher(found, { group, key });
  const hooks = field(group, "hooks");
  if (!isArray(hooks))
    found.problems.push(wrongHookValue(found, { key: `${key}.hooks`, expected: "a list of hooks", value: hooks }));
  else if (matcher !== undefined)
    for (const [at, hook] of hooks.entries()) addHook(found, { event, matcher, hook, key: `${key}.hooks[${at}]` });
}

/** Undefined if the matcher is invalid: a hook that runs at the wrong moments is worse than one that does not run. */
function readMatcher(found: HooksParse, { group, key }: { group: JsonObject; key: string }): string | undefined {
  const written = field(group, "matcher") ?? "";
  const place = `${key}.matcher`;
  if (typeof written !== "string") {
    found.problems.push(wrongHookValue(found, { key: place, expected: "a text", value: written }));
    return undefined;
  }
  const matcher = parseMatcher(written);
  if (matcher.kind !== "wrong") return written;
  found.problems.push(
    hookError(found, { key: place, what: `is not a regular expression (${matcher.why}); its hooks are ignored` }),
  );
  return undefined;
}

function addHook(
  found: HooksParse,
  {
    event,
    matcher,
    hook,
    key,
  }: { readonly event: HookSetting["event"]; readonly matcher: string; readonly hook: Json; readonly key: string },
): void {
  if (!isObject(hook)) {
    found.problems.push(wrongHookValue(found, { key, expected: 'an object with "type" and "command"', value: hook }));
    return;
  }
  const type = textField(hook, "type");
  if (type !== "command") {
    found.problems.push(
      wrongHookValue(found, { key: `${key}.type`, expected: '"command"', value: field(hook, "type") }),
    );
    return;
  }
  warnUnknownKeys(found, { object: hook, key, known: ["type", "command", "timeout"] });
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
  found: HooksParse,
  { hook, key, of }: { hook: JsonObject; key: string; of: PropertyKey | undefined },
): Problem {
  return of === "timeoutSeconds"
    ? wrongHookValue(found, { key: `${key}.timeout`, expected: timeoutExpects, value: field(hook, "timeout") })
    : wrongHookValue(found, { key: `${key}.command`, expected: "a line for the shell", value: field(hook, "command") });
}

const timeoutExpects = `seconds, over 0 and up to ${hookTimeoutSecondsMax}`;

function warnUnknownKeys(
  found: HooksParse,
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

const hookError = ({ where }: HooksParse, problem: Pick<Problem, "key" | "what">): Problem => ({
  severity: "error",
  where,
  ...problem,
});

const wrongHookValue = (
  { where }: HooksParse,
  { key, expected, value }: { key: string; expected: string; value: Json | undefined },
): Problem => wrongValue({ severity: "error", where, key, expected, found: value });
