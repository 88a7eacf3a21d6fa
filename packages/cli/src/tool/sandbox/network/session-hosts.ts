import { raceAbort } from "palimpsest/internal/schema/race-abort";
import { noUser, type UserPort } from "palimpsest/internal/ports/user-port";
import type { AllowRuleDep, PermissionDep } from "palimpsest/internal/ports/tool";
import type { ToolUseId } from "palimpsest/internal/schema/brand";
import { matchesDomain, type Rules, parseHost } from "../../permission/rule.ts";
import { askedCommandCharsMax, hostQuestionsMax, hostsDeniedMax } from "../limits.ts";
import type { LookupAddress } from "node:dns";
import { BlockList, isIP } from "node:net";

/** Decides which hosts the programs of one command may reach. */
export interface HostAccess {
  /** Called for each connection, before its name is resolved. Must not reject; an abort refuses. */
  decide(target: HostTarget, signal: AbortSignal): Promise<HostAnswer>;
  /** Whether an allow rule names exactly this host or address. */
  isNamed(host: string): boolean;
}

export interface HostTarget {
  /** Normalised; IPv6 in brackets. */
  readonly host: string;
  readonly port: number;
}

export type HostAnswer =
  | { readonly kind: "open" }
  /** `why`: one line, for the program and the model. */
  | { readonly kind: "refused"; readonly why: string };

interface SessionHostsDeps extends Pick<AllowRuleDep, "allowAlways" | "describeProjectRule">, PermissionDep {
  /** By the current rules: whether an allow rule names exactly this host. */
  readonly isNamed: (host: string) => boolean;
  readonly user: UserPort;
}

export interface NetworkCommand {
  readonly toolUse: ToolUseId;
  readonly command: string;
  /** The beginning of the question's sentence; "The command" if absent. */
  readonly calledAs?: string;
  /** Of the call or the job: once aborted, the question needs no answer any more. */
  readonly signal: AbortSignal;
}

/** The user's answers about hosts in one session, in addition to rules. Questions are asked one after the other. */
export class SessionHosts {
  readonly #deps: SessionHostsDeps;
  readonly #denied = new Set<string>();
  #last: Promise<unknown> = Promise.resolve();

  constructor(deps: SessionHostsDeps) {
    this.#deps = deps;
  }

  /** For a fork, which has no user: hosts that no rule allows are refused. */
  withoutUser(): SessionHosts {
    return new SessionHosts({ ...this.#deps, user: noUser });
  }

  /** "Once" applies to one command, and so does the limit of questions. */
  forCommand(command: NetworkCommand): HostAccess {
    const pending = new Map<string, Promise<HostAnswer>>();
    let questions = 0;
    return {
      isNamed: this.#deps.isNamed,
      decide: async (target, signal) => {
        const ruleAnswer = await this.#applyRules(target);
        if (ruleAnswer.kind !== "ask") return ruleAnswer;
        const key = hostKey(target);
        const known = pending.get(key);
        if (known !== undefined) return known;
        if (questions >= hostQuestionsMax)
          return refuseHost(`this command has asked for ${hostQuestionsMax} hosts already`);
        questions += 1;
        const ended = AbortSignal.any([signal, command.signal]);
        const answer = this.#inTurn(() => this.#ask(target, { ...command, signal: ended }));
        pending.set(key, answer);
        return answer;
      },
    };
  }

  async #applyRules({ host, port }: HostTarget): Promise<HostAnswer | HostQuestion> {
    if ((isAddress(host) || isLocalName(host)) && !this.#deps.isNamed(host))
      return refuseHost(`only an allow rule that names it opens it: WebFetch(domain:${host})`);
    const acts = [{ kind: "fetch", url: hostUrl({ host, port }), host }] as const;
    const verdict = await this.#deps.permit({ tool: "bash", input: {}, acts });
    switch (verdict.kind) {
      case "allowed":
        return { kind: "open" };
      case "denied":
        return refuseHost(verdict.reason);
      case "ask":
        return this.#denied.has(hostKey({ host, port })) ? refuseHost(userRefusal) : { ...verdict, acts };
    }
  }

  /** Checks the rules again when it is this question's turn: the answer to another may have settled it. */
  async #ask(
    target: HostTarget,
    { toolUse, command, calledAs = "The command", signal }: NetworkCommand,
  ): Promise<HostAnswer> {
    const ruleAnswer = await this.#applyRules(target);
    if (ruleAnswer.kind !== "ask") return ruleAnswer;
    const { acts, suggestedRules } = ruleAnswer;
    const { user, describeProjectRule, allowAlways } = this.#deps;
    const ruleNote = suggestedRules === undefined ? undefined : await describeProjectRule?.();
    if (signal.aborted) return refuseHost("the command was interrupted");
    const reason = `${calledAs} wants to connect to ${target.host} at port ${target.port}, and no rule says whether it may.`;
    const answer = await raceAbort(
      user.permission(
        {
          toolUse,
          tool: "bash",
          input: { command: shortenCommand(command) },
          acts,
          reason,
          ...(suggestedRules === undefined ? {} : { suggestedRules }),
          ...(ruleNote === undefined ? {} : { projectRuleNote: ruleNote }),
        },
        signal,
      ),
      { signal, instead: () => undefined },
    );
    switch (answer?.kind) {
      case undefined:
      case "interrupted":
        return refuseHost("the command was interrupted");
      case "once":
        return { kind: "open" };
      case "always":
        await allowAlways({ rules: answer.rules, scope: answer.scope });
        return { kind: "open" };
      case "denied":
        this.#remember(hostKey(target));
        return refuseHost(answer.words === undefined ? userRefusal : `${userRefusal}: ${answer.words}`);
      case "nobody":
        return refuseHost("no rule allows it, and there is nobody to ask");
    }
  }

  #inTurn(ask: () => Promise<HostAnswer>): Promise<HostAnswer> {
    const answer = this.#last.then(ask);
    this.#last = answer.catch(() => undefined);
    return answer;
  }

