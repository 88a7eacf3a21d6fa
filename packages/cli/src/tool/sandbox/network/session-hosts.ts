import { raceAbort } from "palimpsest/internal/schema/race-abort";
import { noUser, type UserPort } from "palimpsest/internal/ports/user-port";
import type { AllowRuleDep, PermissionDep } from "palimpsest/internal/ports/tool";
import type { ToolUseId } from "palimpsest/internal/schema/brand";
import { matchesDomain, type Rules } from "../../permission/rule.ts";
import { isAddress, isLocalName } from "./check-addresses.ts";
import { askedCommandCharsMax, hostQuestionsMax, hostsDeniedMax } from "./limits.ts";

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
