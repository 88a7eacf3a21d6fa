import { expect, test } from "vitest";
import { noUser, type PermissionAnswer, type PermissionPrompt } from "palimpsest/internal/ports/user-port";
import { toolUseId } from "palimpsest/internal/schema/brand";
import { createPermit } from "../../permission/create-permit.ts";
import type { PermissionMode } from "../../permission/decide-permission.ts";
import { type RuleTexts, parseRules } from "../../permission/rule.ts";
import { type HostAnswer, isHostNamed, SessionHosts } from "./session-hosts.ts";
import { hostQuestionsMax } from "../limits.ts";

type Answering = (ask: PermissionPrompt, signal: AbortSignal) => Promise<PermissionAnswer>;

interface Stage {
  readonly asks: PermissionPrompt[];
  readonly kept: string[];
  /** A command of its own, with what ends it. */
  readonly command: (signal?: AbortSignal) => (host: string, port?: number) => Promise<HostAnswer>;
}

function stage(
  options: { rules?: RuleTexts; mode?: PermissionMode; answer?: Answering | PermissionAnswer } = {},
): Stage {
  const asks: PermissionPrompt[] = [];
  const kept: string[] = [];
  let allow = options.rules?.allow ?? [];
  const rules = () => parseRules({ ...options.rules, allow }).rules;
  const { answer = { kind: "nobody" } } = options;
  const hosts = new SessionHosts({
    isNamed: (host) => isHostNamed(rules(), host),
    permit: (request) =>
      createPermit({ mode: options.mode ?? "default", rules: rules(), roots: ["/p"], home: "/h" })(request),
    user: {
      ...noUser,
      permission: async (ask, signal) => {
        asks.push(ask);
        return typeof answer === "function" ? answer(ask, signal) : answer;
      },
    },
    describeProjectRule: async () => "kept in /h/settings.json for /p",
    allowAlways: async ({ rules: given, scope }) => {
      kept.push(`${given.join()} ${scope}`);
      allow = [...allow, ...given];
      return { kind: "kept" };
    },
  });
  return {
    asks,
    kept,
    command: (signal = new AbortController().signal) => {
      const access = hosts.forCommand({ toolUse: toolUseId("t"), command: "npm ci", signal });
      return (host, port = 443) => access.decide({ host, port }, new AbortController().signal);
    },
  };
}

const open: HostAnswer = { kind: "open" };
const refusedFor = (why: string): HostAnswer => ({ kind: "refused", why });

test.each<[string, RuleTexts, string, HostAnswer]>([
  ["an allow rule opens its host", { allow: ["WebFetch(domain:a.org)"] }, "a.org", open],
  ["an allow rule with a star opens hosts below", { allow: ["WebFetch(domain:*.a.org)"] }, "x.a.org", open],
  ["an allow rule for all opens every name", { allow: ["WebFetch"] }, "b.org", open],
  [
    "a deny rule beats it",
    { allow: ["WebFetch"], deny: ["WebFetch(domain:a.org)"] },
    "x.a.org",
    refusedFor("the rule WebFetch(domain:a.org) forbids it"),
  ],
  [
    "where there is nobody to ask, no rule means no",
    { allow: ["WebFetch(domain:a.org)"] },
    "b.a.org",
    refusedFor("no rule allows it, and there is nobody to ask"),
  ],
  ["an address needs a rule that names it", { allow: ["WebFetch(domain:10.0.0.1)"] }, "10.0.0.1", open],
  [
    "a rule for all names no address",
    { allow: ["WebFetch"] },
    "1.1.1.1",
    refusedFor("only an allow rule that names it opens it: WebFetch(domain:1.1.1.1)"),
  ],
  [
    "nor does a rule for what is below",
    { allow: ["WebFetch(domain:*.localhost)"] },
    "a.localhost",
    refusedFor("only an allow rule that names it opens it: WebFetch(domain:a.localhost)"),
  ],
  [
    "a deny rule beats one that names an address",
    { allow: ["WebFetch(domain:[::1])"], deny: ["WebFetch"] },
    "[::1]",
    refusedFor("the rule WebFetch forbids it"),
  ],
])("%s", async (_name, rules, host, answer) => {
  expect(await stage({ rules }).command()(host)).toEqual(answer);
});

test("addresses and localhost are not asked about", async () => {
  const { asks, command } = stage({ answer: { kind: "once" } });
  for (const host of ["1.1.1.1", "[::1]", "localhost", "x.localhost"])
    expect(await command()(host)).toMatchObject({ kind: "refused" });
  expect(asks).toEqual([]);
});

test("bypass opens names without a question, and no addresses", async () => {
  const { asks, command } = stage({ mode: "bypass", rules: { deny: ["WebFetch(domain:b.org)"] } });
  const decide = command();
  expect(await decide("a.org")).toEqual(open);
  expect(await decide("b.org")).toMatchObject({ kind: "refused" });
  expect(await decide("127.0.0.1")).toMatchObject({ kind: "refused" });
  expect(asks).toEqual([]);
});

