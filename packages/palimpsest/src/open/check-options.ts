import type { ContextError } from "../context/context-error.ts";
import { type Provider, providers } from "../context/provider-formats.ts";
import { badOptionError, checkModel, checkTools } from "../context/inputs.ts";
import type { Policy } from "../layers/policy.ts";
import { policyShape } from "../layers/policy-shape.ts";
import { type PolicyName, policyNames, savingLevels } from "../schema/policy-names.ts";
import type { CountText } from "../tokens/text-counter.ts";
import type { BackgroundOptions, ContextOptions } from "./options.ts";

/** An older Node lacks what the engine uses all over, and would fail in the middle of a conversation with a riddle. */
export function checkPlatform(setMethods: object = Set.prototype): void {
  if (!("union" in setMethods))
    throw new Error(`palimpsest needs Node 22 or newer; this is Node ${process.versions.node}.`);
}

/** For callers without a compiler: throws on a value that would fail later. */
export function checkOptions<P extends Provider>(options: ContextOptions<P>): void {
  const {
    model,
    provider = "anthropic",
    policy,
    saving,
    contextTokens,
    outputTokensMax,
    session,
    tools = [],
    thinking,
    tokenCounter,
    secrets = "keep",
    secretScanner,
    background,
    summarizer,
    store,
    clock,
    ids,
  } = options;
  checkModel(model);
  checkTools(tools);
  if (!providers.includes(provider)) throw wrongOption("provider", `one of ${providers.join(", ")}`);
  if (thinking !== undefined && provider !== "anthropic")
    throw wrongOption("thinking", "absent: only the Messages API has it");
  if (policy !== undefined) checkPolicy(policy);
  if (saving !== undefined && !savingLevels.includes(saving))
    throw wrongOption("saving", `one of ${savingLevels.join(", ")}`);
  if (saving !== undefined && policy !== undefined && policy !== "palimpsest")
    throw wrongOption("saving", 'absent if policy is not "palimpsest": no other policy has levels of saving');
  if (tokenCounter !== undefined) checkCounter(tokenCounter);
  if (secrets !== "keep" && secrets !== "redact") throw wrongOption("secrets", "keep or redact");
  if (secretScanner !== undefined && typeof secretScanner.scan !== "function")
    throw wrongOption("secretScanner", "an object with a function scan");
  if (background !== undefined) checkBackground(background);
  if (Object.values(background ?? {}).includes("on")) {
    if (typeof summarizer !== "function")
      throw wrongOption("background", "off, unless summarizer is a function: it answers the forks");
    if (store === undefined)
      throw wrongOption("background", "off without a store: memories would end with the context");
  }
  for (const [name, value] of Object.entries({ clock, ids }))
    if (value !== undefined && typeof value !== "function") throw wrongOption(name, "a function without parameters");
  for (const [name, value] of Object.entries({ contextTokens, outputTokensMax }))
    if (typeof value !== "function") checkLimit(name, value);
  if (session !== undefined && !/^[A-Za-z0-9_][A-Za-z0-9._-]{0,179}$/.test(session))
    throw wrongOption("session", "at most 180 letters, digits, dots, dashes and underscores");
}

export function checkLimit(name: string, value: number | undefined): void {
  if (value !== undefined && !(Number.isSafeInteger(value) && value > 0))
    throw wrongOption(name, "a whole number above 0");
}

function checkBackground(background: BackgroundOptions): void {
  for (const [name, value] of Object.entries(background)) {
    if (!backgroundNames.has(name))
      throw badOptionError(`The option background has no ${name}; it has ${[...backgroundNames].join(" and ")}.`);
    if (value !== undefined && value !== "on" && value !== "off") throw wrongOption(`background.${name}`, "on or off");
  }
}

const backgroundNames: ReadonlySet<string> = new Set(["extraction", "dream"] satisfies (keyof BackgroundOptions)[]);

function checkPolicy(policy: PolicyName | Policy): void {
  if (typeof policy === "string") {
    if (!policyNames.includes(policy)) throw wrongOption("policy", `one of ${policyNames.join(", ")}, or an object`);
    return;
  }
  const read = policyShape.safeParse(policy);
  const problem = read.error?.issues[0];
  if (problem !== undefined)
    throw badOptionError(`The option policy is wrong at ${["policy", ...problem.path].join(".")}: ${problem.message}.`);
}

/** Calls the counter once, so that one that throws or returns a promise fails here and not in the middle of a conversation. */
function checkCounter(count: CountText): void {
  const expected = "a function that returns the token count of a text, without a promise";
  if (typeof count !== "function") throw wrongOption("tokenCounter", expected);
  const counted = count("How many tokens has this?");
  if (!Number.isFinite(counted) || counted < 0) throw wrongOption("tokenCounter", expected);
}

const wrongOption = (option: string, expected: string): ContextError =>
  badOptionError(`The option ${option} must be ${expected}.`);