  #remember(key: string): void {
    this.#denied.add(key);
    const [oldest] = this.#denied;
    if (this.#denied.size > hostsDeniedMax && oldest !== undefined) this.#denied.delete(oldest);
  }
}

/** Whether an allow rule names exactly this host: neither a pattern nor a rule for every host does. */
export const isHostNamed = (rules: Rules, host: string): boolean =>
  rules.allow.some(
    (rule) =>
      rule.kind === "fetch" &&
      rule.domain?.reach === "itself" &&
      matchesDomain(host, { domain: rule.domain, use: "allow" }),
  );

interface HostQuestion {
  readonly kind: "ask";
  readonly acts: readonly [{ readonly kind: "fetch"; readonly url: string; readonly host: string }];
  readonly suggestedRules?: readonly string[];
}

const refuseHost = (why: string): HostAnswer => ({ kind: "refused", why });
const userRefusal = "the user said no";

const shortenCommand = (command: string): string =>
  command.length > askedCommandCharsMax ? `${command.slice(0, askedCommandCharsMax)}…` : command;

/** An answer about a host covers its web ports; another port is another service. */
const hostKey = ({ host, port }: HostTarget): string => (webPorts.has(port) ? host : `${host}:${port}`);
const webPorts: ReadonlySet<number> = new Set([80, 443]);

const hostUrl = ({ host, port }: HostTarget): string =>
  port === 80 ? `http://${host}/` : port === 443 ? `https://${host}/` : `http://${host}:${port}/`;

/** The addresses of a name, resolved once. The connection uses exactly these: the name is not resolved again. */
type AddressCheck =
  | { readonly kind: "open"; readonly addresses: readonly LookupAddress[] }
  /** `why`: one line for the model. */
  | { readonly kind: "refused"; readonly why: string };

interface AddressRules {
  /** Whether an address is public. */
  readonly mayConnect: (address: string) => boolean;
  /** Whether an allow rule names this address itself, or `localhost` for it. */
  readonly isNamed: (host: string) => boolean;
}

/**
 * The owner of a name decides where it leads. So allowing a name does not allow private addresses: a rule has to name
 * the address. Addresses at which clouds hand out keys are never allowed. One refused address refuses the name.
 */
export function checkAddresses(
  { host, addresses }: { readonly host: string; readonly addresses: readonly LookupAddress[] },
  { mayConnect, isNamed }: AddressRules,
): AddressCheck {
  if (addresses.length === 0) return { kind: "refused", why: `there is no host called ${host}` };
  for (const { address } of addresses) {
    const leads = bareHost(host) === address ? `${host} is` : `${host} leads to ${address}, which is`;
    if (isNeverOpen(address)) return { kind: "refused", why: `${leads} an address that is never opened` };
    const isAllowedByName = isNamed(toHost(address)) || (isLocalName(host) && isLoopback(address) && isNamed(host));
    if (!mayConnect(address) && !isAllowedByName)
      return {
        kind: "refused",
        why: `${leads} not on the open net; an allow rule would have to name it: WebFetch(domain:${toHost(address)})`,
      };
  }
  return { kind: "open", addresses };
}

/** Names of this machine itself (RFC 6761): as private as its address. */
const isLocalName = (host: string): boolean => /(?:^|\.)localhost$/.test(host);

/** `[::1]` → `::1`. */
export const bareHost = (host: string): string => host.replace(/^\[(.*)\]$/, "$1");

export const isAddress = (host: string): boolean => isIP(bareHost(host)) !== 0;

/** As written in URLs, and so in rules. */
const toHost = (address: string): string =>
  isIP(address) === 6 ? (parseHost(`http://[${address}]`) ?? `[${address}]`) : address;

function isNeverOpen(address: string): boolean {
  const [withoutZone = ""] = address.split("%");
  const family = isIP(withoutZone);
  return family === 0 || neverOpen.check(withoutZone, family === 6 ? "ipv6" : "ipv4");
}

const isLoopback = (address: string): boolean =>
  isIP(address) !== 0 && loopback.check(address, isIP(address) === 6 ? "ipv6" : "ipv4");

const loopback = new BlockList();
loopback.addSubnet("127.0.0.0", 8, "ipv4");
loopback.addAddress("::1", "ipv6");

/**
 * Link-local addresses, multicast, "any address", and the metadata services of clouds, which hand out the machine's
 * keys.
 */
const neverOpen = new BlockList();
neverOpen.addSubnet("0.0.0.0", 8, "ipv4");
neverOpen.addSubnet("169.254.0.0", 16, "ipv4");
neverOpen.addSubnet("224.0.0.0", 3, "ipv4");
neverOpen.addAddress("100.100.100.200", "ipv4");
neverOpen.addAddress("168.63.129.16", "ipv4");
neverOpen.addAddress("192.0.0.192", "ipv4");
neverOpen.addAddress("::", "ipv6");
neverOpen.addSubnet("fe80::", 10, "ipv6");
neverOpen.addSubnet("ff00::", 8, "ipv6");
neverOpen.addSubnet("fd00:ec2::", 32, "ipv6");
neverOpen.addAddress("fd20:ce::254", "ipv6");
neverOpen.addAddress("fd00:c1::a9fe:a9fe", "ipv6");
neverOpen.addAddress("fd00:42::42", "ipv6");
neverOpen.addAddress("fd00:a9fe:a9fe::1", "ipv6");
neverOpen.addAddress("fd00:100::100:200", "ipv6");