test("the user is asked about the host, with the command, the rule that would allow it and where it would be kept", async () => {
  const { asks, command } = stage({ answer: { kind: "once" } });
  expect(await command()("a.org", 8443)).toEqual(open);
  expect(asks).toEqual([
    {
      toolUse: "t",
      tool: "bash",
      input: { command: "npm ci" },
      acts: [{ kind: "fetch", url: "http://a.org:8443/", host: "a.org" }],
      reason: "The command wants to connect to a.org at port 8443, and no rule says whether it may.",
      suggestedRules: ["WebFetch(domain:a.org)"],
      projectRuleNote: "kept in /h/settings.json for /p",
    },
  ]);
});

test("connections to one host share one question, in the command and after it", async () => {
  const given = Promise.withResolvers<PermissionAnswer>();
  const { asks, command } = stage({ answer: () => given.promise });
  const decide = command();
  const answers = Promise.all([decide("a.org"), decide("a.org", 80), decide("a.org")]);
  given.resolve({ kind: "once" });
  expect(await answers).toEqual([open, open, open]);
  expect(await decide("a.org")).toEqual(open);
  expect(asks).toHaveLength(1);
});

test("another service of a host is another question", async () => {
  const { asks, command } = stage({ answer: { kind: "once" } });
  const decide = command();
  for (const port of [443, 80, 22, 22]) await decide("a.org", port);
  expect(asks.map(({ reason }) => / port (\d+)/.exec(reason)?.[1])).toEqual(["443", "22"]);
});

test("once is for one command; the next one asks again", async () => {
  const { asks, command } = stage({ answer: { kind: "once" } });
  expect([await command()("a.org"), await command()("a.org")]).toEqual([open, open]);
  expect(asks).toHaveLength(2);
});

test.each(["session", "project"] as const)(
  "always is a rule (%s), and the next command asks no more",
  async (scope) => {
    const { asks, kept, command } = stage({ answer: { kind: "always", rules: ["WebFetch(domain:a.org)"], scope } });
    expect([await command()("a.org"), await command()("a.org")]).toEqual([open, open]);
    expect([asks.length, kept]).toEqual([1, [`WebFetch(domain:a.org) ${scope}`]]);
  },
);

test("a no holds for the session, with the user's words for the model", async () => {
  const { asks, command } = stage({ answer: { kind: "denied", words: "use the mirror" } });
  expect(await command()("a.org")).toEqual(refusedFor("the user said no: use the mirror"));
  expect(await command()("a.org")).toEqual(refusedFor("the user said no"));
  expect(asks).toHaveLength(1);
});

test("questions are put one after the other, and what an answer settles is not asked any more", async () => {
  let shown = 0;
  let most = 0;
  const { asks, command } = stage({
    answer: async () => {
      most = Math.max(most, (shown += 1));
      await new Promise((resolve) => setTimeout(resolve, 5));
      shown -= 1;
      return { kind: "always", rules: ["WebFetch"], scope: "session" };
    },
  });
  const [one, other] = [command(), command()];
  expect(await Promise.all([one("a.org"), other("b.org"), one("c.org")])).toEqual([open, open, open]);
  expect([asks.length, most]).toEqual([1, 1]);
});

test("an interrupt refuses what is asked and what waits, and does not count as the user's no", async () => {
  const abort = new AbortController();
  const { asks, command } = stage({ answer: () => new Promise(() => undefined) });
  const decide = command(abort.signal);
  const answers = Promise.all([decide("a.org"), decide("b.org")]);
  await new Promise((resolve) => setTimeout(resolve, 5));
  abort.abort();
  const interrupted = refusedFor("the command was interrupted");
  expect(await answers).toEqual([interrupted, interrupted]);
  expect(asks).toHaveLength(1);
  void command()("a.org");
  await new Promise((resolve) => setTimeout(resolve, 5));
  expect(asks).toHaveLength(2);
});

test("a command that asks for too many hosts is not answered any more", async () => {
  const { asks, command } = stage({ answer: { kind: "once" } });
  const decide = command();
  for (let at = 0; at < hostQuestionsMax; at += 1) expect(await decide(`h${at}.org`)).toEqual(open);
  expect(await decide("more.org")).toMatchObject({ kind: "refused" });
  expect(asks).toHaveLength(hostQuestionsMax);
  expect(await command()("more.org")).toEqual(open);
});

test("a rule that forbids a host from now on beats an answer for the command", async () => {
  let deny: readonly string[] = [];
  const hosts = new SessionHosts({
    isNamed: () => false,
    permit: (request) =>
      createPermit({ mode: "default", rules: parseRules({ deny }).rules, roots: ["/p"], home: "/h" })(request),
    user: { ...noUser, permission: async () => ({ kind: "once" }) },
    allowAlways: async () => ({ kind: "kept" }),
  });
  const { signal } = new AbortController();
  const access = hosts.forCommand({ toolUse: toolUseId("t"), command: "x", signal });
  expect(await access.decide({ host: "a.org", port: 443 }, signal)).toEqual(open);
  deny = ["WebFetch(domain:a.org)"];
  expect(await access.decide({ host: "a.org", port: 443 }, signal)).toMatchObject({ kind: "refused" });
});
